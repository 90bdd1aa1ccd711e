export interface Line {
  readonly n: number;
  readonly stream: string; // stdout, stderr, system
  readonly text: string;
  readonly attempt: number;
}

export const SHOWN_MAX = 5_000;

export interface Printed {
  readonly lines: readonly Line[];
  readonly dropped: number; // of the first ones, that are not shown
}

export const NOTHING: Printed = { lines: [], dropped: 0 };

/** What was printed so far and what has come: the last lines are shown, and no line twice. */
export function append(before: Printed, come: readonly Line[], max = SHOWN_MAX): Printed {
  const last = before.lines.at(-1)?.n ?? 0;
  const fresh = come.filter((line) => line.n > last);
  if (fresh.length === 0) return before;
  const all = [...before.lines, ...fresh];
  const over = Math.max(0, all.length - max);
  return { lines: over ? all.slice(over) : all, dropped: before.dropped + over };
}
