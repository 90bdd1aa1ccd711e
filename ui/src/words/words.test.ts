// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { format, holes } from "./format";
import { shared, type Words } from "./index";

const pages = import.meta.glob<{ words?: Words<string> }>("../**/words.ts", { eager: true });
const all: [string, Words<string>][] = [
  ["shared", shared],
  ...Object.entries(pages).flatMap(([path, module]): [string, Words<string>][] =>
    module.words ? [[path, module.words]] : [],
  ),
];

test.each(all)("both languages of %s have the same keys and the same holes", (_, words) => {
  expect(Object.keys(words.zh).sort()).toEqual(Object.keys(words.en).sort());
  for (const key of Object.keys(words.en))
    expect([key, holes(words.zh[key] ?? "")]).toEqual([key, holes(words.en[key] ?? "")]);
});

test.each(all)("no words of %s are empty", (_, words) => {
  for (const language of [words.en, words.zh])
    for (const [key, text] of Object.entries(language)) expect(text.trim(), key).not.toBe("");
});

test("a hole is filled, and a word follows its number", () => {
  expect(format("{who} has {count} {count|run|runs}", { who: "ana", count: 1 })).toBe("ana has 1 run");
  expect(format("{who} has {count} {count|run|runs}", { who: "ana", count: 0 })).toBe("ana has 0 runs");
});

test("a hole that nothing was given for stays visible", () => {
  expect(format("by {who}")).toBe("by {who}");
});
