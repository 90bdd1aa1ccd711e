import { at, useAsk } from "../../../api";
import { Duration, Empty, Link, ProblemNote, Status, Table, Time, type Column } from "../../../components";
import { useWords } from "../../../words";
import { toRun } from "../paths";
import type { RunItem } from "../types";
import { words } from "../words";

/** Its newest runs. */
export function RunsTab({ id }: { id: string }) {
  const t = useWords(words);
  const { data, problem, again, loading } = useAsk<{ items: readonly RunItem[]; next: string | null }>(
    at("/runs"),
    { query: { workflow: id, limit: 20 }, live: true },
  );
  const columns: Column<RunItem>[] = [
    { key: "status", head: t("status"), cell: (run) => <Status value={run.status} /> },
    {
      key: "id",
      head: t("run"),
      grow: true,
      cell: (run) => (
        <>
          <Link to={toRun(run.id)} className="mono">
            {run.id}
          </Link>
          {run.error && <p className="soft small clip">{run.error.message}</p>}
        </>
      ),
    },
    { key: "version", head: t("version"), end: true, wideOnly: true, cell: (run) => run.version },
    {
      key: "started",
      head: t("started"),
      wideOnly: true,
      cell: (run) => (
        <span className="nowrap">
          <Time at={run.startedAt} />
        </span>
      ),
    },
    {
      key: "took",
      head: t("took"),
      end: true,
      cell: (run) => <Duration from={run.startedAt} to={run.endedAt} />,
    },
  ];
  return (
    <>
      <ProblemNote problem={problem} again={again} />
      {data?.next && (
        <p>
          <Link to={`/ui/runs?workflow=${encodeURIComponent(id)}`}>{t("allRuns")}</Link>
        </p>
      )}
      <Table
        label={t("tab.runs")}
        columns={columns}
        rows={data?.items ?? []}
        rowKey={(run) => run.id}
        loading={data === null && loading}
        empty={
          <Empty title={t("neverRunYet")} command={`windlass run ${id}`}>
            {t("neverRunMore")}
          </Empty>
        }
      />
    </>
  );
}
