import { describe, expect, it } from "vitest";
import { aRun, aStep, happened, moment, momentMs } from "../samples";
import { ChartFold, chartOfRun, type Chart } from "./fold";

function chart(...told: Parameters<typeof happened>[0][number][]): Chart {
  const fold = new ChartFold();
  for (const event of happened(told)) fold.take(event);
  return fold.chart();
}

const spans = (found: Chart, step: string) =>
  found.rows
    .get(step)
    ?.spans.map((span) => [
      span.kind,
      span.attempt,
      (span.fromMs - momentMs(0)) / 1000,
      span.toMs === null ? null : (span.toMs - momentMs(0)) / 1000,
      span.outcome,
      span.worker,
    ]);

describe("the timeline", () => {
  it("shows each attempt with what it waited for before", () => {
    const found = chart(
      [0, "RunStarted"],
      [1, "StepQueued", { step: "a", attempt: 1 }],
      [2, "StepGranted", { step: "a", attempt: 1, worker: "w1" }],
      [4, "AttemptFailed", { step: "a", attempt: 1, worker: "w1", failure: { type: "Exit", message: "1" } }],
      [4, "RetryScheduled", { step: "a", attempt: 2, due: moment(6) }],
      [6, "StepQueued", { step: "a", attempt: 2 }],
      [7, "StepGranted", { step: "a", attempt: 2, worker: "w2" }],
      [9, "StepSucceeded", { step: "a", attempt: 2, worker: "w2" }],
      [9, "RunEnded", { status: "succeeded" }],
    );
    expect(spans(found, "a")).toEqual([
      ["queued", 1, 1, 2, null, ""],
      ["running", 1, 2, 4, "failed", "w1"],
      ["backoff", 2, 4, 6, null, ""],
      ["queued", 2, 6, 7, null, ""],
      ["running", 2, 7, 9, "succeeded", "w2"],
    ]);
    expect(found.rows.get("a")).toMatchObject({ status: "succeeded", attempts: 2 });
    expect([found.startMs, found.endMs]).toEqual([momentMs(0), momentMs(9)]);
    expect(found.rows.get("a")?.spans[1]?.error).toBe("1");
  });

  it("learns from the end when a short attempt began", () => {
    const found = chart(
      [1, "StepQueued", { step: "a", attempt: 1 }],
      [5, "StepSucceeded", { step: "a", attempt: 1, worker: "w1", startedAt: moment(3) }],
    );
    expect(spans(found, "a")).toEqual([
      ["queued", 1, 1, 3, null, ""],
      ["running", 1, 3, 5, "succeeded", "w1"],
    ]);
  });

  it("never begins an attempt before it was queued, whatever the worker's clock says", () => {
    const found = chart(
      [2, "StepQueued", { step: "a", attempt: 1 }],
      [5, "StepSucceeded", { step: "a", attempt: 1, startedAt: moment(1) }],
    );
    expect(spans(found, "a")?.map((span) => [span[2], span[3]])).toEqual([
      [2, 2],
      [2, 5],
    ]);
  });

  it("leaves open what goes on, and cuts it off where the run ends", () => {
    const waiting = [
      [1, "WaitStarted", { step: "w", due: moment(60) }],
      [2, "StepAwaits", { step: "ask" }],
    ] as const;
    expect(spans(chart(...waiting), "w")?.[0]?.[3]).toBeNull();
    const ended = chart(...waiting, [5, "RunEnded", { status: "cancelled" }]);
    expect(spans(ended, "ask")).toEqual([["waiting", 1, 2, 5, "cancelled", ""]]);
    expect(ended.rows.get("w")?.status).toBe("cancelled");
  });

  it("knows items, limits, lost attempts, parking and pauses", () => {
    const found = chart(
      [0, "MapStarted", { step: "each", items: [1, 2] }],
      [1, "PermitAsked", { step: "each[0]", number: 1, key: "api" }],
      [3, "PermitGranted", { number: 1 }],
      [3, "StepQueued", { step: "each[0]", attempt: 1 }],
      [4, "StepGranted", { step: "each[0]", attempt: 1, worker: "w" }],
      [5, "RunPaused"],
      [6, "RunResumed"],
      [7, "AttemptLost", { step: "each[0]", attempt: 1, reason: "its worker died", worker: "w" }],
      [7, "StepParked", { step: "each[0]", attempt: 2, reason: "three deaths" }],
    );
    expect(spans(found, "each[0]")?.map((span) => [span[0], span[4]])).toEqual([
      ["limited", null],
      ["queued", null],
      ["running", "lost"],
      ["parked", null],
    ]);
    expect(found.rows.get("each[0]")?.of).toBe("each");
    expect(spans(found, "each")).toEqual([["items", 1, 0, null, null, ""]]);
    expect(found.pauses).toEqual([{ fromMs: momentMs(5), toMs: momentMs(6) }]);
  });

  it("hears no event twice", () => {
    const fold = new ChartFold();
    const events = happened([[1, "StepQueued", { step: "a", attempt: 1 }]]);
    for (const event of [...events, ...events]) fold.take(event);
    expect(fold.chart().rows.get("a")?.spans).toHaveLength(1);
  });

  it("makes do with what the steps say when the events are deleted", () => {
    const found = chartOfRun(
      aRun([
        aStep("a", {
          status: "succeeded",
          startedAt: moment(1),
          endedAt: moment(2),
          worker: "w",
          attempts: 1,
        }),
        aStep("b"),
      ]),
    );
    expect(spans(found, "a")).toEqual([["running", 1, 1, 2, "succeeded", "w"]]);
    expect(spans(found, "b")).toEqual([]);
  });
});
