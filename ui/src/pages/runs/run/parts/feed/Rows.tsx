import { useCallback, useEffect, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { placeOf, type NumberOf } from "./feed";
import { followsOn, rangeOf, type Range } from "./range";

export interface RowsProps<T> {
  readonly label: string;
  readonly className: string;
  readonly items: readonly T[];
  readonly number: NumberOf<T>;
  readonly rowPx: number;
  readonly row: (item: T) => ReactNode;
  readonly following: boolean;
  readonly onFollowing: (following: boolean) => void;
  readonly goTo: number | null; // the number of the item to bring into sight
}

/** Many rows of one height, of which only those in sight are drawn. It keeps its place while rows come and go. */
export function Rows<T>(props: RowsProps<T>) {
  const { items, number, rowPx, following, onFollowing, goTo } = props;
  const frame = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState<Range>({ from: 0, to: 60 });
  const scrolled = useRef(0);
  const drawn = useRef(items);

  const look = useCallback(() => {
    const element = frame.current;
    if (element === null) return;
    const next = rangeOf(element.scrollTop, element.clientHeight, rowPx, items.length);
    setRange((now) => (now.from === next.from && now.to === next.to ? now : next));
  }, [items.length, rowPx]);

  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null) return;
    if (following) element.scrollTop = element.scrollHeight;
    else if (drawn.current !== items) {
      const top = drawn.current[Math.floor(element.scrollTop / rowPx)];
      if (top !== undefined)
        element.scrollTop =
          placeOf(items, number(top), number) * rowPx + (Math.round(element.scrollTop) % rowPx);
    }
    drawn.current = items;
    scrolled.current = element.scrollTop;
    look();
  }, [items, following, number, rowPx, look]);

  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null || goTo === null) return;
    const middle = placeOf(drawn.current, goTo, number) * rowPx - element.clientHeight / 2;
    element.scrollTop = Math.max(0, middle);
    look();
  }, [goTo, number, rowPx, look]);

  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const heard = () => {
      const { scrollTop: topPx, clientHeight: heightPx, scrollHeight: wholePx } = element;
      const next = followsOn(following, scrolled.current, { topPx, heightPx, wholePx }, rowPx);
      scrolled.current = topPx;
      if (next !== following) onFollowing(next);
      look();
    };
    const resized = new ResizeObserver(look);
    element.addEventListener("scroll", heard, { passive: true });
    resized.observe(element);
    return () => {
      element.removeEventListener("scroll", heard);
      resized.disconnect();
    };
  }, [following, onFollowing, look, rowPx]);

  const from = Math.min(range.from, items.length);
  return (
    <div
      ref={frame}
      className={`rows ${props.className}`}
      role="region"
      aria-label={props.label}
      tabIndex={0}
    >
      <ol style={{ height: items.length * rowPx, paddingTop: from * rowPx }} aria-live="off">
        {items.slice(from, range.to).map((item, index) => (
          <li
            key={number(item)}
            style={{ height: rowPx }}
            aria-setsize={items.length}
            aria-posinset={from + index + 1}
          >
            {props.row(item)}
          </li>
        ))}
      </ol>
    </div>
  );
}
