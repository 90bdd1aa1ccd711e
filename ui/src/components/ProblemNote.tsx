import type { Problem } from "../api/problem";
import { useT } from "../words";
import { Button } from "./Button";
import { problemWords } from "./problemWords";

export interface ProblemNoteProps {
  readonly problem: Problem | null;
  readonly again?: () => void;
}

/** What was refused and why, each fault with its place. Heard at once. */
export function ProblemNote({ problem, again }: ProblemNoteProps) {
  const t = useT();
  // That a read found nobody the banner says, and it is repeated by itself.
  if (problem === null || (problem.unreachable && again !== undefined)) return null;
  const faults = problem.faults.filter((fault) => fault.message !== problem.message);
  const own = problemWords(problem);
  return (
    <div className="note bad" role="alert">
      {own ? (
        <>
          <p>
            <strong>{t(own.title)}</strong>
            {t("problem.then", { advice: t(own.advice) })}
          </p>
          {problem.message && (
            <p className="small" lang="en">
              {problem.message}
            </p>
          )}
        </>
      ) : (
        <p>
          <strong>{problem.error}.</strong> {problem.message}
        </p>
      )}
      {faults.length > 0 && (
        <ul>
          {faults.map((fault) => (
            <li key={`${fault.pointer} ${fault.message}`}>
              {fault.pointer && <code>{fault.pointer}</code>} {fault.message}
            </li>
          ))}
        </ul>
      )}
      <p className="soft small">
        {problem.requestId && t("problem.request", { id: problem.requestId })}
        {again && (
          <Button kind="quiet" onClick={again}>
            {t("problem.again")}
          </Button>
        )}
      </p>
    </div>
  );
}
