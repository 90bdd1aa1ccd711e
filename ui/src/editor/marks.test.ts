import { expect, test } from "vitest";
import { marksOf, spanOf } from "./marks";

const TEXT = "id: hello\nsteps:\n  greet: {kind: nop, with: 3}\n  last:\n";
const at = (line: number, column: number) => ({ line, column, message: "", pointer: "" });
const covered = (line: number, column: number) => {
  const { from, to } = spanOf(TEXT, at(line, column));
  return TEXT.slice(from, to);
};

test("a mark covers the word that stands there", () => {
  expect(covered(1, 5)).toBe("hello");
  expect(covered(3, 17)).toBe("nop");
});

test("a mark covers a quoted text as a whole", () => {
  const text = 'a: "one two", b';
  const { from, to } = spanOf(text, at(1, 4));
  expect(text.slice(from, to)).toBe('"one two"');
});

test("a mark beyond the end of a line covers the line", () => {
  expect(covered(4, 40)).toBe("last:");
});

test("a mark beyond the end of the text stays inside", () => {
  const { from, to } = spanOf("a", at(9, 9));
  expect([from, to]).toEqual([0, 1]);
  expect(spanOf("", at(3, 3))).toEqual({ from: 0, to: 0 });
});

test("faults become marks in the order of the text", () => {
  const marks = marksOf([
    { pointer: "/b", message: "two", line: 7, column: 2 },
    { pointer: "", message: "whole" },
    { pointer: "/a", message: "one", line: 3, column: 1 },
  ]);
  expect(marks.map((mark) => [mark.line, mark.message])).toEqual([
    [1, "whole"],
    [3, "one"],
    [7, "two"],
  ]);
});
