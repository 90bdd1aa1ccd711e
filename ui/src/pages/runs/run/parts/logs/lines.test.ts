import { expect, test } from "vitest";
import { attemptsIn, findIn, nextFound, ofAttempt, piecesOf, textOf, type LogLine } from "./lines";

const line = (n: number, text: string, attempt = 1): LogLine => ({
  n,
  at: "2026-01-01T00:00:00Z",
  step: "load",
  attempt,
  stream: n % 2 ? "stdout" : "stderr",
  text,
});
const LINES = [line(1, "begin"), line(2, "An Error"), line(3, "again", 2), line(4, "error: error", 2)];

test("lines are shown of one attempt or of all", () => {
  expect(attemptsIn(LINES)).toEqual([1, 2]);
  expect(ofAttempt(LINES, 2).map((each) => each.n)).toEqual([3, 4]);
  expect(ofAttempt(LINES, null)).toBe(LINES);
});

test("capital letters do not matter to the search", () => {
  expect(findIn(LINES, "ERROR")).toEqual([2, 4]);
  expect(findIn(LINES, "")).toEqual([]);
});

test("the search begins at the end and goes round", () => {
  expect(nextFound([2, 4, 9], null, true)).toBe(9);
  expect(nextFound([2, 4, 9], 9, true)).toBe(2);
  expect(nextFound([2, 4, 9], 2, false)).toBe(9);
  expect(nextFound([2, 4, 9], 5, true)).toBe(9);
  expect(nextFound([], null, true)).toBeNull();
});

test("a line is cut up at every place that was found", () => {
  const pieces = piecesOf("error: Error!", "error");
  expect(pieces.map((piece) => [piece.text, piece.found])).toEqual([
    ["error", true],
    [": ", false],
    ["Error", true],
    ["!", false],
  ]);
});

test("a text whose small letters have another length is left whole", () => {
  expect(piecesOf("İstanbul error", "error")).toEqual([{ text: "İstanbul error", found: false }]);
});

test("copied lines say when, where and what", () => {
  expect(textOf([line(2, "no", 3)])).toBe("2026-01-01T00:00:00Z load#3 stderr no\n");
});
