import { expect, test } from "vitest";
import { read, readAll, specsOf, textOf, textsOf, type InputSpec } from "./fields";

const spec = (more: Partial<InputSpec>): InputSpec => ({
  name: "x",
  type: "string",
  required: false,
  about: "",
  ...more,
});
const fault = (more: Partial<InputSpec>, text: string) => {
  const found = read(spec(more), text);
  return "fault" in found ? found.fault.key : null;
};

test("a document's inputs become specs, also in their short form", () => {
  const specs = specsOf({ day: "string", count: { type: "integer", default: 3, min: 1 }, odd: {} });
  expect(specs).toEqual([
    { name: "day", type: "string", required: false, about: "" },
    { name: "count", type: "integer", required: false, about: "", preset: 3, min: 1 },
    { name: "odd", type: "any", required: false, about: "" },
  ]);
  expect(specsOf(undefined)).toBeNull();
});

test("what is left empty is not given, unless it has to be", () => {
  expect(read(spec({}), "")).toEqual({ given: false });
  expect(fault({ required: true }, "")).toBe("needed");
  expect(fault({ required: true, preset: "x" }, "")).toBeNull();
});

test("texts stay texts, numbers become numbers", () => {
  expect(read(spec({}), "3")).toEqual({ given: true, value: "3" });
  expect(read(spec({ type: "integer" }), " 42 ")).toEqual({ given: true, value: 42 });
  expect(read(spec({ type: "number" }), "2.5")).toEqual({ given: true, value: 2.5 });
  expect(fault({ type: "integer" }, "2.5")).toBe("notInteger");
  expect(fault({ type: "number" }, "two")).toBe("notNumber");
});

test("anything is JSON where it is, and text where it is not", () => {
  expect(read(spec({ type: "any" }), "[1]")).toEqual({ given: true, value: [1] });
  expect(read(spec({ type: "any" }), "plain words")).toEqual({ given: true, value: "plain words" });
});

test("lists and objects are JSON of their kind", () => {
  expect(read(spec({ type: "list" }), "[1, 2]")).toEqual({ given: true, value: [1, 2] });
  expect(fault({ type: "list" }, "{}")).toBe("notList");
  expect(fault({ type: "object" }, "[]")).toBe("notObject");
  expect(fault({ type: "object" }, "{a")).toBe("notJson");
});

test("bounds are of numbers, and of the length of texts and lists", () => {
  expect(fault({ type: "integer", min: 1 }, "0")).toBe("tooSmall");
  expect(fault({ type: "number", max: 2 }, "2.1")).toBe("tooLarge");
  expect(fault({ min: 2 }, "a")).toBe("tooShort");
  expect(fault({ max: 2 }, "世界")).toBeNull();
  expect(fault({ type: "list", max: 1 }, "[1, 2]")).toBe("tooLong");
});

test("a pattern is for all of the text; one that browsers do not know is left to the server", () => {
  expect(fault({ pattern: "\\d{4}" }, "2026")).toBeNull();
  expect(fault({ pattern: "\\d{4}" }, "20261")).toBe("noMatch");
  expect(fault({ pattern: "(?P<y>" }, "x")).toBeNull();
});

test("choices go through as what they are", () => {
  const options = ["a", 1, null];
  expect(options.map((each) => read(spec({ options }), textOf(spec({ options }), each)))).toEqual(
    options.map((value) => ({ given: true, value })),
  );
});

test("what is read back is what was shown", () => {
  const cases: [InputSpec["type"], unknown][] = [
    ["any", "3"],
    ["any", "words"],
    ["any", { a: [1] }],
    ["boolean", false],
    ["list", []],
    ["string", "true"],
  ];
  for (const [type, value] of cases)
    expect(read(spec({ type }), textOf(spec({ type }), value as never))).toEqual({ given: true, value });
});

test("what is null unless it is given begins empty, and is left to the default", () => {
  const optional = spec({ name: "note", type: "string", preset: null });
  expect(textsOf([optional], { note: null })).toEqual({ note: "" });
  expect(readAll([optional], { note: "" })).toEqual({ value: {}, faults: {} });
});

test("fields begin with what was given, else with the defaults", () => {
  const specs = [spec({ name: "a", preset: "one" }), spec({ name: "b", preset: "two" }), spec({ name: "c" })];
  expect(textsOf(specs, { b: "mine" })).toEqual({ a: "one", b: "mine", c: "" });
  expect(readAll(specs, { a: "one", b: "", c: "x" })).toEqual({ value: { a: "one", c: "x" }, faults: {} });
});
