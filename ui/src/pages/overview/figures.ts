import type { Minute, OverviewView, WorkersView } from "./types";

export const OPEN_MAX = 1_000; // beyond, the server stops counting

export interface Figures {
  readonly perMinute: number; // over the last five minutes, or since runs began to come
  readonly lastHour: number;
  readonly started: readonly number[]; // minute by minute, from where something was counted
  readonly successRate: number | null; // of the runs that ended well or failed; null: none did
  readonly failed: readonly number[];
  readonly failedLastHour: number;
}

const RECENT = 5;
const MINUTE_MS = 60_000;

export function figuresOf(minutes: readonly Minute[], asOf: string): Figures {
  const succeeded = sum(minutes.map((minute) => minute.succeeded));
  const failed = sum(minutes.map((minute) => minute.failed));
  const ended = succeeded + failed;
  const drawn = drawnOf(minutes);
  return {
    perMinute: rateOf(minutes, asOf),
    lastHour: sum(minutes.map((minute) => minute.started)),
    started: drawn.map((minute) => minute.started),
    successRate: ended ? succeeded / ended : null,
    failed: drawn.map((minute) => minute.failed),
    failedLastHour: failed,
  };
}

/**
 * Runs per minute over the last five and the one that has just begun. Of a server on which nothing began before, the
 * time since then: nobody's first runs are spread over minutes in which there was nothing.
 */
function rateOf(minutes: readonly Minute[], asOf: string): number {
  const first = minutes.findIndex((minute) => minute.started > 0);
  const counted = minutes.slice(Math.max(first, minutes.length - RECENT - 1));
  const [from, now] = [counted[0], Date.parse(asOf)];
  if (first < 0 || from === undefined) return 0;
  const passed = (now - Date.parse(from.at)) / MINUTE_MS;
  return sum(counted.map((minute) => minute.started)) / Math.max(1, passed);
}

const DRAWN_MIN = 10;

/** Without the minutes before anything happened: a server that has just begun has no flat hour behind it. */
export function drawnOf(minutes: readonly Minute[]): readonly Minute[] {
  const first = minutes.findIndex(
    ({ started, succeeded, failed, other }) => started + succeeded + failed + other > 0,
  );
  return minutes.slice(Math.max(0, Math.min(first < 0 ? Infinity : first - 1, minutes.length - DRAWN_MIN)));
}

/** Whether nothing was ever run here, as far as can be seen at once. */
export function isNew(view: OverviewView): boolean {
  return (
    view.openRuns === 0 &&
    view.failed.length === 0 &&
    view.stuck.length === 0 &&
    view.minutes.every((minute) => minute.started === 0 && minute.succeeded === 0)
  );
}

export interface WorkerFigures {
  readonly online: number;
  readonly trouble: number;
  readonly slots: number;
  readonly active: number;
}

export function workersOf(view: WorkersView): WorkerFigures {
  const count = (...states: string[]) => sum(states.map((state) => view.counts[state] ?? 0));
  return {
    online: count("ONLINE", "BUSY"),
    trouble: count("DEGRADED", "OFFLINE"),
    slots: sum(view.items.map((worker) => worker.slots)),
    active: sum(view.items.map((worker) => worker.active)),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}
