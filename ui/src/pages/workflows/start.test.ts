import { expect, test } from "vitest";
import { parseInput, parseLabels } from "./start";

test("an empty input is none, and what is no JSON is said so", () => {
  expect(parseInput("  ")).toEqual({ value: undefined });
  expect(parseInput('{"a": 1}')).toEqual({ value: { a: 1 } });
  expect(parseInput("{a")).toBeNull();
});

test("labels are a name and a value each", () => {
  expect(parseLabels("team=a, day = 2026=1\n\nempty=")).toEqual({ team: "a", day: "2026=1", empty: "" });
  expect(parseLabels("team")).toBeNull();
  expect(parseLabels("")).toEqual({});
});
