import { Button, Copy } from "../../../components";
import { useT, useWords } from "../../../words";
import { openStep } from "./address";
import type { RunView } from "./types";
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
    </>
  );
}
