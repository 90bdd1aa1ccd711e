import { expect, test } from "vitest";
import { pathOf } from "./complete";

const ABOVE = ["id: x", "steps:", "  one:", "    kind: noop", '  "two words":', "    with:", "      a: 1"];

test("the path of a line are the keys that it is indented under", () => {
  expect(pathOf(ABOVE, 0)).toEqual([]);
  expect(pathOf(ABOVE, 2)).toEqual(["steps"]);
  expect(pathOf(ABOVE, 4)).toEqual(["steps", "two words"]);
  expect(pathOf(ABOVE, 6)).toEqual(["steps", "two words", "with"]);
});

test("items of lists and comments are no keys", () => {
  expect(pathOf(["a:", "  # b:", "  - c: 1"], 2)).toEqual(["a"]);
});
