import { Button, Spark, Status, Table, type Column } from "../../components";
import { localeOf, useLanguage, useWords } from "../../words";
import { rowsPerCommit, sharesOf, type RatesOf } from "./figures";
import type { NodeFigures } from "./types";
import { words } from "./words";

export interface FiguresTableProps {
  readonly items: readonly NodeFigures[];
  readonly rates: RatesOf;
  readonly chosen: string;
  readonly onChoose: (node: string) => void;
}

/** The journal and commits of all nodes, one line each. */
export function FiguresTable({ items, rates, chosen, onChoose }: FiguresTableProps) {
  const t = useWords(words);
  const figure = new Intl.NumberFormat(localeOf(useLanguage()), { maximumFractionDigits: 1 });
  const columns: readonly Column<NodeFigures>[] = [
    {
      key: "node",
      head: t("node"),
      cell: (each) => (
        <Button
          kind="quiet"
          pressed={each.node === chosen}
          label={t("figuresShow", { node: each.node })}
          onClick={() => onChoose(each.node)}
        >
          {each.node}
        </Button>
      ),
    },
    {
      key: "journal",
      head: t("journal"),
      cell: (each) => (
        <Status
          value={each.journalWritable ? "valid" : "failed"}
          label={t(each.journalWritable ? "writable" : "notWritable")}
        />
      ),
    },
    {
      key: "rate",
      head: t("commitsNow"),
      grow: true,
      cell: (each) => {
        const commits = rates.get(each.node)?.commits ?? [];
        return (
          <span className="rate">
            {figure.format(commits.at(-1) ?? 0)}
            <Spark label={`${t("commitsNow")}: ${each.node}`} values={commits} />
          </span>
        );
      },
    },
    {
      key: "time",
      head: t("commitTime"),
      end: true,
      cell: (each) => <span className="keep">{sharesOf(each.commits.seconds)}</span>,
    },
    {
      key: "commits",
      head: t("commits"),
      end: true,
      wideOnly: true,
      cell: (each) => figure.format(each.commits.count),
    },
    {
      key: "rows",
      head: t("rows"),
      end: true,
      wideOnly: true,
      cell: (each) => {
        const rows = rowsPerCommit(each);
        return rows === null ? "–" : figure.format(rows);
      },
    },
    { key: "kept", head: t("kept"), end: true, wideOnly: true, cell: (each) => figure.format(each.events) },
  ];
  return <Table label={t("figuresTable")} columns={columns} rows={items} rowKey={(each) => each.node} />;
}
