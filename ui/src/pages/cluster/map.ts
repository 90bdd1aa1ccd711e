import type { ClusterNode, Shard } from "./types";

/** How a node is drawn: a hue and a letter, so that nobody has to tell colours apart. */
export interface Mark {
  readonly letter: string;
  readonly hue: number;
}

/** That a shard changed hands. */
export interface Moved {
  readonly from: string;
  readonly at: string;
  readonly lately: boolean;
}

/** So long it is worth a look. */
export const LATELY_MS = 30_000;

export interface Cell {
  readonly number: number;
  readonly owner: ClusterNode | null;
  readonly mark: Mark | null;
  readonly movingTo: string | null;
  readonly moved: Moved | null; // null: nobody else had it before
  readonly entities: number;
  readonly epoch: number;
}

const HUES = [174, 217, 38, 280, 95, 335, 15, 250] as const;
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** By the order of names, which is the same each time: a node keeps its colour while others come and go at its end. */
export function marks(nodes: readonly ClusterNode[]): ReadonlyMap<string, Mark> {
  const owners = nodes
    .filter((node) => node.roles.includes("engine"))
    .map((node) => node.name)
    .sort();
  return new Map(
    owners.map((name, index) => [
      name,
      {
        letter: letterOf(index),
        hue: HUES[index % HUES.length] ?? 0,
      },
    ]),
  );
}

function letterOf(index: number): string {
  const turn = Math.floor(index / LETTERS.length);
  return `${LETTERS[index % LETTERS.length] ?? "?"}${turn ? turn : ""}`;
}

/** `nowMs`: by the clock of the server, which is not ours. */
export function cells(
  shards: readonly Shard[],
  nodes: readonly ClusterNode[],
  nowMs: number,
): readonly Cell[] {
  const drawn = marks(nodes);
  const living = new Map(
    nodes.filter((node) => node.state !== "dead").map((node) => [node.address, node] as const),
  );
  return shards.map((shard) => {
    const owner = shard.location === null ? null : (living.get(shard.location) ?? null);
    return {
      number: Number(shard.shardId),
      owner,
      mark: owner === null ? null : (drawn.get(owner.name) ?? null),
      movingTo: shard.movingTo,
      moved: movedOf(shard, owner, nowMs),
      entities: shard.entityCount,
      epoch: shard.epoch,
    };
  });
}

function movedOf(shard: Shard, owner: ClusterNode | null, nowMs: number): Moved | null {
  const { movedAt, movedFrom } = shard;
  if (movedAt === null || movedFrom === null || movedFrom === owner?.name) return null;
  return { from: movedFrom, at: movedAt, lately: nowMs - Date.parse(movedAt) < LATELY_MS };
}

export interface LegendLine {
  readonly name: string | null; // null: shards of nobody
  readonly mark: Mark | null;
  readonly shards: number;
  readonly moving: number; // of these, away from it
  readonly come: number; // of these, to it of late
}

export function legend(all: readonly Cell[], nodes: readonly ClusterNode[]): readonly LegendLine[] {
  const lines = new Map<string | null, LegendLine>();
  for (const [name, mark] of marks(nodes)) lines.set(name, { name, mark, shards: 0, moving: 0, come: 0 });
  for (const cell of all) {
    const name = cell.owner?.name ?? null;
    const line = lines.get(name) ?? { name, mark: cell.mark, shards: 0, moving: 0, come: 0 };
    lines.set(name, {
      ...line,
      shards: line.shards + 1,
      moving: line.moving + (cell.movingTo === null ? 0 : 1),
      come: line.come + (cell.moved?.lately ? 1 : 0),
    });
  }
  return [...lines.values()].filter((line) => line.shards > 0 || isAlive(line.name, nodes));
}

function isAlive(name: string | null, nodes: readonly ClusterNode[]): boolean {
  return nodes.some((node) => node.name === name && node.state !== "dead");
}

/** Where an arrow leads in a grid of so many columns; null: the key is none of ours. */
export function step(key: string, from: number, count: number, columns: number): number | null {
  const to = {
    ArrowRight: from + 1,
    ArrowLeft: from - 1,
    ArrowDown: from + columns,
    ArrowUp: from - columns,
    Home: 0,
    End: count - 1,
  }[key];
  if (to === undefined) return null;
  return to < 0 || to >= count ? from : to;
}

export interface Entity {
  readonly text: string;
  readonly to: string | null; // its page, if there is one
}

/** `run/default/x` as a link to its page, in its namespace. */
export function entityOf(key: string): Entity {
  const [kind = "", namespace = "", ...rest] = key.split("/");
  const id = rest.join("/");
  const pages: Readonly<Record<string, string>> = { run: "/ui/runs/", workflow: "/ui/workflows/" };
  const page = pages[kind];
  if (page === undefined || !id) return { text: key, to: null };
  const where = namespace === "default" ? "" : namespace;
  return { text: key, to: `${page}${encodeURIComponent(id)}?namespace=${encodeURIComponent(where)}` };
}
