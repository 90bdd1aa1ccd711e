import type { Drawable } from "./shape";

/** What has to be there before a step is: what it needs, and what it takes back. */
export const beforeOf = (step: Drawable): readonly string[] =>
  step.of == null ? step.needs : [step.of, ...step.needs];

/** How far each step is from the beginning: one more than the farthest of those it needs. */
export function levelsOf(steps: readonly Drawable[]): Map<string, number> {
  const known = new Set(steps.map((step) => step.id));
  const levels = new Map<string, number>();
  const waits = new Map<string, number>();
  const next = new Map<string, string[]>();
  for (const step of steps) {
    const before = beforeOf(step).filter((id) => known.has(id));
    waits.set(step.id, before.length);
    for (const id of before) {
      const followers = next.get(id);
      if (followers === undefined) next.set(id, [step.id]);
      else followers.push(step.id);
    }
  }
  const ready = steps.filter((step) => waits.get(step.id) === 0).map((step) => step.id);
  for (const id of ready) levels.set(id, 0);
  for (let at = 0; at < ready.length; at++) {
    const id = ready[at] ?? "";
    for (const follower of next.get(id) ?? []) {
      levels.set(follower, Math.max(levels.get(follower) ?? 0, (levels.get(id) ?? 0) + 1));
      const left = (waits.get(follower) ?? 0) - 1;
      waits.set(follower, left);
      if (left === 0) ready.push(follower);
    }
  }
  return levels;
}
