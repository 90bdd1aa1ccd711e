import { BOX_HEIGHT, BOX_WIDTH, type Place } from "./layout";

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Viewport {
  readonly x: number;
  readonly y: number;
  readonly zoom: number;
}

const LEAST = 0.55; // smaller words cannot be read
const AROUND_PX = 16;
const HEIGHT_PX = { least: 180, most: 640 };

export function sizeOf(places: readonly Place[]): Size {
  let [width, height] = [BOX_WIDTH, BOX_HEIGHT];
  for (const { x, y } of places) {
    width = Math.max(width, x + BOX_WIDTH);
    height = Math.max(height, y + BOX_HEIGHT);
  }
  return { width, height };
}

/** How much a graph is made smaller to fit a width, as far as it stays readable. */
export function zoomFor(size: Size, widthPx: number): number {
  return Math.min(1, Math.max(LEAST, (widthPx - 2 * AROUND_PX) / size.width));
}

export function heightFor(size: Size, widthPx: number): number {
  const wanted = size.height * zoomFor(size, widthPx) + 2 * AROUND_PX + 8;
  return Math.min(HEIGHT_PX.most, Math.max(HEIGHT_PX.least, wanted));
}

/** What of the graph is seen at first: all of it, if there is room; else what is around the box that matters now. */
export function firstView(size: Size, frame: Size, matters: Place | undefined): Viewport {
  const zoom = zoomFor(size, frame.width);
  const along = (whole: number, room: number, at: number) => {
    const drawn = whole * zoom;
    if (drawn <= room - AROUND_PX) return (room - drawn) / 2;
    return -Math.min(Math.max(0, at * zoom - room / 3), drawn - room + AROUND_PX) + AROUND_PX / 2;
  };
  return {
    zoom,
    x: along(size.width, frame.width, matters?.x ?? 0),
    y: along(size.height, frame.height, matters?.y ?? 0),
  };
}
