import type { WorkerWord } from "../words";
import type { KeyPart } from "./types";

// What the parts of a key are, by strategy (core/assign/keys.py).
const PARTS: Readonly<Record<string, readonly WorkerWord[]>> = {
  "round-robin": ["part.turn"],
  "load-balanced": ["part.load"],
  capability: ["part.spare", "part.load"],
  locality: ["part.distance", "part.load"],
  weighted: ["part.score"],
};
const DISTANCES: readonly WorkerWord[] = ["distance.0", "distance.1", "distance.2", "distance.3"];

export interface ShownPart {
  readonly name: WorkerWord | null;
  readonly value: string;
  readonly more: WorkerWord | null;
}

/** `adaptive: locality` follows locality. */
export const followed = (strategy: string): string => strategy.split(": ").at(-1) ?? strategy;

/** A key, part by part, for people. */
export function partsOf(strategy: string, key: readonly KeyPart[]): ShownPart[] {
  const names = PARTS[followed(strategy)] ?? [];
  return key.map((value, place) => {
    const name = names[place] ?? null;
    return {
      name,
      value: typeof value === "number" ? String(Math.round(value * 1000) / 1000) : value,
      more: name === "part.distance" && typeof value === "number" ? (DISTANCES[value] ?? null) : null,
    };
  });
}

/** `the first free slot`: nobody was free, so there was nothing to choose. */
export const isFirstFree = (strategy: string): boolean => strategy === "the first free slot";
