import { expect, test } from "vitest";
import { drawnOf, figuresOf, isNew, workersOf } from "./figures";
import type { Minute, OverviewView } from "./types";

const minute = (started: number, succeeded = 0, failed = 0): Minute => ({
  at: "2026-01-01T00:00:00Z",
  started,
  succeeded,
  failed,
  other: 0,
});

test("runs per minute are of whole minutes, not of the one that has just begun", () => {
  const minutes = [minute(99), minute(10), minute(10), minute(10), minute(10), minute(20), minute(1)];
  expect(figuresOf(minutes).perMinute).toBe(12);
  expect(figuresOf(minutes).lastHour).toBe(160);
});

test("in the first minute, what has begun so far counts", () => {
  expect(figuresOf([minute(0), minute(7)]).perMinute).toBe(7);
});

test("the success rate is of what succeeded or failed; without any there is none", () => {
  expect(figuresOf([minute(4, 3, 1)]).successRate).toBe(0.75);
  expect(figuresOf([minute(4)]).successRate).toBeNull();
});

test("charts begin where something was counted, and are never shorter than ten minutes", () => {
  const idle = Array.from({ length: 40 }, () => minute(0));
  const busy = Array.from({ length: 20 }, () => minute(1));
  expect(drawnOf([...idle, ...busy])).toHaveLength(21); // from the quiet minute before
  expect(drawnOf([...idle, minute(5)])).toHaveLength(10);
  expect(drawnOf(idle)).toHaveLength(10);
  expect(drawnOf([minute(3)])).toHaveLength(1);
});

test("a server without runs is new", () => {
  const view: OverviewView = {
    silent: [],
    minutes: [minute(0)],
    latency: { runs: 0, p50Seconds: null, p95Seconds: null },
    openRuns: 0,
    waiting: [],
    stuck: [],
    failed: [],
    nodes: { up: 1, leaving: 0 },
    asOf: "2026-01-01T00:00:00Z",
  };
  expect(isNew(view)).toBe(true);
  expect(isNew({ ...view, openRuns: 1 })).toBe(false);
});

test("workers are counted by what they are good for now", () => {
  const items = [
    { slots: 4, active: 1 },
    { slots: 2, active: 2 },
  ];
  expect(workersOf({ items, counts: { ONLINE: 1, BUSY: 1, OFFLINE: 3 } })).toEqual({
    online: 2,
    trouble: 3,
    slots: 6,
    active: 3,
  });
});
