import { stepEnded, type StepStatus, type StepView } from "../types";

// What somebody looks for first stands first.
const TELLING: readonly StepStatus[] = [
  "failed",
  "running",
  "queued",
  "waiting",
  "cancelled",
  "succeeded",
  "skipped",
];

/** The state of a group: the most telling one of its steps. */
export function statusOf(steps: readonly Pick<StepView, "status">[]): StepStatus {
  const there = new Set(steps.map((step) => step.status));
  return TELLING.find((status) => there.has(status)) ?? "waiting";
}

export function endedOf(steps: readonly Pick<StepView, "status">[]): number {
  return steps.reduce((sum, step) => sum + (stepEnded(step.status) ? 1 : 0), 0);
}
