import { Duration, Link, Table, Time, type Column } from "../../components";
import { pathTo } from "../../router";
import { useWords } from "../../words";
import type { RunItem } from "./types";
import { WorkflowName } from "./WorkflowName";
import { words } from "./words";

export interface RunRowsProps {
  readonly label: string;
  readonly runs: readonly RunItem[];
  readonly shows: "started" | "ended" | "age";
}

/** A few runs that somebody should look at. */
export function RunRows({ label, runs, shows }: RunRowsProps) {
  const t = useWords(words);
  const run: Column<RunItem> = {
    key: "run",
    head: t("run"),
    grow: true,
    cell: (row) => (
      <>
        <Link to={pathTo("/ui/runs/:run", { run: row.id })} className="run-name">
          {row.id}
        </Link>{" "}
        <WorkflowName run={row} />
        {row.error && <p className="clip small">{row.error.message}</p>}
      </>
    ),
  };
  const age: Column<RunItem> = {
    key: "age",
    head: t("openFor"),
    end: true,
    cell: (row) => <Duration from={row.startedAt} />,
  };
  const moment: Column<RunItem> = {
    key: "moment",
    head: t(shows === "ended" ? "ended" : "started"),
    end: true,
    cell: (row) => (
      <span className="nowrap">
        <Time at={shows === "ended" ? row.endedAt : row.startedAt} style="ago" />
      </span>
    ),
  };
  return (
    <Table
      label={t("runsOf", { what: label })}
      columns={[run, shows === "age" ? age : moment]}
      rows={runs}
      rowKey={(row) => row.id}
    />
  );
}
