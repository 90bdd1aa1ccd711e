import { useEffect, useState, type RefObject } from "react";

export const ROW_PX = 40; // as theme.css has it for rows of windowed tables
const AROUND = 20; // rows that are drawn above and below what is seen

export interface Range {
  readonly from: number;
  readonly to: number;
}

export function visibleRange(scrolledPx: number, heightPx: number, count: number): Range {
  const first = Math.floor(scrolledPx / ROW_PX);
  const seen = Math.ceil(heightPx / ROW_PX);
  const from = Math.max(0, Math.min(first - AROUND, count - seen));
  return { from, to: Math.min(count, first + seen + AROUND) };
}

/** Which of many rows are to be drawn in a frame that scrolls. */
export function useWindowed(frame: RefObject<HTMLElement | null>, count: number, on: boolean): Range {
  const [range, setRange] = useState<Range>({ from: 0, to: 60 });
  useEffect(() => {
    const element = frame.current;
    if (!on || element === null) return;
    const look = () => {
      const next = visibleRange(element.scrollTop, element.clientHeight, count);
      setRange((now) => (now.from === next.from && now.to === next.to ? now : next));
    };
    look();
    element.addEventListener("scroll", look, { passive: true });
    window.addEventListener("resize", look);
    return () => {
      element.removeEventListener("scroll", look);
      window.removeEventListener("resize", look);
    };
  }, [frame, count, on]);
  return on ? { from: Math.min(range.from, count), to: Math.min(range.to, count) } : { from: 0, to: count };
}
