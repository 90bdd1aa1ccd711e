import { useCallback, useMemo, useRef, useState } from "react";
import { Button, Card, Table, type Column } from "../components";
import { useT, useWords } from "../words";
import { useCount } from "../words/count";
import { Canvas } from "./Canvas";
import { filled, type Box } from "./drawing";
import type { Face } from "./face";
import "./graph.css";
import { sameShape, shapeOf, type Drawable, type Shape } from "./shape";
import { words } from "./words";

export interface FlowGraphProps<S extends Drawable> {
  readonly label: string;
  readonly steps: readonly S[];
  readonly chosen: string; // id of a step, or empty
  readonly onChoose: (step: string) => void;
  readonly face: (box: Box<S>) => Face; // the same function until it says something else
  readonly columns: readonly Column<S>[]; // of the table of a group's steps
}

/**
 * Steps and what needs what, as boxes and lines that can be moved and zoomed. Each box is a button, in the order in
 * which steps run. Where there are too many, a box stands for a group, and choosing it lists its steps.
 */
export default function FlowGraph<S extends Drawable>(props: FlowGraphProps<S>) {
  const { steps, chosen, onChoose, face } = props;
  const t = useWords(words);
  const count = useCount();
  const [group, setGroup] = useState("");
  const shape = useShape(steps);
  const drawing = useMemo(() => filled(shape, steps), [shape, steps]);
  const faces = useMemo(() => new Map(drawing.boxes.map((box) => [box.key, face(box)])), [drawing, face]);
  const choose = useCallback(
    (key: string) => {
      const box = shape.boxes.find((each) => each.key === key);
      if (box === undefined) return;
      if (box.members.length > 1) setGroup((now) => (now === key ? "" : key));
      else onChoose(box.name);
    },
    [shape, onChoose],
  );
  const open = drawing.boxes.find((box) => box.key === group && box.steps.length > 1);
  const ofStep = drawing.boxes.find((box) => box.steps.some((step) => step.id === chosen));
  return (
    <div className="flow-graph-part">
      {drawing.grouped > 0 && (
        <p className="soft">
          {t("grouped", { grouped: count(drawing.grouped), boxes: drawing.boxes.length })}
        </p>
      )}
      <Canvas
        label={props.label}
        shape={shape}
        lines={drawing.lines}
        faces={faces}
        chosen={open?.key ?? ofStep?.key ?? ""}
        onChoose={choose}
      />
      {open && <Members box={open} columns={props.columns} onClose={() => setGroup("")} />}
    </div>
  );
}

/** The shape of these steps; the same one for as long as only their states change. */
function useShape(steps: readonly Drawable[]): Shape {
  const kept = useRef<{ steps: readonly Drawable[]; shape: Shape } | null>(null);
  return useMemo(() => {
    const before = kept.current;
    const shape = before !== null && sameShape(before.steps, steps) ? before.shape : shapeOf(steps);
    kept.current = { steps, shape };
    return shape;
  }, [steps]);
}

interface MembersProps<S extends Drawable> {
  readonly box: Box<S>;
  readonly columns: readonly Column<S>[];
  readonly onClose: () => void;
}

/** The steps of a group; those that failed stand first. */
function Members<S extends Drawable>({ box, columns, onClose }: MembersProps<S>) {
  const t = useWords(words);
  const shared = useT();
  const title = t("groupTitle", { name: box.name, count: useCount()(box.steps.length) });
  const rows = useMemo(() => {
    const failed = box.steps.filter((step) => step.status === "failed");
    return failed.length ? [...failed, ...box.steps.filter((step) => step.status !== "failed")] : box.steps;
  }, [box.steps]);
  return (
    <Card title={title} actions={<Button onClick={onClose}>{shared("do.close")}</Button>}>
      <Table label={title} columns={columns} rows={rows} rowKey={(step) => step.id} />
    </Card>
  );
}
