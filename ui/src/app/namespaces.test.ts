import { expect, test } from "vitest";
import { withHere } from "./namespaces";

const item = (name: string, openRuns = 0) => ({ name, workflows: 1, openRuns });

test("the namespace one is in and the usual one are there though nothing is in them", () => {
  const names = withHere([item("team")], "new", null).map((each) => each.name);
  expect(names).toEqual(["default", "new", "team"]);
});

test("what the server told is not told again", () => {
  expect(withHere([item("default", 3)], "default", null)).toEqual([item("default", 3)]);
});

test("who is of one namespace has that one alone", () => {
  expect(withHere([], "team", "team").map((each) => each.name)).toEqual(["team"]);
});
