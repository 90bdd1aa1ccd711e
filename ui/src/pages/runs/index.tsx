import { useMemo } from "react";
import {
  Button,
  Duration,
  Empty,
  Link,
  Page,
  ProblemNote,
  Status,
  Table,
  Time,
  type Column,
} from "../../components";
import { pathTo, useFilters } from "../../router";
import { useWords } from "../../words";
import { Filters } from "./Filters";
import { FILTERS, isFiltered, NO_FILTER, queryOf } from "./filters";
import { Labels } from "./Labels";
import { useNewest } from "./newest";
import { NoRuns } from "./NoRuns";
import "./page.css";
import type { RunItem } from "./run/types";
import { words } from "./words";
import { WorkflowLink } from "./WorkflowLink";

const PAGE = 100;

/** All runs. Only what is seen is ever asked for: pages by cursor, and no counting. */
export default function Runs() {
  const t = useWords(words);
  const [filter, setFilter] = useFilters(FILTERS);
  const query = useMemo(() => ({ ...queryOf(filter, Date.now()), limit: PAGE }), [filter]);
  const newest = useNewest(query);
  const rows = newest.items;
  const columns = useColumns();
  return (
    <Page title={t("title")} lead={t("lead")}>
      <Filters filter={filter} onChange={setFilter} />
      {newest.problem && rows.length === 0 ? (
        <ProblemNote problem={newest.problem} again={newest.again} />
      ) : (
        <div className="runs-list">
          <Table
            label={t("list")}
            columns={columns}
            rows={rows}
            rowKey={(run) => run.id}
            more={newest.more}
            loading={!newest.known}
            empty={isFiltered(filter) ? <NoneFits clear={() => setFilter(NO_FILTER)} /> : <NoRuns />}
          />
        </div>
      )}
      {rows.length > 0 && (
        <div className="runs-foot soft small">
          {newest.older ? t("still") : t("live")}
          {newest.older && <Button onClick={newest.again}>{t("newest")}</Button>}
        </div>
      )}
    </Page>
  );
}

const WAITS_FOR = {
  approval: "waitsForApproval",
  release: "waitsForRelease",
  signal: "waitsForSignal",
} as const;

function useColumns(): readonly Column<RunItem>[] {
  const t = useWords(words);
  return useMemo(
    () => [
      {
        key: "status",
        head: t("status"),
        cell: (run) => (
          <>
            <Status value={run.status} />
            {run.waitingFor && <div className="waits-for soft small">{t(WAITS_FOR[run.waitingFor])}</div>}
          </>
        ),
      },
      {
        key: "run",
        head: t("run"),
        grow: true,
        cell: (run) => (
          <>
            <Link to={pathTo("/ui/runs/:run", { run: run.id })} title={run.id}>
              {run.id}
            </Link>
            <div className="below workflow-below small">
              <WorkflowLink run={run} />
            </div>
            <div className="below times-below soft small">
              <Time at={run.startedAt} style="ago" /> ·{" "}
              <Duration seconds={run.durationSeconds} from={run.startedAt} to={run.endedAt} />
            </div>
          </>
        ),
      },
      {
        key: "workflow",
        head: t("workflow"),
        className: "workflow-column",
        cell: (run) => <WorkflowLink run={run} />,
      },
      {
        key: "labels",
        head: t("labels"),
        className: "labels-column",
        cell: (run) => <Labels labels={run.labels} />,
      },
      {
        key: "started",
        head: t("started"),
        className: "times-column",
        cell: (run) => <Time at={run.startedAt} />,
      },
      {
        key: "duration",
        head: t("duration"),
        end: true,
        className: "times-column",
        cell: (run) => <Duration seconds={run.durationSeconds} from={run.startedAt} to={run.endedAt} />,
      },
    ],
    [t],
  );
}

function NoneFits({ clear }: { clear: () => void }) {
  const t = useWords(words);
  return (
    <Empty title={t("noneTitle")}>
      <p>{t("noneMore")}</p>
      <Button onClick={clear}>{t("clear")}</Button>
    </Empty>
  );
}
