import { useRef, useState, type KeyboardEvent } from "react";
import { Time } from "../../components";
import { useWords, type Say } from "../../words";
import { step, type Cell } from "./map";
import { Residents } from "./Residents";
import { tint } from "./Sign";
import { words } from "./words";

export interface ShardMapProps {
  readonly cells: readonly Cell[];
  readonly chosen: number | null;
  readonly onChoose: (number: number) => void;
}

/** One stop of the keyboard; arrows go from cell to cell. */
export function ShardMap({ cells, chosen, onChoose }: ShardMapProps) {
  const t = useWords(words);
  const grid = useRef<HTMLUListElement>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const [focused, setFocused] = useState(0);
  const told = cells.find((cell) => cell.number === (pointed ?? chosen));
  const press = (event: KeyboardEvent, cell: Cell) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      onChoose(cell.number);
      return;
    }
    const to = step(event.key, cells.indexOf(cell), cells.length, columnsOf(grid.current));
    if (to === null) return;
    event.preventDefault();
    setFocused(to);
    grid.current?.querySelectorAll<HTMLElement>("[role=option]")[to]?.focus();
  };
  return (
    <>
      <ul className="shard-map" role="listbox" aria-label={t("mapLabel")} ref={grid}>
        {cells.map((cell, index) => (
          <li
            key={cell.number}
            role="option"
            aria-selected={cell.number === chosen}
            aria-label={wordsOf(cell, t)}
            tabIndex={index === Math.min(focused, cells.length - 1) ? 0 : -1}
            className={classOf(cell)}
            style={tint(cell.mark)}
            data-letter={cell.mark?.letter ?? "–"}
            onClick={() => onChoose(cell.number)}
            onKeyDown={(event) => press(event, cell)}
            onFocus={() => {
              setFocused(index);
              setPointed(cell.number);
            }}
            onBlur={() => setPointed(null)}
            onMouseEnter={() => setPointed(cell.number)}
            onMouseLeave={() => setPointed(null)}
          >
            {cell.number}
          </li>
        ))}
      </ul>
      <p className="shard-told">
        {told ? wordsOf(told, t) : <span className="soft">{t("hint")}</span>}
        {told?.moved && (
          <span className="soft">
            {" · "}
            {t("movedFrom", { node: told.moved.from })} <Time at={told.moved.at} style="ago" />
          </span>
        )}
      </p>
      {chosen !== null && cells.some((cell) => cell.number === chosen) && <Residents shard={chosen} />}
    </>
  );
}

function wordsOf(cell: Cell, t: Say<keyof typeof words.en>): string {
  const is = t("shardIs", {
    number: cell.number,
    node: cell.owner?.name ?? t("nobody"),
    count: cell.entities,
    epoch: cell.epoch,
  });
  const more = [
    cell.movingTo !== null && t("shardMoves", { node: cell.movingTo }),
    cell.moved?.lately && t("shardMoved", { node: cell.moved.from }),
  ];
  return [is, ...more.filter(Boolean)].join(", ");
}

function classOf(cell: Cell): string {
  return [
    "shard",
    cell.owner === null && "nobody",
    cell.movingTo !== null && "moving",
    cell.movingTo === null && cell.moved?.lately && "moved",
  ]
    .filter(Boolean)
    .join(" ");
}

function columnsOf(grid: HTMLElement | null): number {
  return grid === null ? 1 : getComputedStyle(grid).gridTemplateColumns.split(" ").length;
}
