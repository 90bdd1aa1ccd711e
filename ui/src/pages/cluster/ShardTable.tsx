import { Table, Time, type Column } from "../../components";
import { useWords } from "../../words";
import type { Cell } from "./map";
import { Sign } from "./Sign";
import { words } from "./words";

/** The map as a table: the same for who does not see it. */
export function ShardTable({ cells }: { readonly cells: readonly Cell[] }) {
  const t = useWords(words);
  const columns: readonly Column<Cell>[] = [
    { key: "shard", head: t("shard"), end: true, cell: (cell) => cell.number },
    {
      key: "node",
      head: t("node"),
      grow: true,
      cell: (cell) => (
        <>
          <Sign mark={cell.mark} /> {cell.owner?.name ?? t("nobody")}
        </>
      ),
    },
    { key: "moving", head: t("moving"), cell: (cell) => cell.movingTo ?? "–" },
    {
      key: "moved",
      head: t("cameFrom"),
      cell: (cell) =>
        cell.moved === null ? (
          "–"
        ) : (
          <span className={cell.moved.lately ? "keep moving-note" : "keep"}>
            {cell.moved.from} · <Time at={cell.moved.at} style="ago" />
          </span>
        ),
    },
    { key: "entities", head: t("entities"), end: true, cell: (cell) => cell.entities },
    { key: "epoch", head: t("epoch"), end: true, wideOnly: true, cell: (cell) => cell.epoch },
  ];
  return (
    <Table label={t("shardsTable")} columns={columns} rows={cells} rowKey={(cell) => String(cell.number)} />
  );
}
