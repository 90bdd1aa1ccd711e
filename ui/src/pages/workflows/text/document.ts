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
}

/** The steps of a document, written by their ids or as a list. */
export function stepsOf(document: Document): Step[] {
  const { steps } = document;
  if (Array.isArray(steps)) return steps.map((step) => stepOf(text(part(step, "id")), step));
  if (isMap(steps)) return Object.entries(steps).map(([id, step]) => stepOf(id, step));
  return [];
}

function stepOf(id: string, step: JsonValue): Step {
  const needs = part(step, "needs");
  return {
    id,
    kind: text(part(step, "kind")),
    needs: Array.isArray(needs) ? needs.map(text) : needs ? [text(needs)] : [],
    when: text(part(step, "when")),
  };
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
