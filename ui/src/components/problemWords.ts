import { FOR_PROGRAMS, type Problem } from "../api/problem";
import { shared, type SharedKey } from "../words";

// Titles that say more than their status.
const TITLES: Readonly<Record<string, string>> = {
  "Run not found": "404.run",
  "Execution not found": "404.run",
  "Workflow not found": "404.workflow",
  "Schedule not found": "404.schedule",
  "Workflow already exists": "409.exists",
  Stuck: "409.stuck",
  [FOR_PROGRAMS]: "403.worker",
};

export interface ProblemWords {
  readonly title: SharedKey;
  readonly advice: SharedKey;
}

/** How a refusal is called in the words of this page; null: only the server has words for it. */
export function problemWords(problem: Problem): ProblemWords | null {
  const name = TITLES[problem.error] ?? String(problem.status);
  const [title, advice] = [`problem.${name}`, `advice.${name}`];
  return isKey(title) && isKey(advice) ? { title, advice } : null;
}

const isKey = (key: string): key is SharedKey => key in shared.en;
