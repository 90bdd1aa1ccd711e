import { graphlib, layout as dagre } from "@dagrejs/dagre";
import { reduced } from "./reduce";

export const BOX_WIDTH = 244;
export const BOX_HEIGHT = 66;

export type Direction = "LR" | "TB";

/** What is to be placed; plain data, for it may be sent to a worker. */
export interface Wanted {
  readonly keys: readonly string[];
  readonly lines: readonly { readonly from: string; readonly to: string }[];
  readonly direction: Direction;
}

export interface Place {
  readonly key: string;
  readonly x: number; // of its upper left corner
  readonly y: number;
}

const EXACT_MAX = 150; // lines; with more, the drawing need not be the tightest, and must not take long

/** Where each box stands: from the top down, or from left to right. In the order in which the keyboard goes. */
export function layout({ keys, lines, direction }: Wanted): Place[] {
  const graph = new graphlib.Graph();
  const many = lines.length > EXACT_MAX;
  graph.setGraph({
    rankdir: direction,
    nodesep: 24,
    ranksep: 44,
    marginx: 8,
    marginy: 8,
    ranker: many ? "tight-tree" : "network-simplex",
  });
  graph.setDefaultEdgeLabel(() => ({}));
  const known = new Set(keys);
  const drawn = lines.filter((line) => known.has(line.from) && known.has(line.to));
  for (const key of keys) graph.setNode(key, { width: BOX_WIDTH, height: BOX_HEIGHT });
  for (const line of many ? reduced(keys, drawn) : drawn) graph.setEdge(line.from, line.to);
  dagre(graph);
  const places = keys.map((key): Place => {
    const { x = 0, y = 0 } = graph.node(key);
    return { key, x: x - BOX_WIDTH / 2, y: y - BOX_HEIGHT / 2 };
  });
  return places.sort((a, b) => (direction === "TB" ? a.y - b.y || a.x - b.x : a.x - b.x || a.y - b.y));
}
