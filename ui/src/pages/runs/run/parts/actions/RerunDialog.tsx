import { useMemo, useState } from "react";
import { at, post, useAct } from "../../../../../api";
import { Button, Dialog, Form, toast } from "../../../../../components";
import { navigate, pathTo } from "../../../../../router";
import { useT, useWords } from "../../../../../words";
import type { RunView } from "../../types";
import { onceKey } from "../once";
import { written } from "./json";
import { bodyOf, countAgain, firstPlan, writtenSteps, type Fault, type From, type Plan } from "./rerun";
import { Radios } from "./Radios";
import { RerunResults } from "./RerunResults";
import { InputOf, Version } from "./RerunVersion";
import { StepChoice } from "./StepChoice";
import { words } from "./words";

export interface RerunDialogProps {
  readonly run: RunView;
  readonly open: boolean;
  readonly onClose: () => void;
}

/** A run once more: from where, with which input, and which results it takes over. */
export function RerunDialog({ run, open, onClose }: RerunDialogProps) {
  const t = useWords(words);
  return (
    <Dialog open={open} title={t("rerunTitle")} onClose={onClose} wide>
      <RerunForm run={run} onClose={onClose} />
    </Dialog>
  );
}

const FROMS: readonly From[] = ["failed", "steps", "all"];
const NO_FAULTS: readonly Fault[] = [];

function RerunForm({ run, onClose }: { readonly run: RunView; readonly onClose: () => void }) {
  const t = useWords(words);
  const shared = useT();
  const [plan, setPlan] = useState<Plan>(() => ({ ...firstPlan(run), input: written(run.input) }));
  const [once, setOnce] = useState(onceKey);
  const [fits, setFits] = useState(true);
  const [tried, setTried] = useState(false);
  const starting = useAct();
  const steps = useMemo(() => writtenSteps(run), [run]);
  const body = bodyOf(plan, run);
  const faults = tried && !body.ok ? body.faults : NO_FAULTS;
  const faultAt = (place: Fault["at"]) => {
    const found = faults.find((fault) => fault.at === place);
    return found && t(found.key, { why: found.why });
  };
  const change = (changed: Partial<Plan>) => {
    setPlan((now) => ({ ...now, ...changed }));
    setOnce(onceKey()); // another wish, another run
  };
  const start = async () => {
    setTried(true);
    if (!body.ok || (plan.edited && !fits)) return;
    let begun = "";
    const headers = { "Idempotency-Key": once };
    const path = at("/runs/:run/rerun", { run: run.id });
    const went = await starting.act(async () => {
      begun = (await post<{ runId: string }>(path, body.body, { headers })).runId;
    });
    if (!went) return;
    toast(t("rerunStarted", { run: begun }));
    onClose();
    navigate(pathTo("/ui/runs/:run", { run: begun }));
  };
  return (
    <Form
      submit={t("rerunStart")}
      needs="operate"
      busy={starting.busy}
      problem={starting.problem}
      onSubmit={() => void start()}
      extra={<Button onClick={onClose}>{shared("do.cancel")}</Button>}
    >
      <p className="soft">{t("rerunMore")}</p>
      <Radios
        legend={t("rerunFrom")}
        options={FROMS.map((from) => [from, t(`from.${from}`)])}
        chosen={plan.from}
        onChoose={(from) => change({ from })}
      />
      {plan.from === "steps" && (
        <StepChoice
          label={t("fromSteps")}
          steps={steps}
          chosen={plan.steps}
          onChoose={(chosen) => change({ steps: chosen })}
          {...withFault(faultAt("steps"))}
        />
      )}
      <Preview plan={plan} run={run} count={steps.length} />
      <Radios
        legend={t("rerunInput")}
        options={[
          ["same", t("input.same")],
          ["other", t("input.other")],
        ]}
        chosen={plan.edited ? "other" : "same"}
        onChoose={(which) => change({ edited: which === "other" })}
      />
      {plan.edited && (
        <>
          {plan.from === "failed" && <p className="soft small">{t("inputRunsAll")}</p>}
          <InputOf
            run={run}
            plan={plan}
            strict={tried}
            fault={faultAt("input")}
            faults={starting.problem?.faults ?? []}
            onChange={(text, fitting) => {
              setFits(fitting);
              change({ input: text });
            }}
          />
          {tried && !fits && (
            <p className="fault small" role="alert">
              {t("mistakes")}
            </p>
          )}
        </>
      )}
      <Version run={run} plan={plan} onChange={(version) => change({ version })} />
      <RerunResults
        steps={steps}
        plan={plan}
        onChange={change}
        faultOf={(index) => faultAt(`patch ${index}`)}
      />
    </Form>
  );
}

const withFault = (fault: string | undefined) => (fault === undefined ? {} : { fault });

function Preview({
  plan,
  run,
  count,
}: {
  readonly plan: Plan;
  readonly run: RunView;
  readonly count: number;
}) {
  const t = useWords(words);
  const again = countAgain(plan, run);
  if (again === null || (plan.from === "steps" && plan.steps.length === 0)) return null;
  return (
    <p className="soft small" role="status">
      {again >= count ? t("willRunAll", { count }) : t("willRun", { again, count })}
    </p>
  );
}
