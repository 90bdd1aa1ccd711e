export type Values = Readonly<Record<string, string | number>>;

const HOLE = /\{(\w+)(?:\|([^|{}]*)\|([^|{}]*))?\}/g;

/** `{name}` is filled in; `{count|run|runs}` becomes the first word for one and the second for others. */
export function format(text: string, values: Values = {}): string {
  return text.replace(HOLE, (whole, name: string, one?: string, many?: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    if (one === undefined || many === undefined) return String(value);
    return Number(value) === 1 ? one : many;
  });
}

/** The names that a text wants, sorted. */
export function holes(text: string): string[] {
  return [...new Set([...text.matchAll(HOLE)].map((found) => found[1] ?? ""))].sort();
}
