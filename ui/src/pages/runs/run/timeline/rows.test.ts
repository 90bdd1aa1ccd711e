import { describe, expect, it } from "vitest";
import { aStep, happened } from "../samples";
import { ChartFold } from "./fold";
import { FOLD_FROM, linesOf, moved, share, ticks, zoomed } from "./rows";

const NONE: ReadonlySet<string> = new Set();

function chartWithItems(count: number) {
  const fold = new ChartFold();
  const items = Array.from(
    { length: count },
    (_, n) => [1, "StepQueued", { step: `each[${count - 1 - n}]`, attempt: 1 }] as const,
  );
  for (const event of happened([[0, "MapStarted", { step: "each", items: [] }], ...items])) fold.take(event);
  return fold.chart();
}

describe("the lines of the timeline", () => {
  it("stand in the order of the document, with items below their step in their own order", () => {
    const lines = linesOf(chartWithItems(3), [aStep("first"), aStep("each"), aStep("last")], NONE);
    expect(lines.map((line) => line.row.step)).toEqual([
      "first",
      "each",
      "each[0]",
      "each[1]",
      "each[2]",
      "last",
    ]);
    expect(lines[1]).toMatchObject({ members: 3, open: true });
  });

  it("hide many items until they are asked for", () => {
    const chart = chartWithItems(FOLD_FROM + 1);
    expect(linesOf(chart, [aStep("each")], NONE)).toHaveLength(1);
    expect(linesOf(chart, [aStep("each")], new Set(["each"]))).toHaveLength(FOLD_FROM + 2);
  });

  it("show what takes a step back, and what the run does not list", () => {
    const fold = new ChartFold();
    for (const event of happened([[1, "StepQueued", { step: "undo:a", attempt: 1 }]])) fold.take(event);
    expect(linesOf(fold.chart(), [aStep("a")], NONE).map((line) => line.row.step)).toEqual(["a", "undo:a"]);
  });
});

describe("the scale", () => {
  const whole = { fromMs: 0, toMs: 10_000 };

  it("says how far along a moment is", () => {
    expect([-5, 0, 2_500, 99_999].map((ms) => share(whole, ms))).toEqual([0, 0, 0.25, 1]);
    expect(share({ fromMs: 5, toMs: 5 }, 5)).toBe(0);
  });

  it("has marks at even times", () => {
    expect(ticks(whole, 0, 5)).toEqual([0, 2_000, 4_000, 6_000, 8_000, 10_000]);
    expect(ticks({ fromMs: 4_500, toMs: 5_500 }, 0, 5)).toEqual([4_600, 4_800, 5_000, 5_200, 5_400]);
    expect(ticks({ fromMs: 0, toMs: 400 * 86400e3 }, 0, 8).length).toBeLessThan(20);
  });

  it("comes nearer around the middle and never leaves the run", () => {
    expect(zoomed(whole, whole, 0.5)).toEqual({ fromMs: 2_500, toMs: 7_500 });
    expect(zoomed({ fromMs: 2_500, toMs: 7_500 }, whole, 4)).toEqual(whole);
    expect(moved({ fromMs: 0, toMs: 4_000 }, whole, -9_000)).toEqual({ fromMs: 0, toMs: 4_000 });
    expect(moved({ fromMs: 0, toMs: 4_000 }, whole, 99_000)).toEqual({ fromMs: 6_000, toMs: 10_000 });
  });
});
