import { expect, test } from "vitest";
import { diff, folded } from "./diff";

const told = (before: string, after: string) =>
  diff(before, after).map((row) => ({ same: " ", gone: "-", new: "+" })[row.kind] + row.text);

test("the same texts have only lines that are the same", () => {
  expect(told("a\nb\n", "a\nb\n")).toEqual([" a", " b"]);
  expect(diff("", "")).toEqual([]);
});

test("a line that was changed is gone, and new", () => {
  expect(told("a\nb\nc\n", "a\nx\nc\n")).toEqual([" a", "-b", "+x", " c"]);
});

test("lines that came and went keep what is around them", () => {
  expect(told("a\nb\nc\nd\n", "a\nc\nd\ne\n")).toEqual([" a", "-b", " c", " d", "+e"]);
  expect(told("", "a\nb")).toEqual(["+a", "+b"]);
  expect(told("a", "")).toEqual(["-a"]);
});

test("lines are numbered on both sides", () => {
  expect(diff("a\nb", "b").map((row) => [row.before, row.after])).toEqual([
    [1, null],
    [2, 1],
  ]);
});

test("what is gone and what is the same is the old text; what is new and the same is the new one", () => {
  const letters = "abcde";
  let seed = 7;
  const chance = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
  for (let round = 0; round < 200; round++) {
    const text = () => Array.from({ length: chance(12) }, () => letters[chance(5)]).join("\n");
    const [before, after] = [text(), text()];
    const rows = diff(before, after);
    const side = (left: string) =>
      rows
        .filter((row) => row.kind !== left)
        .map((row) => row.text)
        .join("\n");
    expect([side("new"), side("gone")]).toEqual([before, after]);
  }
});

test("texts that have nothing in common are replaced as a whole, however long", () => {
  const lines = (word: string) => Array.from({ length: 3000 }, (_, n) => `${word}${n}`).join("\n");
  expect(diff(lines("a"), lines("b"))).toHaveLength(6000);
});

test("long stretches without a change are folded", () => {
  const before = Array.from({ length: 20 }, (_, n) => `line ${n}`).join("\n");
  const rows = folded(diff(before, before.replace("line 10", "changed")), 2);
  expect(rows.map((row) => (row.kind === "fold" ? row.count : row.kind))).toEqual([
    8,
    "same",
    "same",
    "gone",
    "new",
    "same",
    "same",
    7,
  ]);
});
