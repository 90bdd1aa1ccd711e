import { useCallback, useMemo } from "react";
import { at, useAsk, useMay } from "../../../../api";

interface Nodes {
  readonly nodes: readonly { readonly id: string; readonly name: string }[];
}

/** What a node is called; one that is gone, or that the reader may not know of, has only its id. */
export function useNodeName(): (id: string) => string {
  const may = useMay("see", true);
  const { data } = useAsk<Nodes>(may.ok ? at("/cluster/nodes") : null);
  const names = useMemo(() => new Map(data?.nodes.map((node) => [node.id, node.name])), [data]);
  return useCallback((id) => names.get(id) ?? id, [names]);
}
