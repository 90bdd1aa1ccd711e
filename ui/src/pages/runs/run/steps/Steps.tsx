import { useCallback, useMemo } from "react";
import { at, usePages } from "../../../../api";
import { Duration, Field, ProblemNote, Table, Time, type Column } from "../../../../components";
import { useFilters } from "../../../../router";
import { useT, useWords } from "../../../../words";
import { Typed } from "../../Typed";
import { STEP_STATUSES, type RunPartProps, type StepView } from "../types";
import { words } from "../words";
import { fits, ownersOf, STEP_FILTERS, upToDate, type StepFilter } from "./filter";
import { useNamed } from "./useNamed";

const PAGE = 500;

/** All steps as a table. Those of a run that has thousands come page by page. */
export default function Steps({ run }: RunPartProps) {
  const t = useWords(words);
  const [filter, setFilter] = useFilters(STEP_FILTERS);
  const many = run.stepsLeftOut > 0;
  const pages = usePages<StepView>(many ? at("/runs/:run/steps", { run: run.id }) : null, {
    query: {
      limit: PAGE,
      of: filter.of,
      status: filter.stepStatus === "all" ? undefined : filter.stepStatus,
    },
  });
  const rows = useMemo(
    () =>
      many
        ? upToDate(pages.items, run).filter((step) => fits(step, { ...filter, stepStatus: "all" }))
        : run.steps.filter((step) => fits(step, filter)),
    [many, pages.items, run, filter],
  );
  return (
    <div className="run-steps">
      <StepFilters filter={filter} owners={useMemo(() => ownersOf(run), [run])} onChange={setFilter} />
      {many && <p className="soft small">{t("steps.many")}</p>}
      {pages.problem && <ProblemNote problem={pages.problem} again={pages.again} />}
      <Table
        label={t("steps.label")}
        columns={useColumns()}
        rows={rows}
        rowKey={(step) => step.id}
        more={many ? pages.more : null}
        loading={many && pages.loading}
        empty={<p className="soft">{t("steps.none")}</p>}
      />
    </div>
  );
}

interface StepFiltersProps {
  readonly filter: StepFilter;
  readonly owners: readonly string[];
  readonly onChange: (change: Partial<StepFilter>) => void;
}

function StepFilters({ filter, owners, onChange }: StepFiltersProps) {
  const t = useWords(words);
  const shared = useT();
  const setFind = useCallback((find: string) => onChange({ find }), [onChange]);
  return (
    <div className="runs-filters">
      <Field label={t("steps.find")}>
        {(wiring) => <Typed {...wiring} value={filter.find} onChange={setFind} />}
      </Field>
      <Field label={t("steps.status")}>
        {(wiring) => (
          <select
            {...wiring}
            value={filter.stepStatus}
            onChange={(event) => onChange({ stepStatus: event.target.value as StepFilter["stepStatus"] })}
          >
            <option value="all">{t("steps.all")}</option>
            {STEP_STATUSES.map((status) => (
              <option key={status} value={status}>
                {shared(`status.${status}`)}
              </option>
            ))}
          </select>
        )}
      </Field>
      {owners.length > 0 && (
        <Field label={t("steps.of")}>
          {(wiring) => (
            <select {...wiring} value={filter.of} onChange={(event) => onChange({ of: event.target.value })}>
              <option value="">{t("steps.ofAll")}</option>
              {owners.map((owner) => (
                <option key={owner}>{owner}</option>
              ))}
            </select>
          )}
        </Field>
      )}
    </div>
  );
}

function useColumns(): readonly Column<StepView>[] {
  const t = useWords(words);
  const named = useNamed();
  return useMemo(
    () => [
      ...named,
      { key: "kind", head: t("steps.kind"), wideOnly: true, cell: (step) => step.kind },
      {
        key: "attempts",
        head: t("steps.attempts"),
        end: true,
        wideOnly: true,
        cell: (step) => step.attempts,
      },
      { key: "worker", head: t("steps.worker"), wideOnly: true, cell: (step) => step.worker ?? "–" },
      {
        key: "started",
        head: t("steps.started"),
        wideOnly: true,
        cell: (step) => <Time at={step.startedAt} style="clock" />,
      },
      {
        key: "duration",
        head: t("steps.duration"),
        end: true,
        cell: (step) => <Duration from={step.startedAt} to={step.endedAt} />,
      },
    ],
    [t, named],
  );
}
