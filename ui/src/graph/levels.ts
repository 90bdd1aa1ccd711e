import type { Drawable, Why } from "./shape";

/** For each step that runs in the place of others: which. */
export function replacedBy(steps: readonly Drawable[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const { id, fallback } of steps) {
    if (fallback == null) continue;
    const others = found.get(fallback);
    if (others === undefined) found.set(fallback, [id]);
    else others.push(id);
  }
  return found;
}

/** What has to be there before a step is: what it needs, what it takes back, and what it may have to stand in for. */
export function beforeOf(step: Drawable, replaced: ReturnType<typeof replacedBy>): readonly [string, Why][] {
  const before = step.needs.map((id): [string, Why] => [id, "needs"]);
  if (step.of != null) before.unshift([step.of, "undo"]);
  for (const id of replaced.get(step.id) ?? []) before.push([id, "fallback"]);
  return before;
}

/** How far each step is from the beginning: one more than the farthest of those it needs. */
export function levelsOf(steps: readonly Drawable[]): Map<string, number> {
  const known = new Set(steps.map((step) => step.id));
  const levels = new Map<string, number>();
  const waits = new Map<string, number>();
  const next = new Map<string, string[]>();
  const replaced = replacedBy(steps);
  for (const step of steps) {
    const before = beforeOf(step, replaced)
      .map(([id]) => id)
      .filter((id) => known.has(id));
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
