import { expect, test } from "vitest";
import { stepsOf, textOf, written } from "./document";

test("what the server adds is not shown as written", () => {
  const answered = { id: "a", steps: {}, name: "", description: "x", version: 3, metadata: {} };
  expect(written(answered)).toEqual({ id: "a", steps: {}, description: "x" });
  expect(textOf({ id: "a", steps: { b: { kind: "noop" } }, version: 1 })).toBe(
    "id: a\nsteps:\n  b:\n    kind: noop\n",
  );
});

test("a graph is left as it was written", () => {
  const graph = { id: "a", version: "2", metadata: { mine: 1 }, nodes: [] };
  expect(written(graph)).toEqual(graph);
});

test("steps are read from both forms", () => {
  const first = stepsOf({
    steps: { a: { kind: "noop" }, b: { kind: "shell", needs: ["a"], when: "x > 1" } },
  });
  const second = stepsOf({
    steps: [
      { id: "a", kind: "noop" },
      { id: "b", kind: "shell", needs: "a", when: "x > 1" },
    ],
  });
  expect(first).toEqual(second);
  expect(first[1]).toEqual({ id: "b", kind: "shell", needs: ["a"], when: "x > 1", fallback: null });
  expect(stepsOf({})).toEqual([]);
});

test("what a switch names needs it, and a step says who runs in its place", () => {
  const steps = stepsOf({
    steps: {
      route: { kind: "switch", with: { cases: [{ when: "true", then: "big" }], default: ["small", "big"] } },
      big: { kind: "noop", on_failure: { fallback: "spare" } },
      small: { kind: "noop", needs: ["route"], on_failure: "skip" },
      spare: { kind: "noop" },
    },
  });
  expect(steps.map((step) => step.needs)).toEqual([[], ["route"], ["route"], []]);
  expect(steps.map((step) => step.fallback)).toEqual([null, "spare", null, null]);
});
