import { useEffect, useState, type RefObject } from "react";

/** How wide an element is, in steps of `step` pixels so that a scroll bar that comes and goes changes nothing. */
export function useWidth(element: RefObject<HTMLElement | null>, step = 24): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const watched = element.current;
    if (watched === null) return;
    const measure = () => setWidth(Math.floor(watched.clientWidth / step) * step);
    measure();
    const watcher = new ResizeObserver(measure);
    watcher.observe(watched);
    return () => watcher.disconnect();
  }, [element, step]);
  return width;
}
