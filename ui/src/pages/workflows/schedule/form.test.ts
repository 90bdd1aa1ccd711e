import { expect, test } from "vitest";
import type { Schedule } from "../types";
import { bodyOf, fieldsOf, freeName, momentOf, pathOf } from "./form";

const SCHEDULE: Schedule = {
  id: "w",
  workflow: "w",
  name: "default",
  cron: null,
  every: "30m",
  timezone: "UTC",
  overlap: "queue",
  catchUp: "2h",
  start: "2026-01-01T00:00:00Z",
  end: null,
  input: { a: 1 },
  labels: { team: "x" },
  source: "api",
  paused: true,
  next: [],
  openRuns: 0,
  queued: 0,
  backfill: 0,
  fired: 0,
  skipped: 0,
  failed: 0,
  last: null,
};

test("a change keeps what the form does not show, also that it is paused", () => {
  const body = bodyOf({ ...fieldsOf(SCHEDULE, "Asia/Shanghai"), every: "1h" }, SCHEDULE);
  expect(body).toEqual({
    every: "1h",
    timezone: "UTC",
    overlap: "queue",
    catchUp: "2h",
    input: { a: 1 },
    start: "2026-01-01T00:00:00Z",
    end: null,
    labels: { team: "x" },
    enabled: false,
  });
});

test("a new one is in the viewer's zone, and says only cron or every", () => {
  const fields = fieldsOf(null, "Asia/Shanghai");
  expect(bodyOf(fields, null)).toEqual({
    cron: "0 2 * * *",
    timezone: "Asia/Shanghai",
    overlap: "skip",
    catchUp: "1h",
    input: null,
  });
  expect(bodyOf({ ...fields, input: "{a" }, null)).toBeNull();
});

test("paths name a schedule unless it is the default one", () => {
  expect(pathOf({ name: "default" }, "pause")).toBe("/schedules/:workflow/pause");
  expect(pathOf({ name: "at night" })).toBe("/schedules/:workflow/at%20night");
});

test("a new schedule gets a name that is free", () => {
  expect(freeName([])).toBe("default");
  expect(freeName(["default", "schedule-2"])).toBe("schedule-3");
});

test("a moment is that of the viewer's clock", () => {
  expect(momentOf("2026-01-02T03:04")).toBe(new Date(2026, 0, 2, 3, 4).toISOString());
  expect(momentOf("")).toBeNull();
});
