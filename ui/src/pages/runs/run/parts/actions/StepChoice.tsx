import { useState } from "react";
import { Field, Status } from "../../../../../components";
import { useWords } from "../../../../../words";
import type { StepView } from "../../types";
import { choice } from "./rerun";
import { words } from "./words";

export interface StepChoiceProps {
  readonly label: string;
  readonly steps: readonly StepView[];
  readonly chosen: readonly string[];
  readonly onChoose: (chosen: readonly string[]) => void;
  readonly fault?: string;
}

const SEARCH_FROM = 12;

/** Check boxes for steps; many can be searched. */
export function StepChoice({ label, steps, chosen, onChoose, fault }: StepChoiceProps) {
  const t = useWords(words);
  const [sought, setSought] = useState("");
  const { shown, hidden } = choice(steps, sought, chosen);
  const flip = (step: string, on: boolean) =>
    onChoose(on ? [...chosen, step] : chosen.filter((each) => each !== step));
  return (
    <fieldset className="step-choice">
      <legend>{label}</legend>
      {steps.length > SEARCH_FROM && (
        <Field label={t("findStep")} inline>
          {(wiring) => (
            <input
              {...wiring}
              type="search"
              value={sought}
              onChange={(event) => setSought(event.target.value)}
              onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
            />
          )}
        </Field>
      )}
      <ul>
        {shown.map((step) => (
          <li key={step.id}>
            <label>
              <input
                type="checkbox"
                checked={chosen.includes(step.id)}
                onChange={(event) => flip(step.id, event.target.checked)}
              />{" "}
              {step.id}
            </label>
            <Status value={step.status} />
          </li>
        ))}
      </ul>
      {hidden > 0 && <p className="soft small">{t("manyMore", { count: hidden })}</p>}
      {fault && (
        <p className="fault small" role="alert">
          {fault}
        </p>
      )}
    </fieldset>
  );
}
