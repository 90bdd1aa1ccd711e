import { expect, test } from "vitest";
import { aStep } from "../samples";
import { endedOf, statusOf } from "./state";

const group = (...states: Parameters<typeof aStep>[1][]) => states.map((more, n) => aStep(`s${n}`, more));

test("a group says of its steps what is most telling", () => {
  expect(statusOf(group({ status: "succeeded" }, { status: "failed" }, { status: "running" }))).toBe(
    "failed",
  );
  expect(statusOf(group({ status: "succeeded" }, { status: "skipped" }))).toBe("succeeded");
});

test("a step that was left out counts as one that has ended", () => {
  expect(endedOf(group({ status: "succeeded" }, { status: "skipped" }, { status: "running" }))).toBe(2);
});
