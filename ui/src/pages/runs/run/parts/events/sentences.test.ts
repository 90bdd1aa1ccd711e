// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { say } from "../../../../../words";
import type { RunEvent } from "../../types";
import { permitKeys, sentenceOf, type Speech } from "./sentences";
import { words } from "./words";

const speech = (language: "en" | "zh"): Speech => ({
  t: say(words, language),
  time: (at) => at.slice(11, 16),
  status: (status) => status.toUpperCase(),
  kindOf: (step) => (step === "ask" ? "approval" : step === "paid" ? "signal" : ""),
  skipOf: (step) => (step === "small" ? "route chose otherwise" : ""),
  keyOf: (number) => (number === 1 ? "api" : ""),
  nodeOf: (id) => (id === "cf54" ? "berlin" : id),
});
const event = (type: string, fields: Partial<RunEvent> = {}): RunEvent => ({
  seq: 1,
  at: "2026-01-01T10:00:00Z",
  type,
  ...fields,
});
const english = (type: string, fields: Partial<RunEvent> = {}) =>
  sentenceOf(event(type, fields), speech("en"));

// One of each type, as core/events.py has them.
const EVENTS: readonly (readonly [string, Partial<RunEvent>, string])[] = [
  ["RunStarted", { workflow: "w", version: 2 }, "The run began: w, version 2"],
  ["StepQueued", { step: "a", attempt: 1 }, "a: attempt 1 waits for a worker"],
  ["StepGranted", { step: "a", attempt: 1, worker: "w1" }, "a: worker w1 took attempt 1"],
  ["WaitStarted", { step: "a", due: "2026-01-01T12:30:00Z" }, "a: waits until 12:30"],
  ["StepSucceeded", { step: "a", attempt: 1 }, "a: succeeded"],
  [
    "AttemptFailed",
    { step: "a", attempt: 2, failure: { type: "E", message: "no" } },
    "a: attempt 2 failed: E: no",
  ],
  ["AttemptLost", { step: "a", attempt: 2, reason: "gone" }, "a: attempt 2 was lost: gone"],
  [
    "StepParked",
    { step: "a", attempt: 4, reason: "it kills" },
    "a: parked until somebody releases it: it kills",
  ],
  ["StepReleased", { step: "a" }, "a: released, and tried again"],
  ["RetryScheduled", { step: "a", attempt: 2, due: "2026-01-01T10:01:00Z" }, "a: attempt 2 begins at 10:01"],
  ["StepFailed", { step: "a", failure: { type: "E", message: "" }, policy: "fail" }, "a: failed for good: E"],
  ["StepSkipped", { step: "a", reason: "when is false" }, "a: skipped: when is false"],
  ["StepSkipped", { step: "small", reason: "told otherwise" }, "small: skipped: route chose otherwise"],
  ["StepCancelled", { step: "a[3]", attempt: 1 }, "a[3]: cancelled, as nobody needs it any more"],
  ["StepAwaits", { step: "ask" }, "ask: waits for approval"],
  ["SignalReceived", { name: "payment", by: "shop" }, "The signal payment came · by shop"],
  ["DecisionMade", { step: "ask", approved: true }, "ask: approved"],
  ["ChildStarted", { step: "c", attempt: 1, run: "r2", workflow: "o" }, "c: began the run r2 of o"],
  ["ChildEnded", { step: "c", status: "failed", reason: "bad" }, "c: the run it began ended: FAILED · bad"],
  ["ChildDropped", { run: "r2" }, "The run r2 is not needed any more and is cancelled"],
  ["MapStarted", { step: "each", items: [1] }, "each: one step for each of 1 item"],
  ["TurnStarted", { step: "poll", turn: 3 }, "poll: turn 3 begins"],
  [
    "PermitAsked",
    { number: 1, key: "api", most: 2 },
    "The run asks for a place under the limit api · 2 at once",
  ],
  ["PermitGranted", { number: 1 }, "The limit api lets it pass"],
  ["PermitReturned", { number: 1, key: "api" }, "The place under the limit api is free again"],
  ["Acknowledged", { errand: "x" }, "A message to another run or limit was received"],
  ["StageStarted", { step: "p", stage: "read", stageType: "csv" }, "p: stage read (csv) began"],
  ["StageEnded", { step: "p", stage: "read", stageType: "csv" }, "p: stage read ended with 0 records"],
  [
    "UndoStarted",
    { status: "failed", reason: "b failed" },
    "What was done is taken back; then the run ends as FAILED · b failed",
  ],
  ["RunPaused", {}, "The run was paused"],
  ["RunResumed", {}, "The run goes on"],
  ["RunEnded", { status: "succeeded" }, "The run ended: SUCCEEDED"],
];

test.each(EVENTS)("%s is told in a sentence", (type, fields, sentence) => {
  expect(english(type, fields)).toBe(sentence);
});

test.each(EVENTS)("%s leaves no hole open in either language", (type, fields) => {
  for (const language of ["en", "zh"] as const) {
    const told = sentenceOf(event(type, fields), speech(language));
    expect(told).not.toMatch(/[{}]/);
    expect(told).not.toBe(type);
  }
});

test("what more is known is told behind a dot", () => {
  expect(
    english("RunStarted", { workflow: "w", version: 1, by: "ana", rerunOf: "r1", kept: { a: {}, b: {} } }),
  ).toBe("The run began: w, version 1 · started by ana · it reruns r1; 2 results kept");
  expect(english("StepSucceeded", { step: "a", attempt: 3, worker: "w" })).toBe(
    "a: succeeded · in attempt 3 · on w",
  );
  expect(english("StepSucceeded", { step: "paid", attempt: 1, signal: "payment" })).toBe(
    "paid: the signal payment came",
  );
  expect(
    english("StepFailed", { step: "a", failure: { type: "E", message: "m" }, policy: "fallback" }),
  ).toContain("its fallback takes its place");
  expect(english("DecisionMade", { step: "ask", approved: false, by: "bo", comment: "not yet" })).toBe(
    "ask: rejected · by bo · not yet",
  );
  expect(english("ChildStarted", { step: "c", run: "r", workflow: "o", wait: false })).toContain(
    "does not wait",
  );
  expect(english("PermitAsked", { step: "a", key: "api", most: 5, perS: 60 })).toBe(
    "a: asks for a place under the limit api · 5 within 60 s",
  );
  expect(english("PermitGranted", { number: 9 })).toBe("A limit lets it pass (place 9)");
  expect(english("StageEnded", { step: "p", stage: "s", error: "bad row" })).toBe(
    "p: stage s failed: bad row",
  );
  expect(english("TurnStarted", { step: "poll", turn: 1, due: "2026-01-01T10:05:00Z" })).toBe(
    "poll: turn 1 begins at 10:05",
  );
  expect(english("StepAwaits", { step: "paid", due: "2026-01-01T10:05:00Z" })).toBe(
    "paid: waits for a signal · until 10:05",
  );
});

test("an event of a newer server says at least its type", () => {
  expect(english("MoonRose", { step: "a" })).toBe("MoonRose");
});

test("a place under a limit is known by the event that asked for it", () => {
  const keys = permitKeys([
    event("PermitAsked", { number: 3, key: "db" }),
    event("PermitGranted", { number: 3 }),
  ]);
  expect([...keys]).toEqual([[3, "db"]]);
});

test("a node is called by its name", () => {
  const granted = { step: "a", attempt: 1, worker: "w1", node: "cf54" };
  expect(english("StepGranted", granted)).toBe("a: worker w1 took attempt 1 · on node berlin");
});
