import { useMemo } from "react";
import { Button, Copy } from "../../../components";
import { useT, useWords } from "../../../words";
import { openStep } from "./address";
import { isUndo, type RunView } from "./types";
import { words } from "./words";

/** What went wrong with a run, and what is left of it. */
export function RunTrouble({ run }: { readonly run: RunView }) {
  const t = useWords(words);
  const shared = useT();
  const { error, undoing } = run;
  const step = error?.step;
  return (
    <>
      {run.purged && <p className="note warn">{t("purged")}</p>}
      {undoing && (
        <p className="note warn" role="status">
          {t("undoing", { status: shared(`status.${undoing.status}`) })} {undoing.reason}
        </p>
      )}
      {error && (
        <div className="note bad run-error">
          <p>
            <strong>
              {step === undefined
                ? t("failed", { type: error.type })
                : t("failedAt", { type: error.type, step })}
            </strong>{" "}
            {error.message}
          </p>
          <div className="actions">
            {step !== undefined && <Button onClick={() => openStep(step)}>{t("showStep", { step })}</Button>}
            <Copy text={error.message} />
          </div>
        </div>
      )}
      <NotTakenBack run={run} />
    </>
  );
}

const NAMED_MAX = 5;

/** Steps whose undo failed: what they did still stands, and nobody else will see to it. */
function NotTakenBack({ run }: { readonly run: RunView }) {
  const t = useWords(words);
  const left = useMemo(
    () => run.steps.filter((step) => isUndo(step) && step.status === "failed"),
    [run.steps],
  );
  if (left.length === 0) return null;
  return (
    <div className="note bad run-not-undone">
      <p>
        <strong>{t("notTakenBack", { count: left.length })}</strong>
      </p>
      <div className="actions">
        {left.slice(0, NAMED_MAX).map((step) => (
          <Button key={step.id} onClick={() => openStep(step.id)}>
            {t("showStep", { step: step.id })}
          </Button>
        ))}
      </div>
    </div>
  );
}
