import { describe, expect, it } from "vitest";
import { familyOf, foldRun } from "./fold";
import { aRun, aStep, happened, moment } from "./samples";

describe("a run that is followed", () => {
  it("goes on step by step as events come", () => {
    const run = aRun([aStep("fetch"), aStep("store", { needs: ["fetch"] })]);
    const after = foldRun(
      run,
      happened(
        [
          [1, "StepQueued", { step: "fetch", attempt: 1 }],
          [2, "StepGranted", { step: "fetch", attempt: 1, worker: "w1" }],
          [5, "StepSucceeded", { step: "fetch", attempt: 1, value: 7, worker: "w1" }],
          [5, "StepQueued", { step: "store", attempt: 1 }],
        ],
        3,
      ),
    );
    expect(after.steps[0]).toMatchObject({
      status: "succeeded",
      worker: "w1",
      attempts: 1,
      startedAt: moment(2),
      endedAt: moment(5),
      output: 7,
    });
    expect(after.steps[1]?.status).toBe("queued");
    expect(after.counts).toEqual({ waiting: 0, queued: 1, running: 0, succeeded: 1 });
    expect(after.seq).toBe(7);
    expect(run.steps[0]?.status).toBe("waiting");
  });

  it("hears nothing twice", () => {
    const run = aRun([aStep("fetch", { status: "succeeded" })]);
    expect(foldRun(run, happened([[1, "StepQueued", { step: "fetch", attempt: 1 }]], 2))).toBe(run);
  });

  it("counts the items of a map, also those that are not listed", () => {
    const run = aRun([
      aStep("each", { kind: "map", status: "running", items: { total: 3, ended: 0, failed: 0 } }),
      aStep("each[0]", { of: "each", item: 0 }),
    ]);
    const after = foldRun(
      run,
      happened(
        [
          [1, "StepSucceeded", { step: "each[0]", attempt: 1 }],
          [2, "StepFailed", { step: "each[2]", failure: { type: "Exit", message: "no" } }],
        ],
        3,
      ),
    );
    expect(after.steps[0]?.items).toEqual({ total: 3, ended: 2, failed: 1 });
  });

  it("has nothing at work any more when it has ended", () => {
    const run = aRun([aStep("a", { status: "running", startedAt: moment(1) }), aStep("b", { needs: ["a"] })]);
    const after = foldRun(run, happened([[9, "RunEnded", { status: "cancelled" }]], 3));
    expect(after).toMatchObject({ status: "cancelled", endedAt: moment(9), durationSeconds: 9 });
    expect(after.steps.map((step) => step.status)).toEqual(["cancelled", "skipped"]);
  });

  it("pauses and resumes", () => {
    const run = aRun([]);
    const paused = foldRun(run, happened([[1, "RunPaused"]], 3));
    expect(paused).toMatchObject({ status: "paused", pausedAt: moment(1) });
    expect(foldRun(paused, happened([[2, "RunResumed"]], 4)).status).toBe("running");
  });
});

describe("the name of an item", () => {
  it("says of which step it is", () => {
    expect(familyOf("each[12]")).toBe("each");
    expect(familyOf("outer[1][2]")).toBe("outer[1]");
    expect(familyOf("undo:each")).toBeNull();
  });
});
