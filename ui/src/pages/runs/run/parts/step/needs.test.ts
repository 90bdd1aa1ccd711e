import { expect, test } from "vitest";
import type { RunView, StepView } from "../../types";
import { isWaiting, openNeeds } from "./needs";

const step = (id: string, fields: Partial<StepView> = {}): StepView =>
  ({
    id,
    needs: [],
    status: "succeeded",
    startedAt: null,
    endedAt: null,
    retryAt: null,
    waitsUntil: null,
    awaits: null,
    limitedBy: [],
    ...fields,
  }) as unknown as StepView;
const run = (...steps: StepView[]): RunView => ({ steps }) as unknown as RunView;

test("a step waits for those of its needs that have not ended", () => {
  const last = step("c", { needs: ["a", "b"], status: "waiting" });
  const whole = run(step("a"), step("b", { status: "running" }), last);
  expect(openNeeds(whole, last).map((each) => each.id)).toEqual(["b"]);
  expect(isWaiting(whole, last)).toBe(true);
});

test("a step that has ended waits for nothing", () => {
  const done = step("c", { needs: ["b"] });
  expect(isWaiting(run(step("b", { status: "running" }), done), done)).toBe(false);
});

test.each([
  ["another attempt", { retryAt: "t" }],
  ["a time", { waitsUntil: "t" }],
  ["a limit", { limitedBy: ["api"] }],
  ["a worker", { status: "queued" as const }],
])("a step can wait for %s", (_, fields) => {
  const waiting = step("a", { status: "waiting", ...fields });
  expect(isWaiting(run(waiting), waiting)).toBe(true);
});
