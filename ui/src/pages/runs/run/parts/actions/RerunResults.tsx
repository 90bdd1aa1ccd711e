import { Button, Field } from "../../../../../components";
import { useWords } from "../../../../../words";
import type { StepView } from "../../types";
import type { Patch, Plan } from "./rerun";
import { StepChoice } from "./StepChoice";
import { StepName } from "./StepName";
import { words } from "./words";

export interface RerunResultsProps {
  readonly steps: readonly StepView[];
  readonly plan: Plan;
  readonly onChange: (changed: Partial<Plan>) => void;
  readonly faultOf: (index: number) => string | undefined;
}

/** Results that stand for running a step, and steps that are passed over. */
export function RerunResults({ steps, plan, onChange, faultOf }: RerunResultsProps) {
  const t = useWords(words);
  const change = (index: number, changed: Partial<Patch>) =>
    onChange({ patches: plan.patches.map((patch, at) => (at === index ? { ...patch, ...changed } : patch)) });
  return (
    <details className="rerun-results">
      <summary>{t("more")}</summary>
      <p className="soft small">{t("moreHint")}</p>
      {plan.patches.map((patch, index) => (
        <div key={index} className="rerun-patch">
          <Field label={t("patch")}>
            {(wiring) => (
              <StepName
                wiring={wiring}
                steps={steps}
                value={patch.step}
                onChange={(step) => change(index, { step })}
              />
            )}
          </Field>
          <Field label={t("patchValue")} fault={faultOf(index)}>
            {(wiring) => (
              <textarea
                {...wiring}
                rows={1}
                value={patch.value}
                onChange={(event) => change(index, { value: event.target.value })}
              />
            )}
          </Field>
          <Button
            kind="quiet"
            onClick={() => onChange({ patches: plan.patches.filter((_, at) => at !== index) })}
          >
            {t("patchRemove")}
          </Button>
        </div>
      ))}
      <Button onClick={() => onChange({ patches: [...plan.patches, { step: "", value: "" }] })}>
        {t("patchAdd")}
      </Button>
      <StepChoice
        label={t("skip")}
        steps={steps}
        chosen={plan.skip}
        onChoose={(skip) => onChange({ skip })}
      />
    </details>
  );
}
