// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { formatDuration, formatTime } from "./moments";
import { sparkPath } from "./Spark";
import { visibleRange } from "./windowed";

test.each([
  [0, "0 ms"],
  [0.085, "85 ms"],
  [1, "1 s"],
  [12.34, "12.3 s"],
  [59.96, "1 min"],
  [65, "1 min 5 s"],
  [3_600, "1 h"],
  [3_661, "1 h 1 min"],
  [90_000, "1 d 1 h"],
  [-3, "0 ms"],
])("%d seconds are told as %s", (seconds, told) => {
  expect(formatDuration(seconds, "en")).toBe(told);
});

test("durations are told in Chinese, too", () => {
  expect(formatDuration(3_661, "zh")).toBe("1 小时 1 分");
});

test("a moment is told in the zone that is asked for", () => {
  expect(formatTime("2026-01-31T23:30:00Z", "full", "en-GB", 0, "Asia/Shanghai")).toBe(
    "1 Feb 2026, 07:30:00",
  );
  expect(formatTime("2026-01-31T23:30:00Z", "full", "en-GB", 0, "UTC")).toBe("31 Jan 2026, 23:30:00");
});

test("how long ago is told in the largest unit that fits", () => {
  const now = Date.parse("2026-01-02T00:00:00Z");
  expect(formatTime("2026-01-01T22:59:00Z", "ago", "en", now)).toBe("1 hr. ago");
  expect(formatTime("2026-01-01T23:59:59Z", "ago", "en", now)).toBe("1 sec. ago");
});

test("what is no time is shown as it is", () => {
  expect(formatTime("soon", "full", "en", 0)).toBe("soon");
});

test("of many rows only those around what is seen are drawn", () => {
  expect(visibleRange(0, 400, 10_000)).toEqual({ from: 0, to: 30 });
  expect(visibleRange(40 * 5_000, 400, 10_000)).toEqual({ from: 4_980, to: 5_030 });
  expect(visibleRange(40 * 10_000, 400, 10_000)).toEqual({ from: 9_980, to: 10_000 });
});

test("a spark line goes from left to right, and the most is on top", () => {
  expect(sparkPath([0, 10], 100, 12)).toBe("M0,11 L100,1");
  expect(sparkPath([5], 100, 12)).toBe("M0,1 L100,1");
  expect(sparkPath([], 100, 12)).toBe("");
});
