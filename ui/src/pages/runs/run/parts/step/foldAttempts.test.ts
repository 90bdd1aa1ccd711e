import { expect, test } from "vitest";
import type { RunEvent, StepView } from "../../types";
import { attemptsOf } from "./foldAttempts";

const step = (fields: Partial<StepView> = {}): StepView =>
  ({ id: "load", kind: "python", status: "running", endedAt: null, ...fields }) as StepView;
let seq = 0;
const event = (type: string, at: string, fields: Partial<RunEvent> = {}): RunEvent => ({
  seq: ++seq,
  at,
  type,
  step: "load",
  ...fields,
});

test("an attempt that failed, one that was lost and one that went well are told with worker and times", () => {
  const attempts = attemptsOf(
    [
      event("StepQueued", "t1", { attempt: 1 }),
      event("StepGranted", "t2", { attempt: 1, worker: "w1", node: "n1" }),
      event("AttemptFailed", "t3", {
        attempt: 1,
        worker: "w1",
        startedAt: "t2b",
        failure: { type: "E", message: "m" },
      }),
      event("RetryScheduled", "t3", { attempt: 2, due: "t4" }),
      event("StepQueued", "t4", { attempt: 2 }),
      event("StepGranted", "t5", { attempt: 2, worker: "w2", node: "n2" }),
      event("AttemptLost", "t6", { attempt: 2, reason: "its process died" }),
      event("StepQueued", "t7", { attempt: 3 }),
      event("StepSucceeded", "t9", { attempt: 3, worker: "w1", startedAt: "t8" }),
      event("StepQueued", "t9", { step: "other", attempt: 1 }),
    ],
    step({ status: "succeeded", endedAt: "t9" }),
  );
  expect(attempts.map((each) => [each.number, each.state, each.worker, each.node])).toEqual([
    [1, "failed", "w1", "n1"],
    [2, "lost", "w2", "n2"],
    [3, "succeeded", "w1", ""],
  ]);
  expect(attempts[0]).toMatchObject({
    queuedAt: "t1",
    startedAt: "t2b",
    endedAt: "t3",
    error: { type: "E" },
  });
  expect(attempts[1]?.reason).toBe("its process died");
  expect(attempts[2]).toMatchObject({ startedAt: "t8", endedAt: "t9" });
});

test("an attempt of the same number after its end is another one", () => {
  const attempts = attemptsOf(
    [
      event("StepQueued", "t1", { attempt: 1 }),
      event("AttemptLost", "t2", { attempt: 1, reason: "r" }),
      event("StepQueued", "t3", { attempt: 1 }),
    ],
    step({ status: "queued" }),
  );
  expect(attempts.map((each) => each.state)).toEqual(["lost", "queued"]);
});

test("a step that waits for somebody and is refused has one attempt, which failed", () => {
  const attempts = attemptsOf(
    [
      event("StepAwaits", "t1"),
      event("DecisionMade", "t2", { approved: false }),
      event("StepFailed", "t2", { failure: { type: "Rejected", message: "no" }, policy: "fail" }),
    ],
    step({ status: "failed", endedAt: "t2" }),
  );
  expect(attempts).toHaveLength(1);
  expect(attempts[0]).toMatchObject({
    state: "failed",
    startedAt: "t1",
    endedAt: "t2",
    error: { type: "Rejected" },
  });
});

test("an attempt that was at work when the run was cancelled has ended with the step", () => {
  const attempts = attemptsOf(
    [event("StepQueued", "t1", { attempt: 1 }), event("StepGranted", "t2", { attempt: 1, worker: "w" })],
    step({ status: "cancelled", endedAt: "t3" }),
  );
  expect(attempts[0]).toMatchObject({ state: "cancelled", endedAt: "t3" });
});

test("the run that an attempt began is known", () => {
  const attempts = attemptsOf([event("ChildStarted", "t1", { attempt: 1, run: "r2" })], step());
  expect(attempts[0]).toMatchObject({ state: "running", run: "r2" });
});
