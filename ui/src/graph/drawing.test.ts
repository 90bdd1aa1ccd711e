import { describe, expect, it } from "vitest";
import { draw, filled } from "./drawing";
import { layout, type Wanted } from "./layout";
import { levelsOf } from "./levels";
import { stem } from "./names";
import { GROUPS_MAX, LINES_MAX, sameShape, shapeOf, STEPS_MAX, type Drawable } from "./shape";

const aStep = (id: string, more: Partial<Drawable> = {}): Drawable => ({ id, needs: [], ...more });
const many = (count: number, name: string, needs: string[] = []) =>
  Array.from({ length: count }, (_, number) => aStep(`${name}-${number}`, { needs }));
const letters = (n: number) => n.toString(26).replace(/\d/g, (digit) => "qrstuvwxyz"[Number(digit)] ?? "q");
const inBoxes = (steps: readonly Drawable[]) =>
  draw(steps).boxes.reduce((sum, box) => sum + box.steps.length, 0);

describe("the graph", () => {
  it("has a box for each step and a line for each need", () => {
    const { boxes, lines, grouped } = draw([
      aStep("a"),
      aStep("b", { needs: ["a"] }),
      aStep("c", { needs: ["a", "b"] }),
    ]);
    expect(boxes.map((box) => [box.name, box.level])).toEqual([
      ["a", 0],
      ["b", 1],
      ["c", 2],
    ]);
    expect(lines.map((line) => `${line.from}→${line.to}`)).toEqual(["a→b", "a→c", "b→c"]);
    expect(grouped).toBe(0);
  });

  it("shows which way a switch did not go, and what takes a step back", () => {
    const { lines } = draw([
      aStep("route"),
      aStep("big", { needs: ["route"] }),
      aStep("small", { needs: ["route"], status: "skipped" }),
      aStep("undo:big", { of: "big" }),
    ]);
    expect(lines.map((line) => line.kind)).toEqual(["needs", "skipped", "undo"]);
  });

  it("leads from a step to the one that runs in its place if it fails", () => {
    const steps = [aStep("a", { fallback: "b" }), aStep("b"), aStep("c", { needs: ["a"] })];
    const { boxes, lines } = draw(steps);
    expect(boxes.map((box) => [box.name, box.level])).toEqual([
      ["a", 0],
      ["b", 1],
      ["c", 1],
    ]);
    expect(lines.map(({ from, to, kind }) => [from, to, kind])).toEqual([
      ["a", "b", "fallback"],
      ["a", "c", "needs"],
    ]);
    expect(sameShape(steps, [aStep("a"), aStep("b"), aStep("c", { needs: ["a"] })])).toBe(false);
  });

  it("keeps its shape while only states change", () => {
    const before = [aStep("a"), aStep("b", { needs: ["a"], status: "waiting" })];
    const after = [aStep("a"), aStep("b", { needs: ["a"], status: "skipped" })];
    expect(sameShape(before, after)).toBe(true);
    expect(filled(shapeOf(before), after)).toEqual(draw(after));
    expect(sameShape(before, [...after, aStep("undo:b", { of: "b" })])).toBe(false);
    expect(sameShape(before, [aStep("a"), aStep("b", { needs: [] })])).toBe(false);
  });

  it("places every box, in the order in which the keyboard goes", () => {
    const wanted = (direction: Wanted["direction"]): Wanted => ({
      keys: ["c", "b", "a"],
      lines: [
        { from: "b", to: "c" },
        { from: "a", to: "b" },
      ],
      direction,
    });
    expect(layout(wanted("LR")).map((place) => place.key)).toEqual(["a", "b", "c"]);
    expect(layout(wanted("TB")).map((place) => place.key)).toEqual(["a", "b", "c"]);
  });
});

describe("ten thousand steps", () => {
  it("that are alike are kept in few boxes, and none is lost", () => {
    const { boxes, lines, grouped } = draw([
      aStep("start"),
      ...many(9_998, "resize", ["start"]),
      aStep("end", { needs: ["resize-7"] }),
    ]);
    expect(boxes.map((box) => [box.name, box.steps.length])).toEqual([
      ["start", 1],
      ["resize…", 9_998],
      ["end", 1],
    ]);
    expect(lines).toHaveLength(2);
    expect(grouped).toBe(9_998);
  });

  it("in a long chain, or with names that have nothing in common, are few boxes", () => {
    const chain = Array.from({ length: 10_000 }, (_, n) => aStep(`s${n}`, { needs: n ? [`s${n - 1}`] : [] }));
    expect(draw(chain).boxes.length).toBeLessThanOrEqual(GROUPS_MAX);
    expect(inBoxes(chain)).toBe(10_000);
    expect(draw(Array.from({ length: 1_000 }, (_, n) => aStep(`x${letters(n)}`))).boxes).toHaveLength(1);
  });

  it("in layers are a box for each layer", () => {
    const before = (layer: number, n: number) => [0, 1, 7].map((by) => `l${layer - 1}-${(n + by) % 100}`);
    const steps = Array.from({ length: 10_000 }, (_, at) => {
      const [layer, n] = [Math.floor(at / 100), at % 100];
      return aStep(`l${layer}-${n}`, { needs: layer ? before(layer, n) : [] });
    });
    const { boxes, lines } = draw(steps);
    expect(boxes).toHaveLength(100);
    expect(lines).toHaveLength(99);
  });

  it("that need whatever came before them are drawn with few lines", () => {
    const steps = Array.from({ length: 10_000 }, (_, n) =>
      aStep(`${letters(n)}-${n}`, { needs: n ? [`${letters((n * 7) % n)}-${(n * 7) % n}`, prior(n)] : [] }),
    );
    const { boxes, lines } = draw(steps);
    expect(boxes.length).toBeLessThanOrEqual(GROUPS_MAX);
    expect(lines.length).toBeLessThanOrEqual(LINES_MAX);
    expect(inBoxes(steps)).toBe(10_000);
  });

  function prior(n: number): string {
    const before = Math.max(0, n - 1 - ((n * 31) % 200));
    return `${letters(before)}-${before}`;
  }
});

describe("a graph of few steps", () => {
  it("with very many lines leaves out those that others tell", () => {
    const steps = Array.from({ length: 60 }, (_, n) =>
      aStep(`s-${letters(n)}`, { needs: Array.from({ length: n }, (_, before) => `s-${letters(before)}`) }),
    );
    expect(draw(steps).lines).toHaveLength(59);
    expect(draw(steps).boxes).toHaveLength(60);
  });

  it("is drawn in groups if even so the lines are too many", () => {
    const left = many(STEPS_MAX / 2, "left");
    const right = many(
      STEPS_MAX / 2,
      "right",
      left.map((step) => step.id),
    );
    expect(draw([...left, ...right]).boxes.map((box) => box.name)).toEqual(["left…", "right…"]);
  });
});

describe("levels", () => {
  it("are counted from the farthest need, and unknown needs do not matter", () => {
    const levels = levelsOf([
      aStep("d", { needs: ["a", "c"] }),
      aStep("c", { needs: ["b"] }),
      aStep("b", { needs: ["a"] }),
      aStep("a", { needs: ["gone"] }),
    ]);
    // A need that is not drawn holds nothing up.
    expect(Object.fromEntries(levels)).toEqual({ a: 0, b: 1, c: 2, d: 3 });
  });
});

describe("the stem of a name", () => {
  it("ends before its number", () => {
    expect(["resize-12", "resize_12_b", "resize12", "12"].map(stem)).toEqual([
      "resize",
      "resize",
      "resize",
      "12",
    ]);
  });
});
