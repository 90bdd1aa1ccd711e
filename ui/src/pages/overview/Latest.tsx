import { at, useAsk } from "../../api";
import { Card, Duration, Link, Status, Table, Time, type Column } from "../../components";
import { pathTo } from "../../router";
import { useWords } from "../../words";
import type { RunItem } from "./types";
import { WorkflowName } from "./WorkflowName";
import { words } from "./words";

const SHOWN = 8;

/** What began last, however it goes. */
export function Latest() {
  const t = useWords(words);
  const { data } = useAsk<{ items: readonly RunItem[] }>(at("/runs"), {
    query: { limit: SHOWN },
    live: true,
  });
  if (data === null || data.items.length === 0) return null;
  const columns: readonly Column<RunItem>[] = [
    { key: "status", head: t("status"), cell: (run) => <Status value={run.status} /> },
    {
      key: "run",
      head: t("run"),
      grow: true,
      cell: (run) => (
        <>
          <Link to={pathTo("/ui/runs/:run", { run: run.id })} className="run-name">
            {run.id}
          </Link>{" "}
          <WorkflowName run={run} />
        </>
      ),
    },
    {
      key: "started",
      head: t("started"),
      end: true,
      wideOnly: true,
      cell: (run) => <Time at={run.startedAt} style="ago" />,
    },
    {
      key: "duration",
      head: t("duration"),
      end: true,
      cell: (run) => <Duration seconds={run.durationSeconds} from={run.startedAt} to={run.endedAt} />,
    },
  ];
  return (
    <Card title={t("latest")} actions={<Link to="/ui/runs">{t("all")}</Link>}>
      <Table label={t("latest")} columns={columns} rows={data.items} rowKey={(run) => run.id} />
    </Card>
  );
}
