import type { JsonValue } from "../../../../../components";
import { hasEnded, type RunView, type StepView } from "../../types";
import { parse } from "./json";
import type { ActionKey } from "./words";

export type From = "failed" | "steps" | "all";

/** What somebody asks for in the form. */
export interface Plan {
  readonly from: From;
  readonly steps: readonly string[]; // for "steps"
  readonly edited: boolean;
  readonly input: string; // JSON, if it is edited
  readonly patches: readonly Patch[];
  readonly skip: readonly string[];
  readonly version: number | null; // null: that of the old run
}

export interface Patch {
  readonly step: string;
  readonly value: string; // JSON
}

/** The body of POST /runs/{id}/rerun. */
export interface RerunBody {
  from?: readonly string[];
  patch?: Record<string, JsonValue>;
  skip?: readonly string[];
  input?: JsonValue;
  version?: number;
}

export interface Fault {
  readonly at: "steps" | "input" | `patch ${number}`;
  readonly key: ActionKey;
  readonly why: string;
}

export type Body =
  { readonly ok: true; readonly body: RerunBody } | { readonly ok: false; readonly faults: readonly Fault[] };

/** The steps that can be run from: those of the document, but for those that run only in the place of others. */
export function writtenSteps(run: RunView): readonly StepView[] {
  const inPlace = new Set(run.steps.map((step) => step.fallback));
  return run.steps.filter((step) => step.of === null && !inPlace.has(step.id));
}

export function firstPlan(run: RunView): Plan {
  return {
    from: run.status === "succeeded" ? "all" : "failed",
    steps: [],
    edited: false,
    input: "",
    patches: [],
    skip: [],
    version: null,
  };
}

/** Why it cannot be rerun; null: it can. */
export function barred(run: RunView): ActionKey | null {
  if (run.version === 0) return "rerunTask";
  if (run.purged) return "rerunPurged";
  if (!hasEnded(run.status) && run.status !== "stuck") return "rerunNotEnded";
  return null;
}

export function bodyOf(plan: Plan, run: RunView): Body {
  const faults: Fault[] = [];
  const body: RerunBody = {};
  if (plan.from === "steps" && plan.steps.length === 0)
    faults.push({ at: "steps", key: "fromNone", why: "" });
  if (plan.from === "steps") body.from = plan.steps;
  // With another input everything runs by itself; else it runs from the first steps on.
  if (plan.from === "all" && !plan.edited) body.from = firstSteps(run);
  if (plan.edited) {
    const input = parse(plan.input);
    if (input.ok) body.input = input.value;
    else faults.push({ at: "input", key: "notJson", why: input.why });
  }
  const patch: Record<string, JsonValue> = {};
  for (const [index, { step, value }] of plan.patches.entries()) {
    if (step === "") continue;
    const result = parse(value);
    if (result.ok) patch[step] = result.value;
    else faults.push({ at: `patch ${index}`, key: "notJson", why: result.why });
  }
  if (Object.keys(patch).length) body.patch = patch;
  if (plan.skip.length) body.skip = plan.skip;
  if (plan.version !== null) body.version = plan.version;
  return faults.length ? { ok: false, faults } : { ok: true, body };
}

function firstSteps(run: RunView): readonly string[] {
  return writtenSteps(run)
    .filter((step) => step.needs.length === 0)
    .map((step) => step.id);
}

/** These steps and all that come after them. */
export function withAfter(steps: readonly StepView[], chosen: Iterable<string>): ReadonlySet<string> {
  const children = new Map<string, string[]>();
  for (const step of steps)
    for (const need of step.needs) children.set(need, [...(children.get(need) ?? []), step.id]);
  const found = new Set(chosen);
  const open = [...found];
  for (let step = open.pop(); step !== undefined; step = open.pop())
    for (const child of children.get(step) ?? [])
      if (!found.has(child)) {
        found.add(child);
        open.push(child);
      }
  return found;
}

/**
 * How many steps will run again, where that is known before asking: when steps are chosen, and nothing else is
 * said about others. The server has the last word.
 */
export function countAgain(plan: Plan, run: RunView): number | null {
  const steps = writtenSteps(run);
  if (plan.patches.length || plan.skip.length || plan.version !== null) return null;
  if (plan.from === "all" || (plan.from === "failed" && plan.edited)) return steps.length;
  if (plan.from === "failed" || run.steps.some((step) => step.of !== null && step.item === null)) return null;
  const ended = (step: StepView) => step.status === "succeeded" || step.status === "skipped";
  return withAfter(steps, [...plan.steps, ...steps.filter((step) => !ended(step)).map((step) => step.id)])
    .size;
}

const SHOWN_MAX = 100;

export interface Choice {
  readonly shown: readonly StepView[];
  readonly hidden: number;
}

/** Steps to choose from: those whose name has the text, and of many the first. Chosen ones stay in sight. */
export function choice(steps: readonly StepView[], sought: string, chosen: readonly string[]): Choice {
  const wanted = sought.trim().toLowerCase();
  const picked = new Set(chosen);
  const fit = steps.filter((step) => picked.has(step.id) || step.id.toLowerCase().includes(wanted));
  const first = fit.filter((step, index) => index < SHOWN_MAX || picked.has(step.id));
  return { shown: first, hidden: fit.length - first.length };
}
