import { Copy } from "../../../../../components";
import { useT, useWords } from "../../../../../words";
import type { StepError } from "../../types";
import { words } from "./words";

export interface ErrorNoteProps {
  readonly error: StepError;
  readonly open?: boolean; // the trace is shown at once
}

/** What went wrong, and where in the code. */
export function ErrorNote({ error, open = false }: ErrorNoteProps) {
  const t = useWords(words);
  const shared = useT();
  const trace = typeof error.detail === "string" ? error.detail : JSON.stringify(error.detail ?? "", null, 2);
  return (
    <div className="note bad step-error">
      <p>
        <strong>{error.type}</strong>
        {error.message && `: ${error.message}`}
      </p>
      {error.detail && (
        <details open={open}>
          <summary>{t("trace")}</summary>
          <div className="trace">
            <pre tabIndex={0}>{trace}</pre>
            <Copy text={trace} label={`${shared("do.copy")}: ${t("trace")}`} />
          </div>
        </details>
      )}
    </div>
  );
}
