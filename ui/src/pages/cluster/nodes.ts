import type { ClusterNode } from "./types";

export const isAlive = (node: ClusterNode): boolean => node.state !== "dead";

/** One engine and nobody else: `windlass up`, or the first node of a cluster. */
export function isAlone(nodes: readonly ClusterNode[]): boolean {
  return nodes.filter(isAlive).length <= 1;
}

export type DrainBar = "leaving" | "dead" | "last" | null;

/** Why it cannot be drained; null: it can. The server has the last word. */
export function drainBar(node: ClusterNode, nodes: readonly ClusterNode[]): DrainBar {
  if (node.state !== "up") return node.state;
  const takers = nodes.filter((other) => other !== node && other.state === "up" && isEngine(other));
  return takers.length === 0 ? "last" : null;
}

const isEngine = (node: ClusterNode): boolean => node.roles.includes("engine");

export type NodeNote = "overloaded" | "short";

export function notesOf(node: ClusterNode): readonly NodeNote[] {
  if (!isAlive(node)) return [];
  return [
    ...(node.load.overloaded ? (["overloaded"] as const) : []),
    ...(node.load.short ? (["short"] as const) : []),
  ];
}
