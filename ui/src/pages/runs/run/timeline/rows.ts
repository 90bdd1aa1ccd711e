import type { StepView } from "../types";
import type { Chart, Row } from "./fold";

export const FOLD_FROM = 20; // items of a step that has more are hidden until they are asked for

export interface Shown {
  readonly row: Row;
  readonly depth: 0 | 1;
  readonly members: number; // items or turns that it has; 0: it is an ordinary step
  readonly open: boolean; // whether they stand below it
}

/** The lines of the chart: steps in the order of the document, then others; items below their step, if it is open. */
export function linesOf(
  chart: Chart,
  steps: readonly Pick<StepView, "id" | "of" | "item">[],
  toggled: ReadonlySet<string>,
): Shown[] {
  const families = new Map<string, Row[]>();
  for (const row of chart.rows.values())
    if (row.of !== null) {
      const family = families.get(row.of);
      if (family === undefined) families.set(row.of, [row]);
      else family.push(row);
    }
  const heads = steps.filter((step) => step.item === null || step.of === null).map((step) => step.id);
  const known = new Set(heads);
  for (const row of chart.rows.values())
    if (!known.has(row.step) && (row.of === null || !(chart.rows.has(row.of) || known.has(row.of))))
      heads.push(row.step);
  const shown: Shown[] = [];
  for (const step of heads) {
    const members = families.get(step) ?? [];
    const usual = members.length > 0 && members.length <= FOLD_FROM;
    const open = members.length > 0 && usual !== toggled.has(step);
    shown.push({ row: chart.rows.get(step) ?? blank(step), depth: 0, members: members.length, open });
    if (open) for (const row of inOrder(members)) shown.push({ row, depth: 1, members: 0, open: false });
  }
  return shown;
}

function inOrder(members: readonly Row[]): Row[] {
  return [...members].sort((a, b) => numberOf(a.step) - numberOf(b.step));
}

const numberOf = (step: string): number => Number(/\[(\d+)\]$/.exec(step)?.[1] ?? 0);

function blank(step: string): Row {
  return { step, of: null, spans: [], status: "waiting", attempts: 0, skipped: "" };
}

export interface Scale {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A moment as a share of the width, 0 to 1, cut off at its edges. */
export function share(scale: Scale, ms: number): number {
  const width = scale.toMs - scale.fromMs;
  return width <= 0 ? 0 : Math.min(1, Math.max(0, (ms - scale.fromMs) / width));
}

const NICE_MS: readonly number[] = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  1e3,
  2e3,
  5e3,
  10e3,
  15e3,
  30e3,
  60e3,
  120e3,
  300e3,
  600e3,
  900e3,
  1800e3,
  3600e3,
  7200e3,
  6 * 3600e3,
  12 * 3600e3,
  86400e3,
  2 * 86400e3,
  7 * 86400e3,
  30 * 86400e3,
];

/** Where the ruler has marks, in milliseconds since `zeroMs`; about `wanted` of them. */
export function ticks(scale: Scale, zeroMs: number, wanted: number): number[] {
  const width = scale.toMs - scale.fromMs;
  const step = NICE_MS.find((nice) => width / nice <= wanted) ?? Math.ceil(width / wanted);
  const first = Math.ceil((scale.fromMs - zeroMs) / step) * step;
  const found: number[] = [];
  for (let at = first; at <= scale.toMs - zeroMs && found.length < 100; at += step) found.push(at);
  return found;
}

/** Nearer or farther, around the middle; never beyond the whole. */
export function zoomed(scale: Scale, whole: Scale, factor: number): Scale {
  const middle = (scale.fromMs + scale.toMs) / 2;
  const half = Math.max(1, ((scale.toMs - scale.fromMs) / 2) * factor);
  return moved({ fromMs: middle - half, toMs: middle + half }, whole, 0);
}

export function moved(scale: Scale, whole: Scale, byMs: number): Scale {
  const width = Math.min(scale.toMs - scale.fromMs, whole.toMs - whole.fromMs);
  const fromMs = Math.min(Math.max(whole.fromMs, scale.fromMs + byMs), whole.toMs - width);
  return { fromMs, toMs: fromMs + width };
}
