import { useCallback, useMemo } from "react";
import { SEARCH_MAX } from "../../app/find";
import { Button, Field } from "../../components";
import { useT, useWords } from "../../words";
import {
  fromLocal,
  isFiltered,
  isLabel,
  NO_FILTER,
  RANGES,
  STATUSES,
  toLocal,
  WAITING,
  type Filter,
  type Range,
  type Waiting,
} from "./filters";
import { Typed } from "./Typed";
import { words } from "./words";

export interface FiltersProps {
  readonly filter: Filter;
  readonly onChange: (change: Partial<Filter>) => void;
}

export function Filters({ filter, onChange }: FiltersProps) {
  const t = useWords(words);
  const shared = useT();
  const rangeWords: Readonly<Record<Range, string>> = {
    all: t("rangeAll"),
    hour: t("rangeHour"),
    day: t("rangeDay"),
    week: t("rangeWeek"),
    own: t("rangeOwn"),
  };
  const waitingWords: Readonly<Record<Waiting, string>> = {
    all: t("waitingAll"),
    any: t("waitingAny"),
    approval: t("waitingApproval"),
    release: t("waitingRelease"),
    signal: t("waitingSignal"),
  };
  const setWorkflow = useCallback((workflow: string) => onChange({ workflow }), [onChange]);
  const setLabel = useCallback((label: string) => onChange({ label }), [onChange]);
  const setSearch = useCallback((search: string) => onChange({ search }), [onChange]);
  const times = useMemo(() => ({ from: toLocal(filter.from), until: toLocal(filter.until) }), [filter]);
  const labelFault = filter.label !== "" && !isLabel(filter.label) ? t("labelFault") : undefined;
  return (
    <div className="runs-filters" role="search" aria-label={t("list")}>
      <Field label={t("search")}>
        {(wiring) => (
          <Typed
            {...wiring}
            value={filter.search}
            onChange={setSearch}
            placeholder={t("searchHint")}
            maxLength={SEARCH_MAX}
          />
        )}
      </Field>
      <Field label={t("status")}>
        {(wiring) => (
          <select
            {...wiring}
            value={filter.status}
            onChange={(event) => onChange({ status: event.target.value as Filter["status"] })}
          >
            <option value="all">{t("statusAll")}</option>
            {STATUSES.map((status) => (
              <option key={status} value={status}>
                {shared(`status.${status}`)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label={t("waiting")}>
        {(wiring) => (
          <select
            {...wiring}
            value={filter.waiting}
            onChange={(event) => onChange({ waiting: event.target.value as Waiting })}
          >
            {WAITING.map((waiting) => (
              <option key={waiting} value={waiting}>
                {waitingWords[waiting]}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label={t("workflow")}>
        {(wiring) => (
          <Typed {...wiring} value={filter.workflow} onChange={setWorkflow} placeholder={t("workflowHint")} />
        )}
      </Field>
      <Field label={t("label")} {...(labelFault ? { fault: labelFault } : {})}>
        {(wiring) => (
          <Typed {...wiring} value={filter.label} onChange={setLabel} placeholder={t("labelHint")} />
        )}
      </Field>
      <Field label={t("range")}>
        {(wiring) => (
          <select
            {...wiring}
            value={filter.range}
            onChange={(event) => onChange({ range: event.target.value as Range })}
          >
            {RANGES.map((range) => (
              <option key={range} value={range}>
                {rangeWords[range]}
              </option>
            ))}
          </select>
        )}
      </Field>
      {filter.range === "own" &&
        (["from", "until"] as const).map((end) => (
          <Field key={end} label={t(end)}>
            {(wiring) => (
              <input
                {...wiring}
                type="datetime-local"
                value={times[end]}
                onChange={(event) => onChange({ [end]: fromLocal(event.target.value) })}
              />
            )}
          </Field>
        ))}
      {isFiltered(filter) && (
        <Button kind="quiet" onClick={() => onChange(NO_FILTER)}>
          {t("clear")}
        </Button>
      )}
    </div>
  );
}
