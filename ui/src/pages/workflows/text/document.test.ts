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
  expect(first[1]).toEqual({ id: "b", kind: "shell", needs: ["a"], when: "x > 1" });
  expect(stepsOf({})).toEqual([]);
});
