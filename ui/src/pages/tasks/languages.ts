import type { Worker } from "../workers/types";

export const PROTECTIONS = [
  "filesystem",
  "network",
  "processes",
  "memory_hard",
  "memory_watched",
  "cpu",
  "disk",
  "inodes",
  "seccomp",
  "environment",
] as const;
export type Protection = (typeof PROTECTIONS)[number];

export interface Offer {
  readonly language: string;
  readonly versions: readonly string[]; // whole ones, the newest first
  readonly protections: readonly Protection[]; // that some worker with the language has
}

type Offering = Pick<Worker, "capabilities" | "connected">;

/** What the workers that are connected can run: `code/python/3.11.2` is a version, `sandbox:seccomp` a protection. */
export function offered(workers: readonly Offering[]): Offer[] {
  const versions = new Map<string, Set<string>>();
  const protections = new Map<string, Set<string>>();
  for (const worker of workers) {
    if (!worker.connected) continue;
    const held = worker.capabilities.flatMap((each) => (each.startsWith("sandbox:") ? [each.slice(8)] : []));
    for (const capability of worker.capabilities) {
      const [kind, language, version] = capability.split("/");
      if (kind !== "code" || !language) continue;
      const known = versions.get(language) ?? new Set();
      versions.set(language, version ? known.add(version) : known);
      const has = protections.get(language) ?? new Set();
      protections.set(language, has);
      for (const each of held) has.add(each);
    }
  }
  return [...versions]
    .map(([language, found]) => ({
      language,
      versions: wholeOnes([...found]).sort(newestFirst),
      protections: PROTECTIONS.filter((each) => protections.get(language)?.has(each)),
    }))
    .sort((one, other) => one.language.localeCompare(other.language));
}

/** `3` and `3.11` are only how `3.11.2` begins. */
function wholeOnes(versions: readonly string[]): string[] {
  return versions.filter((version) => !versions.some((other) => other.startsWith(`${version}.`)));
}

export function newestFirst(one: string, other: string): number {
  const [a, b] = [one.split(".").map(Number), other.split(".").map(Number)];
  for (let place = 0; place < Math.max(a.length, b.length); place++) {
    const difference = (b[place] ?? 0) - (a[place] ?? 0);
    if (difference) return difference;
  }
  return 0;
}

/** The one that is asked for if somebody runs it; else Python, else the first. */
export function chosenOf(offers: readonly Offer[], asked: string): Offer | null {
  return (
    offers.find((offer) => offer.language === asked) ??
    offers.find((offer) => offer.language === "python") ??
    offers[0] ??
    null
  );
}
