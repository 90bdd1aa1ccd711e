import type { Problem } from "../../api";
import type { TaskWord } from "./words";

// The table of docs/tasks.md; what is not in it speaks for itself.
const WORDS: Readonly<Record<number, TaskWord>> = {
  40001: "error.40001",
  40101: "error.40101",
  40301: "error.40301",
  40401: "error.40401",
  40901: "error.40901",
  40902: "error.40902",
  41301: "error.41301",
  42201: "error.42201",
  42901: "error.42901",
  50001: "error.50001",
  50301: "error.50301",
  50303: "error.50303",
  50304: "error.50304",
  50401: "error.50401",
};

/** What to do about it, by the code of the answer. */
export function adviceOf(problem: Problem | null): TaskWord | null {
  return problem?.code == null ? null : (WORDS[problem.code] ?? null);
}
