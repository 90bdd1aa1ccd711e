import type { JsonValue } from "../../../components";

export type RunStatus =
  "queued" | "running" | "paused" | "succeeded" | "partial_success" | "failed" | "cancelled" | "stuck";

export type StepStatus = "waiting" | "queued" | "running" | "succeeded" | "failed" | "skipped" | "cancelled";

export const STEP_STATUSES: readonly StepStatus[] = [
  "running",
  "queued",
  "waiting",
  "failed",
  "succeeded",
  "skipped",
  "cancelled",
];

/** A run as lists show it. */
export interface RunItem {
  readonly id: string;
  readonly workflow: string;
  readonly version: number; // 0: it brought its document along
  readonly status: RunStatus;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly durationSeconds: number | null;
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly waitingFor: "approval" | "release" | "signal" | null; // from outside
  readonly error: RunError | null;
  readonly purged: boolean; // what happened in it is deleted
}

export interface RunError {
  readonly type: string;
  readonly message: string;
  readonly step?: string;
}

/** GET /runs/{id}. */
export interface RunView extends RunItem {
  readonly pausedAt: string | null;
  readonly startedBy: string | null;
  readonly rerunOf: string | null;
  readonly parent: { readonly kind: "run" | "workflow"; readonly id: string } | null;
  readonly undoing: {
    readonly status: "failed" | "cancelled";
    readonly reason: string;
    readonly since: string;
  } | null;
  readonly input: JsonValue;
  readonly context: Readonly<Record<string, JsonValue>> | null;
  readonly output: JsonValue;
  readonly counts: Readonly<Partial<Record<StepStatus, number>>>;
  readonly steps: readonly StepView[];
  readonly stepsLeftOut: number;
  readonly seq: number | null;
}

export interface StepError {
  readonly type: string;
  readonly message: string;
  readonly detail?: JsonValue;
}

export interface StepSkip {
  readonly cause: "when" | "chosen" | "unchosen" | "needs" | "before";
  readonly step: string | null; // the switch
  readonly when: string | null; // what was not so
}

export interface StepView {
  readonly id: string;
  readonly kind: string;
  readonly needs: readonly string[];
  readonly fallback: string | null; // the step that runs in its place if it fails
  readonly status: StepStatus;
  readonly attempts: number;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly worker: string | null;
  readonly input: Readonly<Record<string, JsonValue>> | null;
  readonly output: JsonValue;
  readonly error: StepError | null;
  readonly retryAt: string | null;
  readonly waitsUntil: string | null;
  readonly awaits: {
    readonly what: "approval" | "signal";
    readonly prompt: JsonValue;
    readonly who: readonly string[];
    readonly signal: string | null;
    readonly until: string | null;
    readonly then: string | null;
  } | null;
  readonly limitedBy: readonly string[];
  readonly skipped: string | null;
  readonly skip: StepSkip | null; // the same as data
  readonly childRun: string | null;
  readonly items: { readonly total: number | null; readonly ended: number; readonly failed: number } | null;
  readonly of: string | null; // made for an item or turn of this step, or to undo it
  readonly item: number | null; // which; null with `of`: it undoes that step
  readonly kept: string | null;
  readonly parked: {
    readonly reason: string;
    readonly since: string;
    readonly losses: number;
    readonly deaths: number;
    readonly evidence: readonly string[];
  } | null;
  readonly placed: {
    readonly strategy: string;
    readonly key: readonly JsonValue[];
    readonly count: number;
  } | null;
  readonly progress: JsonValue;
}

/** One of GET /runs/{id}/events, or of the stream. Fields depend on the type; what says nothing is left out. */
export interface RunEvent {
  readonly seq: number;
  readonly at: string;
  readonly type: string;
  readonly step?: string;
  readonly attempt?: number;
  readonly worker?: string;
  readonly node?: string;
  readonly startedAt?: string | null;
  readonly due?: string | null;
  readonly failure?: StepError | null;
  readonly reason?: string;
  readonly status?: string;
  readonly value?: JsonValue;
  readonly items?: readonly JsonValue[];
  readonly turn?: number;
  readonly number?: number;
  readonly key?: string;
  readonly run?: string;
  readonly wait?: boolean;
  readonly [field: string]: unknown;
}

/** What the parts of the page get. */
export interface RunPartProps {
  readonly run: RunView;
  readonly again: () => void; // read the run anew, after something was done to it
}

export interface StepPanelProps {
  readonly run: RunView;
  readonly step: string; // its id; it may be one of those that are left out of the run
  readonly onClose: () => void;
}

const ENDED: ReadonlySet<string> = new Set(["succeeded", "partial_success", "failed", "cancelled"]);

export const hasEnded = (status: string): boolean => ENDED.has(status);
export const stepEnded = (status: StepStatus): boolean =>
  status === "succeeded" || status === "failed" || status === "skipped" || status === "cancelled";
/** Its state as people should see it: one that waits for somebody, or for its time, is not at work. */
export function shownStatus(step: StepView): string {
  if (step.parked !== null) return "parked";
  if (step.awaits !== null) return "awaiting";
  if (step.retryAt !== null) return "retrying";
  return step.waitsUntil !== null ? "waiting" : step.status;
}
/** Whether it takes back what another step did. */
export const isUndo = (step: StepView): boolean => step.of !== null && step.item === null;
