import type { NodeFigures, Spreading } from "./types";

const KEPT = 60;

export interface Rates {
  readonly commits: readonly number[]; // a second, the oldest first
  readonly last: NodeFigures | null;
}

export const NO_RATES: Rates = { commits: [], last: null };

/** What was committed between two readings. Another node, or the same one started again, begins anew. */
export function follow(before: Rates, now: NodeFigures): Rates {
  const last = before.last;
  if (last === null || last.node !== now.node || now.commits.count < last.commits.count)
    return { commits: [], last: now };
  const seconds = (Date.parse(now.asOf) - Date.parse(last.asOf)) / 1000;
  if (!(seconds > 0)) return before;
  const rate = (now.commits.count - last.commits.count) / seconds;
  return { commits: [...before.commits, rate].slice(-KEPT), last: now };
}

export type RatesOf = ReadonlyMap<string, Rates>;

/** The same for every node. One that is not told any more is forgotten. */
export function followAll(before: RatesOf, now: readonly NodeFigures[]): RatesOf {
  return new Map(now.map((each) => [each.node, follow(before.get(each.node) ?? NO_RATES, each)]));
}

/** Rows in a commit; null before the first. */
export function rowsPerCommit(figures: NodeFigures): number | null {
  const { count, rows } = figures.commits;
  return count ? rows / count : null;
}

/** Seconds for people, also very short ones: `850 µs`, `1.2 ms`, `3.4 s`. */
export function brief(seconds: number | null): string {
  if (seconds === null) return "–";
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)}\u00a0µs`;
  if (seconds < 1) return `${threeDigits(seconds * 1e3)}\u00a0ms`;
  return `${threeDigits(seconds)}\u00a0s`;
}

const threeDigits = (value: number) => String(Number(value.toPrecision(value >= 100 ? 3 : 2)));

/** Median, p95 and p99 of it. */
export function sharesOf(spread: Spreading): string {
  return spread.count ? [spread.p50, spread.p95, spread.p99].map(brief).join(" · ") : "–";
}
