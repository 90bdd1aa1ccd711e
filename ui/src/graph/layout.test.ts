import { expect, test } from "vitest";
import { BOX_HEIGHT, BOX_WIDTH, layout, type Place } from "./layout";
import { reduced } from "./reduce";

const placed = (keys: string[], lines: [string, string][]) =>
  new Map(
    layout({ keys, lines: lines.map(([from, to]) => ({ from, to })), direction: "LR" }).map((place) => [
      place.key,
      place,
    ]),
  );
const at = (places: ReadonlyMap<string, Place>, key: string) => places.get(key)!;

test("what needs another stands to its right", () => {
  const places = placed(["b", "a"], [["a", "b"]]);
  expect(at(places, "b").x).toBeGreaterThan(at(places, "a").x + BOX_WIDTH);
});

test("boxes do not cover each other", () => {
  const places = placed(
    ["a", "b", "c"],
    [
      ["a", "b"],
      ["a", "c"],
    ],
  );
  expect(Math.abs(at(places, "b").y - at(places, "c").y)).toBeGreaterThanOrEqual(BOX_HEIGHT);
});

test("an arrow to what is not there is left out", () => {
  expect(placed(["a"], [["gone", "a"]]).size).toBe(1);
});

test("many boxes with many lines go one way all the same", () => {
  const keys = Array.from({ length: 60 }, (_, n) => `k${n}`);
  const lines = keys.flatMap((to, n) =>
    keys.slice(Math.max(0, n - 4), n).map((from): [string, string] => [from, to]),
  );
  const places = placed(keys, lines);
  for (const [from, to] of lines) expect(at(places, to).x).toBeGreaterThan(at(places, from).x);
});

test("a line that two others tell goes, and no other", () => {
  const lines = [
    { from: "a", to: "b" },
    { from: "a", to: "c" },
    { from: "b", to: "c" },
    { from: "b", to: "d" },
  ];
  expect(reduced(["a", "b", "c", "d"], lines)).toEqual([lines[0], lines[2], lines[3]]);
});
