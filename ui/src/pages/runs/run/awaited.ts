import type { StepView } from "./types";

/** The step at which somebody is waited for: an approval, else one that is parked, else a signal; of several, the first that began. */
export function awaitedStep(steps: readonly StepView[]): string | null {
  const waiting = steps.filter((step) => step.awaits !== null && step.status === "running");
  const approvals = waiting.filter((step) => step.awaits?.what === "approval");
  const parked = steps.filter((step) => step.parked !== null);
  const found = [approvals, parked, waiting].find((some) => some.length > 0) ?? [];
  const [first] = [...found].sort(bySince);
  return first?.id ?? null;
}

const bySince = (one: StepView, other: StepView): number =>
  (one.startedAt ?? "").localeCompare(other.startedAt ?? "");
