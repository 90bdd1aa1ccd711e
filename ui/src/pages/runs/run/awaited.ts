import type { StepView } from "./types";

/** The step at which somebody is waited for: an approval before a signal, the first that was asked for. */
export function awaitedStep(steps: readonly StepView[]): string | null {
  const waiting = steps.filter((step) => step.awaits !== null && step.status === "running");
  const approvals = waiting.filter((step) => step.awaits?.what === "approval");
  const [first] = [...(approvals.length > 0 ? approvals : waiting)].sort(bySince);
  return first?.id ?? null;
}

const bySince = (one: StepView, other: StepView): number =>
  (one.startedAt ?? "").localeCompare(other.startedAt ?? "");
