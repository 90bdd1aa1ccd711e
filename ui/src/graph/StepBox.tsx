import { Handle, Position, useReactFlow, type Node, type NodeProps } from "@xyflow/react";
import { memo } from "react";
import { Status } from "../components";
import type { Face } from "./face";
import { BOX_HEIGHT, BOX_WIDTH } from "./layout";

export interface BoxData extends Record<string, unknown> {
  readonly face: Face;
  readonly chosen: boolean;
  readonly across: boolean; // lines go from left to right
  readonly onChoose: (key: string) => void;
}
export type BoxNode = Node<BoxData, "step">;

/** A step, or a group of them: a button with its name and how it is. */
export const StepBox = memo(function StepBox({ id, data }: NodeProps<BoxNode>) {
  const { face, chosen, across, onChoose } = data;
  const reveal = useReveal();
  return (
    <>
      <Handle type="target" position={across ? Position.Left : Position.Top} isConnectable={false} />
      <button
        type="button"
        className={["step-box", face.tone, face.step === null && "group", face.undo && "undo"]
          .filter(Boolean)
          .join(" ")}
        style={{ width: BOX_WIDTH, height: BOX_HEIGHT }}
        aria-pressed={chosen}
        data-step={face.step ?? undefined}
        title={face.title}
        onClick={() => onChoose(id)}
        onFocus={(event) => {
          if (event.currentTarget.matches(":focus-visible")) reveal(event.currentTarget);
        }}
      >
        <span className="step-box-name">
          {face.name}
          <Comma />
        </span>
        <span className="step-box-state">
          {face.status !== null && (
            <>
              <Status value={face.status} />
              <Comma />
            </>
          )}
          <span className="step-box-detail">{face.detail}</span>
        </span>
        {face.share !== null && (
          <span className="step-box-bar" aria-hidden="true">
            <span style={{ width: `${100 * face.share}%` }} />
          </span>
        )}
      </button>
      <Handle type="source" position={across ? Position.Right : Position.Bottom} isConnectable={false} />
    </>
  );
});

/** A pause for who hears the words of a box instead of seeing them. */
const Comma = () => <span className="unseen">, </span>;

/** A box that the keyboard comes to is brought into sight. */
function useReveal(): (element: HTMLElement) => void {
  const flow = useReactFlow();
  return (element) => {
    const frame = element.closest(".react-flow")?.getBoundingClientRect();
    const box = element.getBoundingClientRect();
    if (frame === undefined) return;
    const inside =
      box.left >= frame.left &&
      box.right <= frame.right &&
      box.top >= frame.top &&
      box.bottom <= frame.bottom;
    if (inside) return;
    const middle = flow.screenToFlowPosition({ x: box.left + box.width / 2, y: box.top + box.height / 2 });
    void flow.setCenter(middle.x, middle.y, { zoom: Math.max(0.6, flow.getZoom()) });
  };
}
