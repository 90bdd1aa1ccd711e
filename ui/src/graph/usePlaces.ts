import { useEffect, useMemo, useState } from "react";
import { layout, type Direction, type Place, type Wanted } from "./layout";
import type { Shape } from "./shape";

const AT_ONCE = 40; // boxes and lines that are placed before anybody could notice

/** Where the boxes of a shape stand; null: that is not known yet. Old places stay until new ones are found. */
export function usePlaces(shape: Shape, direction: Direction): readonly Place[] | null {
  const few = shape.boxes.length + shape.lines.length <= AT_ONCE;
  const wanted = useMemo((): Wanted => wantedOf(shape, direction), [shape, direction]);
  const atOnce = useMemo(() => (few ? layout(wanted) : null), [few, wanted]);
  const [later, setLater] = useState<readonly Place[] | null>(null);
  useEffect(() => {
    if (!few) return placeElsewhere(wanted, setLater);
  }, [few, wanted]);
  return atOnce ?? later;
}

function wantedOf({ boxes, lines }: Shape, direction: Direction): Wanted {
  return {
    keys: boxes.map((box) => box.key),
    lines: lines.map(({ from, to }) => ({ from, to })),
    direction,
  };
}

/** Places them in a worker; where there is none, here. What is given back gives up. */
function placeElsewhere(wanted: Wanted, done: (places: Place[]) => void): () => void {
  if (typeof Worker === "undefined") {
    done(layout(wanted));
    return () => {};
  }
  const worker = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
  worker.onmessage = (event: MessageEvent<Place[]>) => {
    worker.terminate();
    done(event.data);
  };
  worker.onerror = () => {
    worker.terminate();
    done(layout(wanted));
  };
  worker.postMessage(wanted);
  return () => worker.terminate();
}
