import { beforeOf, levelsOf, replacedBy } from "./levels";
import { commonName, waysToGroup } from "./names";
import { reduced } from "./reduce";

export const STEPS_MAX = 300; // of which each has a box of its own; a larger graph is of use to nobody
export const GROUPS_MAX = 120;
export const LINES_MAX = 600;

/** What the graph has to know of a step. */
export interface Drawable {
  readonly id: string;
  readonly needs: readonly string[];
  readonly of?: string | null; // the step that it takes back
  readonly fallback?: string | null; // the step that runs in its place if it fails
  readonly status?: string;
}

/** What stays while steps come and go through their states: what is drawn, and what leads where. */
export interface Shape {
  readonly boxes: readonly BoxShape[];
  readonly lines: readonly LineShape[];
  readonly grouped: number; // how many steps are inside of groups
}

/** What is drawn as one box: a step, or many that are much alike. */
export interface BoxShape {
  readonly key: string;
  readonly level: number;
  readonly name: string; // of the step, or what those of a group have in common
  readonly members: readonly number[]; // their places in the list of steps
}

export interface LineShape {
  readonly from: string; // keys of boxes
  readonly to: string;
  readonly why: Why;
  readonly behind: readonly number[]; // the steps that need something there
}

/** It needs that one, takes it back, or runs in its place. */
export type Why = "needs" | "undo" | "fallback";

/**
 * Boxes and lines: each step a box, or, if steps or lines are too many, groups by level and name, by level, or by
 * several levels. Of groups only those lines are drawn that no others tell.
 */
export function shapeOf(steps: readonly Drawable[]): Shape {
  const levels = levelsOf(steps);
  const level = (step: Drawable) => levels.get(step.id) ?? 0;
  if (steps.length <= STEPS_MAX) {
    const shape = grouping(steps, level, (step) => step.id);
    if (shape.lines.length <= LINES_MAX) return shape;
    const fewer = { ...shape, lines: reducedOf(shape) };
    if (fewer.lines.length <= LINES_MAX) return fewer;
  }
  let deepest = 0;
  for (const each of levels.values()) deepest = Math.max(deepest, each);
  let found: Shape = { boxes: [], lines: [], grouped: 0 };
  for (const way of waysToGroup(level, deepest + 1, GROUPS_MAX)) {
    if (new Set(steps.map(way)).size > GROUPS_MAX) continue;
    const shape = grouping(steps, level, way);
    found = { ...shape, lines: reducedOf(shape) };
    if (found.lines.length <= LINES_MAX) break;
  }
  return found;
}

const reducedOf = ({ boxes, lines }: Shape): LineShape[] =>
  reduced(
    boxes.map((box) => box.key),
    lines,
  );

type Level = (step: Drawable) => number;

function grouping(steps: readonly Drawable[], level: Level, way: (step: Drawable) => string): Shape {
  const members = new Map<string, number[]>();
  steps.forEach((step, place) => {
    const key = way(step);
    const found = members.get(key);
    if (found === undefined) members.set(key, [place]);
    else found.push(place);
  });
  const boxes = [...members].map(([key, places]): BoxShape => {
    const ids = places.map((place) => steps[place]?.id ?? "");
    let first = Infinity;
    for (const place of places) first = Math.min(first, level(steps[place] as Drawable));
    return { key, level: first, name: commonName(ids), members: places };
  });
  boxes.sort((a, b) => a.level - b.level);
  const grouped = boxes.reduce((sum, box) => sum + (box.members.length > 1 ? box.members.length : 0), 0);
  return { boxes, lines: linesOf(boxes, steps), grouped };
}

function linesOf(boxes: readonly BoxShape[], steps: readonly Drawable[]): LineShape[] {
  const boxOf = new Map<string, string>();
  for (const box of boxes) for (const place of box.members) boxOf.set(steps[place]?.id ?? "", box.key);
  const replaced = replacedBy(steps);
  const lines = new Map<string, { from: string; to: string; why: Why; behind: number[] }>();
  for (const box of boxes)
    for (const place of box.members) {
      const step = steps[place] as Drawable;
      for (const [id, why] of beforeOf(step, replaced)) {
        const from = boxOf.get(id);
        if (from === undefined || from === box.key) continue;
        const name = `${from}\n${box.key}`;
        const line = lines.get(name);
        if (line === undefined) lines.set(name, { from, to: box.key, why, behind: [place] });
        else {
          if (line.why !== why) line.why = "needs"; // of a group: the plainest
          line.behind.push(place);
        }
      }
    }
  return [...lines.values()];
}

/** Whether these steps are drawn as those were, whatever has become of each. */
export function sameShape(one: readonly Drawable[], other: readonly Drawable[]): boolean {
  if (one === other) return true;
  if (one.length !== other.length) return false;
  return one.every((step, place) => {
    const now = other[place];
    if (now === step) return true;
    return (
      now !== undefined &&
      now.id === step.id &&
      now.of === step.of &&
      now.fallback === step.fallback &&
      sameList(now.needs, step.needs)
    );
  });
}

function sameList(one: readonly string[], other: readonly string[]): boolean {
  return one === other || (one.length === other.length && one.every((id, place) => id === other[place]));
}
