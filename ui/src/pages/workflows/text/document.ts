import type { JsonValue } from "../../../components";
import type { Document } from "../types";
import { toYaml } from "./yaml";

/** What the server adds when it answers: not part of what was written. */
const ADDED = ["version", "metadata"];
const BLANK = ["name", "description"];

/** A document as it was written, without what the server added. Graphs come as they were written. */
export function written(answered: Document): Document {
  if (!("steps" in answered)) return answered;
  return Object.fromEntries(
    Object.entries(answered).filter(
      ([key, value]) => !ADDED.includes(key) && !(BLANK.includes(key) && value === ""),
    ),
  );
}

export function textOf(answered: Document): string {
  return toYaml(written(answered));
}

export interface Step {
  readonly id: string;
  readonly kind: string;
  readonly needs: readonly string[];
  readonly when: string;
  readonly fallback: string | null; // the step that runs in its place if it fails
}

/** The steps of a document, written by their ids or as a list. What a switch names needs it, without saying so. */
export function stepsOf(document: Document): Step[] {
  const written = entriesOf(document.steps);
  const switched = new Map<string, string[]>();
  for (const [id, step] of written)
    for (const named of namedBy(step)) switched.set(named, [...(switched.get(named) ?? []), id]);
  return written.map(([id, step]) => stepOf(id, step, switched.get(id) ?? []));
}

function entriesOf(steps: JsonValue | undefined): [string, JsonValue][] {
  if (Array.isArray(steps)) return steps.map((step) => [text(part(step, "id")), step]);
  return isMap(steps) ? Object.entries(steps) : [];
}

/** The steps that a switch decides about. */
function namedBy(step: JsonValue): Set<string> {
  if (part(step, "kind") !== "switch") return new Set();
  const said = part(step, "with");
  const cases = part(said, "cases");
  const thens = Array.isArray(cases) ? cases.map((each) => part(each, "then")) : [];
  return new Set([...thens, part(said, "default")].flatMap(listOf));
}

function stepOf(id: string, step: JsonValue, switches: readonly string[]): Step {
  const fallback = part(part(step, "on_failure"), "fallback");
  return {
    id,
    kind: text(part(step, "kind")),
    needs: [...new Set([...listOf(part(step, "needs")), ...switches])],
    when: text(part(step, "when")),
    fallback: typeof fallback === "string" ? fallback : null,
  };
}

/** One name, or several. */
function listOf(value: JsonValue): string[] {
  if (Array.isArray(value)) return value.map(text);
  return value === null || value === "" ? [] : [text(value)];
}

function part(value: JsonValue, key: string): JsonValue {
  return isMap(value) ? (value[key] ?? null) : null;
}

function text(value: JsonValue): string {
  return typeof value === "string" ? value : value === null ? "" : JSON.stringify(value);
}

function isMap(value: JsonValue | undefined): value is Document {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
