import { parseJson } from "../../api/exact";
import type { JsonValue } from "../../components";

/** What stands in the JSON field; null: it is no JSON. Nothing at all is no input. */
export function parseInput(text: string): { value: JsonValue | undefined } | null {
  if (!text.trim()) return { value: undefined };
  try {
    return { value: parseJson<JsonValue>(text) };
  } catch {
    return null;
  }
}

/** `team=a` on each line, or with commas between; null: some line is none. */
export function parseLabels(text: string): Record<string, string> | null {
  const labels: Record<string, string> = {};
  for (const line of text.split(/[\n,]/)) {
    if (!line.trim()) continue;
    const at = line.indexOf("=");
    if (at < 1) return null;
    labels[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return labels;
}
