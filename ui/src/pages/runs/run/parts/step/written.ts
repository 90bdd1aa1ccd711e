import type { JsonValue } from "../../../../../components";
import type { StepView } from "../../types";

type Map = Readonly<Record<string, JsonValue>>;

/** What the document says the step is given, before anything is filled in; null: nothing. */
export function writtenInput(document: Map, step: Pick<StepView, "id" | "of" | "item">): JsonValue {
  if (step.of === null) return withOf(stepIn(document.steps, step.id));
  const owner = stepIn(document.steps, step.of);
  // With no item it takes back what its owner did.
  return withOf(step.item === null ? partOf(owner, "undo") : partOf(withOf(owner), "step"));
}

function withOf(step: JsonValue): JsonValue {
  const given = partOf(step, "with");
  return isMap(given) && Object.keys(given).length > 0 ? given : null;
}

/** Steps are written by their ids or as a list. */
function stepIn(steps: JsonValue | undefined, id: string): JsonValue {
  if (Array.isArray(steps)) return steps.find((step) => partOf(step, "id") === id) ?? null;
  return partOf(steps ?? null, id);
}

function partOf(value: JsonValue, key: string): JsonValue {
  return isMap(value) ? (value[key] ?? null) : null;
}

function isMap(value: JsonValue | undefined): value is Map {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
