// As core/names.py has it.
export const NAMESPACE = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;
export const DEFAULT = "default";

export interface NamespaceItem {
  readonly name: string;
  readonly workflows: number; // exact up to COUNTED_MAX, as the next one
  readonly openRuns: number;
}

export interface Namespaces {
  readonly items: readonly NamespaceItem[];
}

export const COUNTED_MAX = 1_000;

/** All that have something in them, with the one that the page is about and the usual one; by name. */
export function withHere(
  items: readonly NamespaceItem[],
  here: string,
  own: string | null,
): readonly NamespaceItem[] {
  const found = new Map(items.map((item) => [item.name, item]));
  for (const name of own === null ? [DEFAULT, here] : [own])
    if (!found.has(name)) found.set(name, { name, workflows: 0, openRuns: 0 });
  return [...found.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}
