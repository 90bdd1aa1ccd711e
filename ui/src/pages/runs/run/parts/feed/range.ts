export interface Range {
  readonly from: number;
  readonly to: number;
}

const AROUND = 15; // rows that are drawn above and below what is seen

export function rangeOf(scrolledPx: number, heightPx: number, rowPx: number, count: number): Range {
  const first = Math.floor(Math.max(0, scrolledPx) / rowPx);
  const seen = Math.ceil(heightPx / rowPx);
  return {
    from: Math.max(0, Math.min(first - AROUND, count - seen - AROUND)),
    to: Math.min(count, first + seen + AROUND),
  };
}

export interface Scrolled {
  readonly topPx: number;
  readonly heightPx: number; // of what is seen
  readonly wholePx: number;
}

/**
 * Whether the end is still followed after this scroll. Only going up ends it: that the end has moved on since
 * is no wish of the reader's. Who comes back to the end follows again.
 */
export function followsOn(following: boolean, beforePx: number, now: Scrolled, rowPx: number): boolean {
  const atEnd = now.wholePx - now.topPx - now.heightPx < rowPx;
  if (atEnd) return true;
  return following && now.topPx >= beforePx;
}
