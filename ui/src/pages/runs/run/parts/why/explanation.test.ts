import { expect, test } from "vitest";
import { commandOf, isMoving, spansOf, type Explanation, type Reason } from "./explanation";
import { someReason } from "./samples";

const reason = (kind: string, next: string | null = null): Reason => someReason({ kind, next });
const explanation = (...reasons: Reason[]): Explanation => ({ sentence: "", reasons, counts: {} });

test("commands in a sentence stand apart from its words", () => {
  expect(spansOf("start one with `windlass worker` (or `windlass up`).")).toEqual([
    { text: "start one with ", code: false },
    { text: "windlass worker", code: true },
    { text: " (or ", code: false },
    { text: "windlass up", code: true },
    { text: ").", code: false },
  ]);
});

test("a backtick without a partner is left as it is", () => {
  expect(spansOf("step a`b waits")).toEqual([{ text: "step a`b waits", code: false }]);
});

test("the command of the most telling reason that has one is offered", () => {
  expect(commandOf(explanation(reason("running"), reason("parked", "windlass release r s")))).toBe(
    "windlass release r s",
  );
  expect(commandOf(explanation())).toBeNull();
});

test("a run whose steps are at work is moving", () => {
  expect(isMoving(explanation(reason("running")))).toBe(true);
  expect(isMoving(explanation(reason("approval"), reason("running")))).toBe(false);
});
