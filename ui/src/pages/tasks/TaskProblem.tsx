import type { Problem } from "../../api";
import { ProblemNote } from "../../components";
import { useWords } from "../../words";
import { adviceOf } from "./errors";
import { words } from "./words";

/** What was refused, and what to do about it. */
export function TaskProblem({ problem }: { readonly problem: Problem | null }) {
  const t = useWords(words);
  if (problem === null) return null;
  const advice = adviceOf(problem);
  return (
    <>
      <ProblemNote problem={problem} />
      {advice && (
        <p>
          {t(advice)} <span className="soft small">({problem.code})</span>
        </p>
      )}
    </>
  );
}
