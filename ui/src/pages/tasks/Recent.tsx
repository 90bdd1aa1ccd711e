import { useEffect } from "react";
import { at, usePages } from "../../api";
import {
  Card,
  Duration,
  Empty,
  Field,
  Link,
  ProblemNote,
  Status,
  Table,
  Time,
  type Column,
} from "../../components";
import { choice, pathTo, text, useFilters } from "../../router";
import { useWords } from "../../words";
import { Typed } from "../runs/Typed";
import { failureText } from "./failure";
import { curlOf } from "./request";
import { SHOWN_AS, STATUSES, type Envelope, type TaskItem } from "./types";
import { useServer } from "./useServer";
import { words } from "./words";

const FILTERS = { search: text(), status: choice(["all", ...STATUSES], "all"), of: text() };
const SENT = { language: "python", code: "print(6 * 7)" };

const pick = (answer: Envelope<{ items: readonly TaskItem[]; next: string | null }>) => answer.data;

export interface RecentProps {
  readonly languages: readonly string[];
  readonly turn: number; // another number: something was started
}

/** Tasks, the newest first. */
export function Recent({ languages, turn }: RecentProps) {
  const t = useWords(words);
  const server = useServer();
  const [filter, setFilter] = useFilters(FILTERS);
  const status = filter.status === "all" ? "" : filter.status;
  const found = usePages<TaskItem>(at("/tasks"), {
    query: { search: filter.search, status, language: filter.of, limit: 20 },
    pick,
    live: true,
  });
  const { again } = found;
  useEffect(() => {
    if (turn) again();
  }, [turn, again]);
  const columns: readonly Column<TaskItem>[] = [
    {
      key: "task",
      head: t("id"),
      cell: (task) => (
        <Link to={pathTo("/ui/tasks/:task", { task: task.taskId })}>
          <code className="task-id">{task.taskId}</code>
        </Link>
      ),
    },
    { key: "language", head: t("language"), cell: (task) => task.language },
    {
      key: "status",
      head: t("status"),
      cell: (task) => <Status value={SHOWN_AS[task.status]} label={t(`status.${task.status}`)} />,
    },
    {
      key: "why",
      head: t("why"),
      wideOnly: true,
      grow: true,
      cell: (task) => task.failure && failureText(task.failure, t),
    },
    {
      key: "at",
      head: t("created"),
      wideOnly: true,
      cell: (task) => (
        <span className="keep">
          <Time at={task.timestamps.createdAt} style="ago" />
        </span>
      ),
    },
    {
      key: "took",
      head: t("took"),
      end: true,
      wideOnly: true,
      cell: (task) => (
        <span className="keep">
          <Duration from={task.timestamps.createdAt} to={task.timestamps.completedAt} />
        </span>
      ),
    },
  ];
  const filtered = filter.search !== "" || status !== "" || filter.of !== "";
  return (
    <Card title={t("recent")}>
      <div className="filters recent-filters">
        <Field label={t("search")} inline>
          {(wiring) => (
            <Typed
              {...wiring}
              value={filter.search}
              maxLength={200}
              onChange={(search) => setFilter({ search })}
            />
          )}
        </Field>
        <Field label={t("status")} inline>
          {(wiring) => (
            <select
              {...wiring}
              value={filter.status}
              onChange={(event) => setFilter({ status: FILTERS.status.read(event.target.value) })}
            >
              <option value="all">{t("all")}</option>
              {STATUSES.map((each) => (
                <option key={each} value={each}>
                  {t(`status.${each}`)}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label={t("language")} inline>
          {(wiring) => (
            <select {...wiring} value={filter.of} onChange={(event) => setFilter({ of: event.target.value })}>
              <option value="">{t("all")}</option>
              {[...new Set([...languages, ...(filter.of ? [filter.of] : [])])].map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <ProblemNote problem={found.problem} again={found.again} />
      <Table
        label={t("recentTable")}
        columns={columns}
        rows={found.items}
        rowKey={(task) => task.taskId}
        more={found.more}
        loading={found.loading && (found.older || !found.known)}
        empty={
          filtered ? (
            <Empty title={t("noneMatch")}>{t("noneMatchMore")}</Empty>
          ) : (
            <Empty title={t("noneRecent")} command={curlOf(SENT, server)}>
              {t("noneRecentMore")}
            </Empty>
          )
        }
      />
    </Card>
  );
}
