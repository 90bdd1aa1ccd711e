import { expect, test } from "vitest";
import type { RunView, StepView } from "../../types";
import { isSignalName, parse } from "./json";
import { barred, bodyOf, choice, countAgain, firstPlan, withAfter, writtenSteps, type Plan } from "./rerun";

const step = (id: string, needs: string[] = [], fields: Partial<StepView> = {}): StepView =>
  ({
    id,
    needs,
    fallback: null,
    of: null,
    item: null,
    status: "succeeded",
    ...fields,
  }) as unknown as StepView;
const STEPS = [step("a"), step("b", ["a"]), step("c", ["b"]), step("d", ["a"])];
const run = (fields: Partial<RunView> = {}): RunView =>
  ({ id: "r", status: "failed", version: 1, purged: false, steps: STEPS, ...fields }) as unknown as RunView;
const plan = (fields: Partial<Plan>): Plan => ({ ...firstPlan(run()), ...fields });

test("asked for nothing, nothing is said: what did not end well runs again", () => {
  expect(bodyOf(plan({}), run())).toEqual({ ok: true, body: {} });
});

test("a run that went well runs again as a whole, from its first steps on", () => {
  const well = run({ status: "succeeded" });
  expect(firstPlan(well).from).toBe("all");
  expect(bodyOf(firstPlan(well), well)).toEqual({ ok: true, body: { from: ["a"] } });
});

test("a step that runs only in the place of another is not run from", () => {
  const steps = [step("a", [], { fallback: "b" }), step("b"), step("c", ["a"])];
  const well = run({ status: "succeeded", steps });
  expect(writtenSteps(well).map((each) => each.id)).toEqual(["a", "c"]);
  expect(bodyOf(firstPlan(well), well)).toEqual({ ok: true, body: { from: ["a"] } });
});

test("steps, an edited input, results, skips and a version are said as the server wants them", () => {
  const asked = plan({
    from: "steps",
    steps: ["b"],
    edited: true,
    input: '{"n": 2}',
    patches: [
      { step: "a", value: "[1]" },
      { step: "", value: "nonsense" },
    ],
    skip: ["d"],
    version: 3,
  });
  expect(bodyOf(asked, run())).toEqual({
    ok: true,
    body: { from: ["b"], input: { n: 2 }, patch: { a: [1] }, skip: ["d"], version: 3 },
  });
});

test("everything with another input needs no first steps", () => {
  expect(bodyOf(plan({ from: "all", edited: true, input: "" }), run())).toEqual({
    ok: true,
    body: { input: null },
  });
});

test("every mistake is told at its place", () => {
  const asked = plan({ from: "steps", edited: true, input: "{", patches: [{ step: "a", value: "x" }] });
  const body = bodyOf(asked, run());
  expect(body.ok).toBe(false);
  if (!body.ok) expect(body.faults.map((fault) => fault.at)).toEqual(["steps", "input", "patch 0"]);
});

test("what comes after a step is found over any distance", () => {
  expect([...withAfter(STEPS, ["b"])].sort()).toEqual(["b", "c"]);
  expect([...withAfter(STEPS, ["a"])].sort()).toEqual(["a", "b", "c", "d"]);
});

test("how many steps run again is told where it is known", () => {
  expect(countAgain(plan({ from: "all" }), run())).toBe(4);
  expect(countAgain(plan({ from: "steps", steps: ["b"] }), run())).toBe(2);
  expect(countAgain(plan({ edited: true }), run())).toBe(4);
  expect(countAgain(plan({}), run())).toBeNull();
  const half = run({ steps: [...STEPS.slice(0, 3), step("d", ["a"], { status: "failed" })] });
  expect(countAgain(plan({ from: "steps", steps: ["c"] }), half)).toBe(2);
});

test("a run that goes on, whose events are gone, or that is a task cannot be rerun", () => {
  expect(barred(run({ status: "running" }))).toBe("rerunNotEnded");
  expect(barred(run({ purged: true }))).toBe("rerunPurged");
  expect(barred(run({ version: 0 }))).toBe("rerunTask");
  expect(barred(run({ status: "stuck" }))).toBeNull();
  expect(barred(run())).toBeNull();
});

test("of many steps the first are shown, and those that are chosen or sought", () => {
  const many = Array.from({ length: 300 }, (_, index) => step(`s${index}`));
  const { shown, hidden } = choice(many, "", ["s299"]);
  expect([shown.length, hidden, shown.at(-1)?.id]).toEqual([101, 199, "s299"]);
  expect(choice(many, "S12", []).shown.map((each) => each.id)).toContain("s129");
});

test("no text is null, and what is no JSON says why", () => {
  expect(parse(" ")).toEqual({ ok: true, value: null });
  expect(parse("{").ok).toBe(false);
});

test("names of signals are checked before they are sent", () => {
  expect(["payment", "a.b:c_d-1", "", "no space", "x".repeat(101)].map(isSignalName)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
});
