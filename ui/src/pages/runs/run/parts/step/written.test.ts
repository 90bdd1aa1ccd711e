import { expect, test } from "vitest";
import { writtenInput } from "./written";

const STEPS = {
  fetch: { kind: "http", with: { url: "https://shop" }, undo: { kind: "noop", with: { value: 0 } } },
  each: { kind: "map", with: { over: [1, 2], step: { kind: "noop", with: { value: "${{ item }}" } } } },
  rest: { kind: "noop" },
};
const step = (id: string, of: string | null = null, item: number | null = null) => ({ id, of, item });

test("a step was given what its document says", () => {
  expect(writtenInput({ steps: STEPS }, step("fetch"))).toEqual({ url: "https://shop" });
  expect(writtenInput({ steps: STEPS }, step("rest"))).toBeNull();
});

test("steps may be written as a list", () => {
  const steps = [{ id: "a", kind: "noop", with: { value: 1 } }];
  expect(writtenInput({ steps }, step("a"))).toEqual({ value: 1 });
  expect(writtenInput({ steps }, step("b"))).toBeNull();
});

test("an item was given what its map says of each, and an undo what it says itself", () => {
  expect(writtenInput({ steps: STEPS }, step("each[1]", "each", 1))).toEqual({ value: "${{ item }}" });
  expect(writtenInput({ steps: STEPS }, step("undo:fetch", "fetch"))).toEqual({ value: 0 });
});
