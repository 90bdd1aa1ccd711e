import type { Drawable } from "./shape";

/** How steps can be put together, the finest first. The last one gives no more groups than `most`. */
export function waysToGroup(
  level: (step: Drawable) => number,
  levelCount: number,
  most: number,
): ((step: Drawable) => string)[] {
  const wide = Math.ceil(levelCount / most);
  return [
    (step) => `level:${level(step)}:${stem(step.id)}`,
    (step) => `level:${level(step)}`,
    (step) => `levels:${Math.floor(level(step) / wide)}`,
  ];
}

/** A name without its number: `resize` of `resize-12`, of `resize_12_b`. */
export function stem(id: string): string {
  return id.replace(/[-_.]?\d.*$/, "") || id;
}

/** What steps have in common; of one alone: its id. */
export function commonName(ids: readonly string[]): string {
  const [first = ""] = ids;
  if (ids.length <= 1) return first;
  const stems = new Set(ids.map(stem));
  const [only] = stems;
  return stems.size === 1 ? `${only}…` : `${first} … ${ids.at(-1)}`;
}
