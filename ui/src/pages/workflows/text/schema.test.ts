import { expect, test } from "vitest";
import { keysAt, type RootSchema } from "./schema";

const SCHEMA: RootSchema = {
  else: { $ref: "#/$defs/Whole" },
  $defs: {
    Whole: {
      properties: {
        id: { description: "What it is called" },
        steps: { anyOf: [{ additionalProperties: { $ref: "#/$defs/Step" } }, { description: "a list" }] },
      },
    },
    Step: {
      oneOf: [{ properties: { kind: {} } }, { properties: { kind: {}, never: { not: {} }, with: {} } }],
    },
  },
};

test("keys are those that the schema knows at the place", () => {
  expect(keysAt(SCHEMA, [])).toEqual([
    { key: "id", about: "What it is called" },
    { key: "steps", about: "" },
  ]);
  expect(
    keysAt(SCHEMA, ["steps", "greet"])
      .map((known) => known.key)
      .toSorted(),
  ).toEqual(["kind", "with"]);
  expect(keysAt(SCHEMA, ["steps", "greet", "nowhere"])).toEqual([]);
});
