interface Way {
  readonly from: string;
  readonly to: string;
}

/**
 * Without the lines that others tell as well: of a → b, b → c and a → c the last one goes. What comes after what
 * can be read all the same, and there is far less to place and to draw.
 */
export function reduced<L extends Way>(keys: readonly string[], lines: readonly L[]): L[] {
  const place = new Map(keys.map((key, index) => [key, index]));
  const next: number[][] = keys.map(() => []);
  for (const line of lines) next[place.get(line.from) ?? -1]?.push(place.get(line.to) ?? -1);
  const beyond = reachOf(next);
  return lines.filter((line) => {
    const to = place.get(line.to) ?? -1;
    const beside = next[place.get(line.from) ?? -1] ?? [];
    return !beside.some((other) => other !== to && beyond[other]?.has(to));
  });
}

/** All that can be come to from each. */
function reachOf(next: readonly (readonly number[])[]): readonly ReadonlySet<number>[] {
  const reach: Set<number>[] = next.map(() => new Set());
  for (const from of lastFirst(next))
    for (const to of next[from] ?? []) {
      reach[from]?.add(to);
      for (const further of reach[to] ?? []) reach[from]?.add(further);
    }
  return reach;
}

/** Each after all that follow it. Without recursion: chains are long. */
function lastFirst(next: readonly (readonly number[])[]): number[] {
  const found: number[] = [];
  const seen = new Set<number>();
  for (let start = 0; start < next.length; start++) {
    const open: [number, number][] = seen.has(start) ? [] : [[start, 0]];
    seen.add(start);
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const follower = next[top[0]]?.[top[1]++];
      if (follower === undefined) {
        found.push(top[0]);
        open.pop();
      } else if (follower >= 0 && !seen.has(follower)) {
        seen.add(follower);
        open.push([follower, 0]);
      }
    }
  }
  return found;
}
