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
const hour = (...started: number[]): Minute[] =>
  started.map((count, number) => ({ ...minute(count), at: new Date(number * 60_000).toISOString() }));
const at = (minutes: number) => new Date(minutes * 60_000).toISOString();

test("runs per minute are those of the last five minutes and of the one that has just begun", () => {
  const minutes = hour(99, 10, 10, 10, 10, 20, 6);
  expect(figuresOf(minutes, at(6.5)).perMinute).toBe(12); // 66 in five and a half minutes
  expect(figuresOf(minutes, at(6.5)).lastHour).toBe(165);
  expect(figuresOf(hour(7, 0, 0, 0, 0, 0, 0, 0), at(7.5)).perMinute).toBe(0);
});

test("the first runs of a server are not spread over minutes in which there was nothing", () => {
  expect(figuresOf(hour(0, 0, 0, 0, 0, 1, 30), at(6.5)).perMinute).toBeCloseTo(31 / 1.5);
  expect(figuresOf(hour(0, 7), at(1.1)).perMinute).toBe(7); // in the first minute, what has begun so far counts
  expect(figuresOf(hour(0, 0), at(1.1)).perMinute).toBe(0);
});

test("the success rate is of what succeeded or failed; without any there is none", () => {
  expect(figuresOf([minute(4, 3, 1)], at(1)).successRate).toBe(0.75);
  expect(figuresOf([minute(4)], at(1)).successRate).toBeNull();
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
    unserved: [],
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
