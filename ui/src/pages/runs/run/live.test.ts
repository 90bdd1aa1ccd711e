// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { NOTHING, told } from "./live";
import { aRun, aStep, happened } from "./samples";

const run = aRun([aStep("a"), aStep("b")]);
const [granted, succeeded] = [
  happened([[1, "StepGranted", { step: "a", attempt: 1 }]], 3),
  happened([[2, "StepSucceeded", { step: "a", attempt: 1 }]], 4),
];

test("events change the run as they come, and leave alone what they do not tell of", () => {
  const known = told(told(told(NOTHING, { read: run }), { came: granted }), { came: succeeded });
  expect(known.run?.steps[0]?.status).toBe("succeeded");
  expect(known.run?.seq).toBe(5);
  expect(known.run?.steps[1]).toBe(run.steps[1]);
});

test("a run that was read while events came is brought to where they are", () => {
  const before = told(told(told(NOTHING, { read: run }), { came: granted }), { came: succeeded });
  const asItWas = { ...run, seq: 4, labels: { read: "again" } };
  const after = told(before, { read: asItWas });
  expect(after.run?.labels).toEqual({ read: "again" });
  expect(after.run?.steps[0]?.status).toBe("succeeded");
  expect(after.news.map((event) => event.seq)).toEqual([5]);
});

test("events that come before the run are kept for it", () => {
  const known = told(told(NOTHING, { came: granted }), { read: run });
  expect(known.run?.steps[0]?.status).toBe("running");
});

test("another run begins with nothing", () => {
  expect(told(told(NOTHING, { came: granted }), { read: null })).toEqual(NOTHING);
});
