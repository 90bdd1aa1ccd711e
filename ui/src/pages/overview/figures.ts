import type { Minute, OverviewView, WorkersView } from "./types";

export const OPEN_MAX = 1_000; // beyond, the server stops counting

export interface Figures {
  readonly perMinute: number; // of the last five whole minutes
  readonly lastHour: number;
  readonly started: readonly number[]; // minute by minute, from where something was counted
  readonly successRate: number | null; // of the runs that ended well or failed; null: none did
  readonly failed: readonly number[];
  readonly failedLastHour: number;
}

const RECENT = 5;

export function figuresOf(minutes: readonly Minute[]): Figures {
  const whole = minutes.slice(0, -1).slice(-RECENT);
  const now = minutes.at(-1)?.started ?? 0;
  const recent = sum(whole.map((minute) => minute.started));
  const succeeded = sum(minutes.map((minute) => minute.succeeded));
  const failed = sum(minutes.map((minute) => minute.failed));
  const ended = succeeded + failed;
  const drawn = drawnOf(minutes);
  return {
    // A server that has just begun has no whole minute yet.
    perMinute: recent ? recent / RECENT : now,
    lastHour: sum(minutes.map((minute) => minute.started)),
    started: drawn.map((minute) => minute.started),
    successRate: ended ? succeeded / ended : null,
    failed: drawn.map((minute) => minute.failed),
    failedLastHour: failed,
  };
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
