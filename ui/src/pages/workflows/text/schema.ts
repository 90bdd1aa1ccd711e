import type { KnownKey } from "../../../editor/complete";

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly then?: Schema;
  readonly else?: Schema;
  readonly not?: unknown;
  readonly description?: string;
}
export interface RootSchema extends Schema {
  readonly $defs?: Readonly<Record<string, Schema>>;
}

const EXPANDED_MAX = 500;

/** The keys that a JSON Schema knows at a place: `["steps", "greet"]`. */
export function keysAt(root: RootSchema, path: readonly string[]): KnownKey[] {
  let here = expand(root, [root]);
  for (const segment of path) {
    const inside = here.flatMap((schema) => {
      const named = schema.properties?.[segment];
      if (named) return [named];
      return typeof schema.additionalProperties === "object" ? [schema.additionalProperties] : [];
    });
    here = expand(root, inside);
  }
  const found = new Map<string, string>();
  for (const schema of here)
    for (const [key, value] of Object.entries(schema.properties ?? {}))
      if (value.not === undefined && !found.get(key)) found.set(key, value.description ?? "");
  return [...found].map(([key, about]) => ({ key, about }));
}

/** All that a place may be, references followed. */
function expand(root: RootSchema, schemas: readonly Schema[]): Schema[] {
  const seen = new Set<Schema>();
  const waiting = [...schemas];
  while (waiting.length && seen.size < EXPANDED_MAX) {
    const schema = waiting.pop();
    if (schema === undefined || seen.has(schema)) continue;
    seen.add(schema);
    const referred = schema.$ref && root.$defs?.[schema.$ref.replace("#/$defs/", "")];
    if (referred) waiting.push(referred);
    waiting.push(...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? []));
    if (schema.then) waiting.push(schema.then);
    if (schema.else) waiting.push(schema.else);
  }
  return [...seen];
}
