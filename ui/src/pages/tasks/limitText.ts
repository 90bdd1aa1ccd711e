import type { Say } from "../../words";
import type { TaskWord } from "./words";

const KNOWN: Readonly<Record<string, TaskWord>> = {
  timeout: "limit.timeout",
  time: "limit.timeout",
  memory: "limit.memory",
  cpu: "cpuTime",
  processes: "limit.processes",
  disk: "limit.disk",
  output: "limit.output",
};

/** The limit that a program reached, in words. */
export function limitText(exceeded: string, t: Say<TaskWord>): string {
  const word = KNOWN[exceeded];
  return word ? t(word) : exceeded;
}
