import { useCallback, useMemo } from "react";
import { at, usePages } from "../../api";
import { SEARCH_MAX } from "../../app/find";
import { Button, Empty, Field, Link, Page, ProblemNote, Table, type Column } from "../../components";
import { navigate, text, useFilters } from "../../router";
import { useT, useWords } from "../../words";
import { Typed } from "../runs/Typed";
import { LastRun } from "./LastRun";
import { NextTime } from "./NextTime";
import "./page.css";
import { NEW_WORKFLOW, toWorkflow } from "./paths";
import type { WorkflowItem } from "./types";
import { words } from "./words";

const FILTERS = { search: text() };
const AT_ONCE = 50;

/** All workflows, a page at a time: one request says all that is shown of them. */
export default function Workflows() {
  const t = useWords(words);
  const shared = useT();
  const columns = useColumns();
  const [{ search }, setFilter] = useFilters(FILTERS);
  const setSearch = useCallback((search: string) => setFilter({ search }), [setFilter]);
  const { items, known, loading, more, problem, again } = usePages<WorkflowItem>(at("/workflows"), {
    query: { limit: AT_ONCE, search: search || null },
    live: true,
  });
  return (
    <Page
      title={shared("nav.workflows")}
      actions={
        <Button kind="main" needs="operate" onClick={() => navigate(NEW_WORKFLOW)}>
          {t("new")}
        </Button>
      }
    >
      <ProblemNote problem={problem} again={again} />
      {known && items.length === 0 && search === "" ? (
        <Empty title={t("empty")} command="windlass apply FILE.yaml">
          {t("emptyMore")}
        </Empty>
      ) : (
        <>
          <div className="filters">
            <Field label={t("search")} inline>
              {(wiring) => <Typed {...wiring} value={search} onChange={setSearch} maxLength={SEARCH_MAX} />}
            </Field>
          </div>
          <Table
            label={shared("nav.workflows")}
            columns={columns}
            rows={items}
            rowKey={(row) => row.id}
            more={more}
            loading={!known && loading}
            empty={known ? <p className="soft">{t("noneFound", { search })}</p> : <></>}
          />
        </>
      )}
    </Page>
  );
}

function useColumns(): readonly Column<WorkflowItem>[] {
  const t = useWords(words);
  return useMemo(
    () => [
      {
        key: "id",
        head: t("workflow"),
        grow: true,
        cell: (row) => {
          const about = [row.name, row.description].filter(Boolean).join(" · ");
          return (
            <>
              <Link to={toWorkflow(row.id)}>{row.id}</Link>
              {about && <p className="soft small clip">{about}</p>}
            </>
          );
        },
      },
      { key: "steps", head: t("steps"), end: true, wideOnly: true, cell: (row) => row.steps },
      { key: "last", head: t("lastRun"), cell: (row) => <LastRun run={row.lastRun} /> },
      { key: "next", head: t("nextTime"), wideOnly: true, cell: (row) => <NextTime of={row} /> },
    ],
    [t],
  );
}
