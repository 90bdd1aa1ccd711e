import { isExact, parseJson } from "../api/exact";
import type { JsonValue } from "../components";

export type InputType = "any" | "string" | "integer" | "number" | "boolean" | "list" | "object";
export type InputObject = Readonly<Record<string, JsonValue>>;

/** What a document says of one input. */
export interface InputSpec {
  readonly name: string;
  readonly type: InputType;
  readonly required: boolean;
  readonly preset?: JsonValue; // its default
  readonly options?: readonly JsonValue[]; // its enum
  readonly pattern?: string;
  readonly min?: number;
  readonly max?: number;
  readonly about: string;
}

export type FaultKey =
  | "needed"
  | "notInteger"
  | "notNumber"
  | "notJson"
  | "notList"
  | "notObject"
  | "tooSmall"
  | "tooLarge"
  | "tooShort"
  | "tooLong"
  | "noMatch";
export interface FieldFault {
  readonly key: FaultKey;
  readonly values?: Readonly<Record<string, string | number>>;
}
export type Read =
  | { readonly given: true; readonly value: JsonValue }
  | { readonly given: false }
  | { readonly given: false; readonly fault: FieldFault };

const TYPES: readonly InputType[] = ["any", "string", "integer", "number", "boolean", "list", "object"];

/** The inputs of a document in their order; null: it declares none, and takes anything. */
export function specsOf(inputs: unknown): InputSpec[] | null {
  if (!isObject(inputs)) return null;
  return Object.entries(inputs).map(([name, said]) => {
    const spec: Record<string, unknown> = isObject(said) ? said : { type: said };
    return {
      name,
      type: TYPES.find((type) => type === spec.type) ?? "any",
      required: spec.required === true,
      about: typeof spec.description === "string" ? spec.description : "",
      ...("default" in spec ? { preset: spec.default as JsonValue } : {}),
      ...(Array.isArray(spec.enum) ? { options: spec.enum as JsonValue[] } : {}),
      ...(typeof spec.pattern === "string" ? { pattern: spec.pattern } : {}),
      ...(typeof spec.min === "number" ? { min: spec.min } : {}),
      ...(typeof spec.max === "number" ? { max: spec.max } : {}),
    };
  });
}

/** How a value stands in its field. */
export function textOf(spec: InputSpec, value: JsonValue | undefined): string {
  if (value === undefined || (value === null && spec.preset === null)) return "";
  if (spec.options) return JSON.stringify(value);
  if (typeof value === "string") {
    if (spec.type === "string") return value;
    return spec.type === "any" && !isJson(value) ? value : JSON.stringify(value);
  }
  return spec.type === "list" || spec.type === "object" || (spec.type === "any" && typeof value === "object")
    ? JSON.stringify(value, null, 2)
    : JSON.stringify(value);
}

/** What is in the fields at first: what was given before, else the defaults. */
export function textsOf(specs: readonly InputSpec[], value: InputObject): Record<string, string> {
  return Object.fromEntries(
    specs.map((spec) => [
      spec.name,
      textOf(spec, Object.hasOwn(value, spec.name) ? value[spec.name] : spec.preset),
    ]),
  );
}

/** What a field says: a value, nothing (then the default holds), or a mistake. */
export function read(spec: InputSpec, text: string): Read {
  if (text === "" || (spec.type !== "string" && !text.trim())) {
    if (spec.required && spec.preset === undefined) return wrong("needed");
    return { given: false };
  }
  if (spec.options) return { given: true, value: parseJson<JsonValue>(text) };
  const parsed = parse(spec.type, text);
  if ("fault" in parsed) return { given: false, fault: parsed.fault };
  const fault = bounds(spec, parsed.value);
  return fault ? { given: false, fault } : { given: true, value: parsed.value };
}

/** All fields together. */
export function readAll(
  specs: readonly InputSpec[],
  texts: Readonly<Record<string, string>>,
): { value: Record<string, JsonValue>; faults: Record<string, FieldFault> } {
  const value: Record<string, JsonValue> = {};
  const faults: Record<string, FieldFault> = {};
  for (const spec of specs) {
    const found = read(spec, texts[spec.name] ?? "");
    if (found.given) value[spec.name] = found.value;
    else if ("fault" in found) faults[spec.name] = found.fault;
  }
  return { value, faults };
}

function parse(type: InputType, text: string): { value: JsonValue } | { fault: FieldFault } {
  switch (type) {
    case "string":
      return { value: text };
    case "integer":
      return /^\s*[-+]?\d+\s*$/.test(text) ? { value: wholeOf(text) } : { fault: { key: "notInteger" } };
    case "number":
      return Number.isFinite(Number(text)) ? { value: Number(text) } : { fault: { key: "notNumber" } };
    case "any":
      return { value: isJson(text) ? parseJson<JsonValue>(text) : text };
    case "boolean":
    case "list":
    case "object": {
      if (!isJson(text)) return { fault: { key: "notJson" } };
      const value = parseJson<JsonValue>(text);
      if (type === "list" && !Array.isArray(value)) return { fault: { key: "notList" } };
      if (type === "object" && !isObject(value)) return { fault: { key: "notObject" } };
      return { value };
    }
  }
}

/** As JSON has it, which knows neither a plus nor zeros in front: all digits stay. */
function wholeOf(text: string): JsonValue {
  return parseJson<JsonValue>(text.trim().replace(/^\+?(-?)0*(?=\d)/, "$1"));
}

function bounds(spec: InputSpec, value: JsonValue): FieldFault | null {
  const { min = -Infinity, max = Infinity } = spec;
  if (typeof value === "number") {
    if (value < min) return { key: "tooSmall", values: { min } };
    if (value > max) return { key: "tooLarge", values: { max } };
  }
  if (typeof value === "string" || Array.isArray(value)) {
    const length = typeof value === "string" ? [...value].length : value.length;
    if (length < min) return { key: "tooShort", values: { min } };
    if (length > max) return { key: "tooLong", values: { max } };
  }
  if (typeof value === "string" && spec.pattern && !matches(spec.pattern, value))
    return { key: "noMatch", values: { pattern: spec.pattern } };
  return null;
}

/** As far as the browser understands the pattern; the server has the last word. */
function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(`^(?:${pattern})$`, "u").test(text);
  } catch {
    return true;
  }
}

function wrong(key: FaultKey): Read {
  return { given: false, fault: { key } };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isExact(value);
}
