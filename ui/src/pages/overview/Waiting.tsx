import { Card, Link, Table, Time, type Column } from "../../components";
import { pathTo } from "../../router";
import { useWords } from "../../words";
import type { RunItem } from "./types";
import { words } from "./words";

/** The newest runs that wait for somebody, each with the way to the step where it can be answered. */
export function Waiting({ runs }: { readonly runs: readonly RunItem[] }) {
  const t = useWords(words);
  if (runs.length === 0)
    return (
      <Card title={t("waiting")}>
        <p className="soft">{t("noneWaits")}</p>
      </Card>
    );
  const columns: readonly Column<RunItem>[] = [
    {
      key: "run",
      head: t("run"),
      grow: true,
      cell: (row) => (
        <>
          <Link to={pathTo("/ui/runs/:run", { run: row.id })} className="run-name">
            {row.id}
          </Link>{" "}
          <Link to={pathTo("/ui/workflows/:workflow", { workflow: row.workflow })} className="soft small">
            {row.workflow}
          </Link>
        </>
      ),
    },
    {
      key: "waitsFor",
      head: t("waitsFor"),
      wideOnly: true,
      cell: (row) => <span className="nowrap">{t(row.waitingFor ?? "approval")}</span>,
    },
    {
      key: "started",
      head: t("started"),
      wideOnly: true,
      cell: (row) => (
        <span className="nowrap">
          <Time at={row.startedAt} style="ago" />
        </span>
      ),
    },
    {
      key: "answer",
      head: <span className="unseen">{t("answer")}</span>,
      end: true,
      cell: (row) => <Answer run={row} />,
    },
  ];
  return (
    <Card title={t("waiting")} actions={<Link to="/ui/runs?waiting=any">{t("all")}</Link>}>
      <p className="soft small">{t("waitingMore")}</p>
      <Table
        label={t("runsOf", { what: t("waiting") })}
        columns={columns}
        rows={runs}
        rowKey={(row) => row.id}
      />
    </Card>
  );
}

const DEEDS = { approval: "approve", release: "look", signal: "sendSignal" } as const;

function Answer({ run }: { readonly run: RunItem }) {
  const t = useWords(words);
  const deed = t(DEEDS[run.waitingFor ?? "approval"]);
  const to = `${pathTo("/ui/runs/:run", { run: run.id })}?awaits=true`;
  return (
    <Link to={to} className="nowrap" label={`${deed} ${run.id}`}>
      {deed}
    </Link>
  );
}
