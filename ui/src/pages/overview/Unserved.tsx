import { Card, Link, Table, Time, type Column } from "../../components";
import { pathTo } from "../../router";
import { useWords } from "../../words";
import type { Unserved as Row } from "./types";
import { words } from "./words";

/** Steps that no connected worker could run: what they need, and the way to the first of them. */
export function Unserved({ rows }: { readonly rows: readonly Row[] }) {
  const t = useWords(words);
  const columns: readonly Column<Row>[] = [
    { key: "needs", head: t("needs"), grow: true, cell: (row) => <Needs row={row} /> },
    { key: "steps", head: t("steps"), end: true, cell: (row) => row.tasks },
    {
      key: "next",
      head: t("nextStep"),
      cell: (row) => (
        <>
          <Link to={pathTo("/ui/runs/:run", { run: row.run })} className="run-name">
            {row.run}
          </Link>{" "}
          <span className="soft small">{row.step}</span>
        </>
      ),
    },
    {
      key: "since",
      head: t("waitsSince"),
      wideOnly: true,
      cell: (row) => (
        <span className="nowrap">
          <Time at={row.since} style="ago" />
        </span>
      ),
    },
  ];
  return (
    <Card title={t("unserved")} actions={<Link to="/ui/workers">{t("workers")}</Link>}>
      <p className="soft small">{t("unservedMore")}</p>
      <Table label={t("unserved")} columns={columns} rows={rows} rowKey={(row) => row.requires.join()} />
    </Card>
  );
}

/** What nobody offers stands out from what somebody does. */
function Needs({ row }: { readonly row: Row }) {
  const rest = row.requires.filter((name) => !row.missing.includes(name));
  return (
    <>
      {row.missing.map((name) => (
        <span key={name}>
          <code>{name}</code>{" "}
        </span>
      ))}
      <span className="soft small">{rest.join(", ")}</span>
    </>
  );
}
