import { choice, text } from "../../../../router";
import { STEP_STATUSES, type RunView, type StepStatus, type StepView } from "../types";

export const STEP_FILTERS = {
  stepStatus: choice<StepStatus | "all">(["all", ...STEP_STATUSES], "all"),
  of: text(),
  find: text(),
};

export interface StepFilter {
  readonly stepStatus: StepStatus | "all";
  readonly of: string;
  readonly find: string;
}

export function fits(step: StepView, filter: StepFilter): boolean {
  return (
    (filter.stepStatus === "all" || step.status === filter.stepStatus) &&
    (filter.of === "" || step.of === filter.of) &&
    step.id.toLowerCase().includes(filter.find.toLowerCase())
  );
}

/** Steps that came page by page, as the run has them by now where it lists them. */
export function upToDate(items: readonly StepView[], run: RunView): StepView[] {
  const now = new Map(run.steps.map((step) => [step.id, step]));
  return items.map((step) => now.get(step.id) ?? step);
}

/** Steps for whose items or turns, or to undo which, others were made. */
export function ownersOf(run: RunView): string[] {
  const owners = new Set(run.steps.filter((step) => step.items !== null).map((step) => step.id));
  for (const step of run.steps) if (step.of !== null) owners.add(step.of);
  return [...owners];
}
