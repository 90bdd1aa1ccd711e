import { MarkerType, type Edge } from "@xyflow/react";
import { useMemo, useRef } from "react";
import type { Line } from "./drawing";
import { sameFace, type Face } from "./face";
import { BOX_HEIGHT, BOX_WIDTH, type Direction, type Place } from "./layout";
import type { BoxNode } from "./StepBox";

export interface Looks {
  readonly faces: ReadonlyMap<string, Face>; // by the keys of boxes
  readonly places: readonly Place[];
  readonly chosen: string;
  readonly direction: Direction;
  readonly onChoose: (key: string) => void;
}

/** The boxes for React Flow. One that looks as before is the same object as before, and is not drawn anew. */
export function useNodes({ faces, places, chosen, direction, onChoose }: Looks): BoxNode[] {
  const kept = useRef<ReadonlyMap<string, BoxNode>>(new Map());
  return useMemo(() => {
    const across = direction === "LR";
    const nodes = places.flatMap(({ key, x, y }): BoxNode[] => {
      const face = faces.get(key);
      if (face === undefined) return [];
      const data = { face, chosen: key === chosen, across, onChoose };
      const before = kept.current.get(key);
      if (before !== undefined && before.position.x === x && before.position.y === y) {
        const { data: was } = before;
        if (
          sameFace(was.face, face) &&
          was.chosen === data.chosen &&
          was.across === across &&
          was.onChoose === onChoose
        )
          return [before];
      }
      return [{ id: key, type: "step", position: { x, y }, width: BOX_WIDTH, height: BOX_HEIGHT, data }];
    });
    kept.current = new Map(nodes.map((node) => [node.id, node]));
    return nodes;
  }, [faces, places, chosen, direction, onChoose]);
}

/** The lines for React Flow; the same ones until one of them looks different. */
export function useEdges(
  lines: readonly Line[],
  faces: ReadonlyMap<string, Face>,
  nodes: readonly BoxNode[],
): Edge[] {
  const told = `${nodes.length} ${lines.map((line) => `${line.from} ${line.to} ${line.kind}`).join("\n")}`;
  return useMemo(() => {
    const drawn = new Set(nodes.map((node) => node.id));
    return lines
      .filter((line) => drawn.has(line.from) && drawn.has(line.to))
      .map((line) => ({
        id: `${line.from} ${line.to}`,
        source: line.from,
        target: line.to,
        ariaLabel: `${faces.get(line.from)?.name} → ${faces.get(line.to)?.name}`,
        className: `line ${line.kind}`,
        markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16 },
      }));
  }, [told]);
}
