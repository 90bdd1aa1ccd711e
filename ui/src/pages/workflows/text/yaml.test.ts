import { expect, test } from "vitest";
import { toYaml } from "./yaml";

test("a workflow reads as people write one", () => {
  const document = {
    id: "report",
    inputs: { day: { type: "string", pattern: "\\d{4}" } },
    steps: {
      load: { kind: "http", with: { url: "https://example.org/?day=${{ inputs.day }}" } },
      tell: { kind: "shell", needs: ["load", "other-step"], with: { argv: ["sh", "-c", "echo a, b"] } },
    },
  };
  expect(toYaml(document)).toBe(`id: report
inputs:
  day:
    type: string
    pattern: '\\d{4}'
steps:
  load:
    kind: http
    with:
      url: https://example.org/?day=\${{ inputs.day }}
  tell:
    kind: shell
    needs: [load, other-step]
    with:
      argv: [sh, "-c", "echo a, b"]
`);
});

test("what YAML would take for something else is quoted", () => {
  const tricky = ["true", "No", "null", "3", "2026-01-01", "", "- a", "a: b", "a #b", "#a", "&a", "x ", "*"];
  for (const text of tricky) expect(toYaml({ a: text })).toBe(`a: ${JSON.stringify(text)}\n`);
  expect(toYaml({ on: 1, "a b": 2 })).toBe('"on": 1\n"a b": 2\n');
});

test("other values are what they are", () => {
  expect(toYaml({ a: 3, b: -2.5, c: true, d: null, e: [], f: {} })).toBe(
    "a: 3\nb: -2.5\nc: true\nd: null\ne: []\nf: {}\n",
  );
});

test("text of several lines stays in lines, with its end", () => {
  expect(toYaml({ a: "one\ntwo\n" })).toBe("a: |\n  one\n  two\n");
  expect(toYaml({ a: "one\n\ntwo" })).toBe("a: |-\n  one\n\n  two\n");
  expect(toYaml({ a: "one\n\n" })).toBe("a: |+\n  one\n\n");
  expect(toYaml({ a: " one\ntwo" })).toBe('a: " one\\ntwo"\n');
});

test("lists of objects have their first key beside the dash", () => {
  expect(toYaml({ steps: [{ id: "a", needs: ["b"] }, { id: "b" }] })).toBe(
    "steps:\n  - id: a\n    needs: [b]\n  - id: b\n",
  );
  expect(toYaml({ a: [[1, 2], { b: { c: 1 } }] })).toBe("a:\n  - [1, 2]\n  - b:\n      c: 1\n");
});

test("signs that nobody sees are written out", () => {
  expect(toYaml({ a: "x\u0085y" })).toBe('a: "x\\u0085y"\n');
});
