import type { RunEvent, RunView, StepView } from "./types";

/** A step for tests: waiting, unless it is said. */
export function aStep(id: string, more: Partial<StepView> = {}): StepView {
  return {
    id,
    kind: "noop",
    needs: [],
    fallback: null,
    status: "waiting",
    attempts: 0,
    startedAt: null,
    endedAt: null,
    worker: null,
    input: null,
    output: null,
    error: null,
    retryAt: null,
    waitsUntil: null,
    awaits: null,
    limitedBy: [],
    skipped: null,
    skip: null,
    childRun: null,
    items: null,
    of: null,
    item: null,
    kept: null,
    parked: null,
    placed: null,
    progress: null,
    ...more,
  };
}

/** A run for tests that began at noon and has told three events. */
export function aRun(steps: readonly StepView[], more: Partial<RunView> = {}): RunView {
  return {
    id: "one",
    workflow: "shop",
    version: 1,
    status: "running",
    startedAt: moment(0),
    endedAt: null,
    durationSeconds: null,
    priority: 0,
    labels: {},
    error: null,
    waitingFor: null,
    purged: false,
    pausedAt: null,
    startedBy: null,
    rerunOf: null,
    parent: null,
    undoing: null,
    input: null,
    context: {},
    output: null,
    counts: { waiting: steps.length },
    steps,
    stepsLeftOut: 0,
    seq: 3,
    ...more,
  };
}

const NOON_MS = Date.parse("2026-03-01T12:00:00Z");

export const momentMs = (seconds: number): number => NOON_MS + seconds * 1000;
export const moment = (seconds: number): string => new Date(momentMs(seconds)).toISOString();

/** Events one after another: `[seconds after noon, type, fields]`. */
export function happened(
  told: readonly (readonly [number, string, Partial<RunEvent>?])[],
  after = 0,
): RunEvent[] {
  return told.map(([seconds, type, fields], index) => ({
    seq: after + index + 1,
    at: moment(seconds),
    type,
    ...fields,
  }));
}
