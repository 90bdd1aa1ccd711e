import { shapeOf, type Drawable, type Shape, type Why } from "./shape";

/** A shape with the steps as they are now. */
export interface Drawing<S extends Drawable> {
  readonly boxes: readonly Box<S>[];
  readonly lines: readonly Line[];
  readonly grouped: number;
}

export interface Box<S extends Drawable> {
  readonly key: string;
  readonly level: number;
  readonly name: string;
  readonly steps: readonly S[];
}

export interface Line {
  readonly from: string;
  readonly to: string;
  readonly kind: Why | "skipped";
}

/** The steps in their boxes. Quick: it is done for each change of a step, the shape is not. */
export function filled<S extends Drawable>(shape: Shape, steps: readonly S[]): Drawing<S> {
  return {
    boxes: shape.boxes.map(({ key, level, name, members }) => ({
      key,
      level,
      name,
      steps: members.flatMap((place) => steps[place] ?? []),
    })),
    lines: shape.lines.map(({ from, to, why, behind }) => {
      if (why === "undo") return { from, to, kind: why };
      const skipped = behind.every((place) => steps[place]?.status === "skipped");
      return { from, to, kind: skipped ? "skipped" : why };
    }),
    grouped: shape.grouped,
  };
}

export function draw<S extends Drawable>(steps: readonly S[]): Drawing<S> {
  return filled(shapeOf(steps), steps);
}
