import type { RunView, StepView } from "../../types";

/** Steps that have to end before this one begins. */
export function openNeeds(run: RunView, step: StepView): readonly StepView[] {
  if (step.status !== "waiting" || step.startedAt !== null) return [];
  const wanted = new Set(step.needs);
  return run.steps.filter((other) => wanted.has(other.id) && other.endedAt === null && !isOver(other));
}

function isOver(step: StepView): boolean {
  return step.status === "succeeded" || step.status === "skipped" || step.status === "failed";
}

/** Whether it waits for something that the panel can tell about. */
export function isWaiting(run: RunView, step: StepView): boolean {
  return (
    openNeeds(run, step).length > 0 ||
    step.retryAt !== null ||
    step.waitsUntil !== null ||
    step.awaits !== null ||
    step.limitedBy.length > 0 ||
    step.status === "queued"
  );
}
