import { expect, test } from "vitest";
import { append, placeOf, prepend, readAll, readBefore, type Feed, type Page } from "./feed";
import { followsOn, rangeOf } from "./range";

interface Line {
  readonly n: number;
}
const n = (line: Line) => line.n;
const lines = (from: number, to: number): Line[] =>
  Array.from({ length: to - from + 1 }, (_, index) => ({ n: from + index }));
const feed = (from: number, to: number, fromStart = false): Feed<Line> => ({
  items: lines(from, to),
  fromStart,
});

/** A server that has lines 1 to `last`, of which only some are seen. */
function server(last: number, isSeen: (n: number) => boolean = () => true) {
  const asked: number[] = [];
  const read = async (after: number, limit: number): Promise<Page<Line>> => {
    asked.push(after);
    const found = lines(after + 1, last).filter((line) => isSeen(line.n));
    const items = found.slice(0, limit);
    return { items, next: found.length > limit ? (items.at(-1)?.n ?? null) : null };
  };
  return { read, asked };
}

test("what comes after is added once, however often it is told", () => {
  const once = append(feed(1, 3), lines(2, 5), n, 100);
  expect(once.items.map(n)).toEqual([1, 2, 3, 4, 5]);
  expect(append(once, lines(4, 5), n, 100)).toBe(once);
});

test("of more than are kept, the oldest go, and can be asked for again", () => {
  const kept = append(feed(1, 3, true), lines(4, 6), n, 4);
  expect(kept).toEqual(feed(3, 6, false));
});

test("what came before is put in front, without what is there already", () => {
  expect(prepend(feed(5, 6), lines(1, 5), n, true)).toEqual(feed(1, 6, true));
});

test("an item is found by its number, or the next one after it", () => {
  const items = [{ n: 2 }, { n: 4 }, { n: 9 }];
  expect([1, 2, 3, 9, 10].map((wanted) => placeOf(items, wanted, n))).toEqual([0, 0, 1, 2, 3]);
});

test("a thousand before the first are read at once", async () => {
  const { read, asked } = server(5_000);
  const found = await readBefore(3_001, read, n);
  expect([found.items.length, found.items[0]?.n, found.items.at(-1)?.n]).toEqual([1_000, 2_001, 3_000]);
  expect([found.fromStart, asked]).toEqual([false, [2_000]]);
});

test("where a filter left nothing out of the last thousand, the search goes further back", async () => {
  const { read } = server(50_000, (number) => number % 20_000 === 7);
  const found = await readBefore(40_007, read, n);
  expect([found.items.map(n), found.fromStart]).toEqual([[7, 20_007], true]);
});

test("the start is known when it is reached", async () => {
  const { read } = server(500);
  expect(await readBefore(301, read, n)).toEqual(feed(1, 300, true));
});

test("all pages are read, as far as there is room", async () => {
  expect(await readAll(server(2_500).read, 10_000)).toHaveLength(2_500);
  expect(await readAll(server(2_500).read, 1_500)).toHaveLength(2_000);
});

test("only rows in sight and some around them are drawn", () => {
  expect(rangeOf(0, 400, 20, 10_000)).toEqual({ from: 0, to: 35 });
  expect(rangeOf(100_000, 400, 20, 10_000)).toEqual({ from: 4_985, to: 5_035 });
  expect(rangeOf(0, 400, 20, 3)).toEqual({ from: 0, to: 3 });
});

test("rows are drawn though the frame is scrolled beyond the end of fewer ones", () => {
  expect(rangeOf(9_000, 400, 20, 50)).toEqual({ from: 15, to: 50 });
});

test("going up ends following, the end that moves on does not, and coming back to it begins it again", () => {
  const at = (topPx: number) => ({ topPx, heightPx: 400, wholePx: 2_000 });
  expect(followsOn(true, 1_600, at(1_500), 20)).toBe(false);
  expect(followsOn(true, 1_500, at(1_500), 20)).toBe(true);
  expect(followsOn(false, 1_400, at(1_450), 20)).toBe(false);
  expect(followsOn(false, 1_500, at(1_595), 20)).toBe(true);
});
