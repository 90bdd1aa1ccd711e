import { describe, expect, it } from "vitest";
import { BOX_HEIGHT, BOX_WIDTH } from "./layout";
import { firstView, heightFor, sizeOf, zoomFor } from "./view";

describe("what of a graph is seen at first", () => {
  const small = sizeOf([
    { key: "a", x: 0, y: 0 },
    { key: "b", x: 300, y: 100 },
  ]);
  const long = { width: 10_000, height: 100 };

  it("is all of it, in the middle, where there is room", () => {
    expect(small).toEqual({ width: 300 + BOX_WIDTH, height: 100 + BOX_HEIGHT });
    const view = firstView(small, { width: 1_000, height: 400 }, undefined);
    expect(view.zoom).toBe(1);
    expect(view.x).toBe((1_000 - small.width) / 2);
  });

  it("is never too small to be read", () => {
    expect(zoomFor(long, 300)).toBe(0.55);
    expect(heightFor({ width: 100, height: 9_999 }, 300)).toBe(640);
    expect(heightFor({ width: 100, height: 10 }, 300)).toBe(180);
  });

  it("is what matters now, where there is no room for all", () => {
    const frame = { width: 500, height: 300 };
    expect(firstView(long, frame, undefined).x).toBeGreaterThan(0);
    const view = firstView(long, frame, { key: "x", x: 6_000, y: 0 });
    const seenAt = 6_000 * view.zoom + view.x;
    expect(seenAt).toBeGreaterThan(0);
    expect(seenAt).toBeLessThan(500 - BOX_WIDTH * view.zoom);
    const last = firstView(long, frame, { key: "x", x: long.width - BOX_WIDTH, y: 0 });
    expect(long.width * last.zoom + last.x).toBeLessThanOrEqual(500);
  });
});
