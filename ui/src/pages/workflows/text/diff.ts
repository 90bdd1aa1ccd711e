export interface DiffRow {
  readonly kind: "same" | "gone" | "new";
  readonly before: number | null; // its line, from 1
  readonly after: number | null;
  readonly text: string;
}
export interface Fold {
  readonly kind: "fold";
  readonly count: number; // lines that are the same, and left out
}

const EDITS_MAX = 600; // beyond, what lies between is told as replaced

/** Two texts line by line, with as few lines gone or new as there can be. */
export function diff(before: string, after: string): DiffRow[] {
  const one = linesOf(before);
  const two = linesOf(after);
  let head = 0;
  while (head < one.length && head < two.length && one[head] === two[head]) head++;
  let tail = 0;
  while (
    tail < Math.min(one.length, two.length) - head &&
    one[one.length - 1 - tail] === two[two.length - 1 - tail]
  )
    tail++;
  const moves = shortest(one.slice(head, one.length - tail), two.slice(head, two.length - tail));
  const rows: DiffRow[] = [];
  let b = 0;
  let a = 0;
  const same = () => rows.push({ kind: "same", before: ++b, after: ++a, text: one[b - 1] ?? "" });
  for (let count = 0; count < head; count++) same();
  for (const move of moves) {
    if (move === "same") same();
    else if (move === "gone") rows.push({ kind: "gone", before: ++b, after: null, text: one[b - 1] ?? "" });
    else rows.push({ kind: "new", before: null, after: ++a, text: two[a - 1] ?? "" });
  }
  for (let count = 0; count < tail; count++) same();
  return rows;
}

/** Long stretches that are the same become one row. */
export function folded(rows: readonly DiffRow[], around = 3): (DiffRow | Fold)[] {
  const near = new Set<number>();
  rows.forEach((row, index) => {
    if (row.kind !== "same") for (let at = index - around; at <= index + around; at++) near.add(at);
  });
  const shown: (DiffRow | Fold)[] = [];
  for (const [index, row] of rows.entries()) {
    if (near.has(index)) shown.push(row);
    else {
      const last = shown.at(-1);
      if (last?.kind === "fold") shown[shown.length - 1] = { kind: "fold", count: last.count + 1 };
      else shown.push({ kind: "fold", count: 1 });
    }
  }
  return shown;
}

type Move = DiffRow["kind"];

/** Myers: the furthest that can be got with 0, 1, 2 … edits on each diagonal, and the way back. */
function shortest(one: readonly string[], two: readonly string[]): Move[] {
  // Where one of them is empty, or they are too far apart in length, there is nothing to look for.
  if (!one.length || !two.length || Math.abs(one.length - two.length) > EDITS_MAX) return replaced(one, two);
  const most = Math.min(one.length + two.length, EDITS_MAX);
  const reach = new Map<number, number>([[1, 0]]);
  const trail: Map<number, number>[] = [];
  for (let edits = 0; edits <= most; edits++) {
    trail.push(new Map(reach));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = isDown(reach, diagonal, edits) ? far(reach, diagonal + 1) : far(reach, diagonal - 1) + 1;
      let y = x - diagonal;
      while (x < one.length && y < two.length && one[x] === two[y]) (x++, y++);
      reach.set(diagonal, x);
      if (x >= one.length && y >= two.length) return back(trail, one.length, two.length);
    }
  }
  return replaced(one, two);
}

function replaced(one: readonly string[], two: readonly string[]): Move[] {
  return [...one.map((): Move => "gone"), ...two.map((): Move => "new")];
}

function back(trail: readonly Map<number, number>[], toX: number, toY: number): Move[] {
  const moves: Move[] = [];
  let x = toX;
  let y = toY;
  for (const [edits, reach] of [...trail.entries()].toReversed()) {
    const diagonal = x - y;
    const from = isDown(reach, diagonal, edits) ? diagonal + 1 : diagonal - 1;
    const beforeX = edits ? far(reach, from) : 0;
    const beforeY = edits ? beforeX - from : 0;
    while (x > beforeX && y > beforeY) {
      moves.push("same");
      x--;
      y--;
    }
    if (!edits) break;
    moves.push(x === beforeX ? "new" : "gone");
    x = beforeX;
    y = beforeY;
  }
  return moves.reverse();
}

function isDown(reach: ReadonlyMap<number, number>, diagonal: number, edits: number): boolean {
  return diagonal === -edits || (diagonal !== edits && far(reach, diagonal - 1) < far(reach, diagonal + 1));
}

function far(reach: ReadonlyMap<number, number>, diagonal: number): number {
  return reach.get(diagonal) ?? 0;
}

function linesOf(text: string): string[] {
  if (text === "") return [];
  return text.replace(/\n$/, "").split("\n");
}
