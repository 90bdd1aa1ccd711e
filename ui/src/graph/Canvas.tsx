import { Background, MiniMap, ReactFlow, ReactFlowProvider, useReactFlow } from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { useEffect, useMemo, useRef } from "react";
import { Button } from "../components";
import { useNarrow } from "../narrow";
import { useWords } from "../words";
import type { Line } from "./drawing";
import type { Face } from "./face";
import type { Place } from "./layout";
import type { Shape } from "./shape";
import { StepBox, type BoxNode } from "./StepBox";
import { useEdges, useNodes } from "./useNodes";
import { usePlaces } from "./usePlaces";
import { useWidth } from "./useWidth";
import { firstView, heightFor, sizeOf } from "./view";
import { words } from "./words";

const TYPES = { step: StepBox };
const MAP_FROM = { boxes: 12, heightPx: 320 }; // in a lower frame it would hide what it shows
const NOWHERE: readonly Place[] = [];

export interface CanvasProps {
  readonly label: string;
  readonly shape: Shape;
  readonly lines: readonly Line[];
  readonly faces: ReadonlyMap<string, Face>;
  readonly chosen: string; // key of a box
  readonly onChoose: (key: string) => void;
}

export function Canvas(props: CanvasProps) {
  return (
    <ReactFlowProvider>
      <Flow {...props} />
    </ReactFlowProvider>
  );
}

function Flow({ label, shape, lines, faces, chosen, onChoose }: CanvasProps) {
  const t = useWords(words);
  const narrow = useNarrow(760);
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const direction = narrow ? "TB" : "LR";
  const found = usePlaces(shape, direction);
  const places = found ?? NOWHERE;
  const size = useMemo(() => sizeOf(places), [places]);
  const height = heightFor(size, width);
  const nodes = useNodes({ faces, places, chosen, direction, onChoose });
  const edges = useEdges(lines, faces, nodes);
  const flow = useReactFlow();
  const matters = useRef<Place | undefined>(undefined);
  matters.current = placeThatMatters(faces, places, chosen);
  useEffect(() => {
    if (width > 0) void flow.setViewport(firstView(size, { width, height }, matters.current));
  }, [flow, size, width, height]);
  return (
    <>
      <Zoom />
      <div
        className="flow-graph"
        ref={frame}
        style={{ height }}
        role="group"
        aria-label={label}
        aria-busy={found === null}
      >
        {found === null && (
          <p className="soft pad" role="status">
            {t("drawing")}
          </p>
        )}
        <ReactFlow
          nodes={nodes}
          edges={edges}
          nodeTypes={TYPES}
          minZoom={0.05}
          maxZoom={1.6}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          elementsSelectable={false}
          zoomOnScroll={false}
          preventScrolling={false}
          zoomOnDoubleClick={false}
          deleteKeyCode={null}
          selectionKeyCode={null}
          multiSelectionKeyCode={null}
          disableKeyboardA11y
          proOptions={{ hideAttribution: true }}
        >
          <Background gap={24} />
          {!narrow && nodes.length >= MAP_FROM.boxes && height >= MAP_FROM.heightPx && (
            <MiniMap
              pannable
              ariaLabel={t("map")}
              nodeClassName={(node: BoxNode) => `map-box ${node.data.face.tone}`}
            />
          )}
        </ReactFlow>
      </div>
    </>
  );
}

/** The chosen box, or the first that failed, that waits for somebody, or that is at work. */
function placeThatMatters(
  faces: ReadonlyMap<string, Face>,
  places: readonly Place[],
  chosen: string,
): Place | undefined {
  const find = (status: string) => places.find((place) => faces.get(place.key)?.status === status);
  const isChosen = (place: Place) => place.key === chosen;
  return places.find(isChosen) ?? find("failed") ?? find("awaiting") ?? find("running");
}

function Zoom() {
  const t = useWords(words);
  const flow = useReactFlow();
  return (
    <div className="actions flow-graph-tools">
      <Button label={t("zoomIn")} onClick={() => void flow.zoomIn()}>
        +
      </Button>
      <Button label={t("zoomOut")} onClick={() => void flow.zoomOut()}>
        −
      </Button>
      <Button onClick={() => void flow.fitView({ maxZoom: 1, padding: 0.06 })}>{t("fit")}</Button>
    </div>
  );
}
