import { useEffect, useState } from "react";
import { asProblem, at, usePages, type Problem } from "../../../api";
import { Button, Card, Field, ProblemNote, Table, Time, type Column } from "../../../components";
import { useFilters, whole } from "../../../router";
import { useWords } from "../../../words";
import { compare, type Compared, type Draft } from "../edit/draft";
import type { VersionItem } from "../types";
import { words } from "../words";
import { Diff } from "./Diff";

const FILTERS = { from: whole(0), to: whole(0) };

export interface VersionsTabProps {
  readonly id: string;
  readonly newest: number;
  readonly onEdit: (draft: Draft) => void;
}

/** All versions, and what two of them differ in. */
export function VersionsTab({ id, newest, onEdit }: VersionsTabProps) {
  const t = useWords(words);
  const [filter, setFilter] = useFilters(FILTERS);
  const to = filter.to || newest;
  const from = filter.from || Math.max(1, to - 1);
  const pages = usePages<VersionItem>(at("/workflows/:id/versions", { id }), { query: { limit: 20 } });
  const texts = useTexts(id, from, to, newest);
  const columns: Column<VersionItem>[] = [
    { key: "version", head: t("version"), end: true, cell: (row) => row.version },
    {
      key: "at",
      head: t("savedAt"),
      cell: (row) => (
        <span className="nowrap">
          <Time at={row.createdAt} />
        </span>
      ),
    },
    {
      key: "hash",
      head: t("hash"),
      wideOnly: true,
      grow: true,
      cell: (row) => <code className="soft">{row.hash.slice(0, 12)}</code>,
    },
    {
      key: "compare",
      head: t("compare"),
      cell: (row) => (
        <Button
          kind="quiet"
          label={t("compareLabel", { version: row.version })}
          onClick={() => setFilter({ from: Math.max(1, row.version - 1), to: row.version })}
        >
          {t("changes")}
        </Button>
      ),
    },
  ];
  const choices = pages.items.map((row) => row.version);
  const pick = (label: string, value: number, change: (version: number) => void) => (
    <Field label={label} inline>
      {(wiring) => (
        <select {...wiring} value={value} onChange={(event) => change(Number(event.target.value))}>
          {[...new Set([value, ...choices])]
            .toSorted((one, other) => other - one)
            .map((version) => (
              <option key={version}>{version}</option>
            ))}
        </select>
      )}
    </Field>
  );
  const edit = () => {
    if (texts.found) onEdit({ base: newest, before: texts.found.newest, text: texts.found.chosen });
  };
  return (
    <div className="stack">
      <ProblemNote problem={pages.problem ?? texts.problem} again={pages.again} />
      <Card
        title={t("compareTitle")}
        actions={
          to !== newest && (
            <Button needs="operate" onClick={edit}>
              {t("editFrom", { version: to })}
            </Button>
          )
        }
      >
        <div className="filters">
          {pick(t("fromVersion"), from, (version) => setFilter({ from: version, to }))}
          {pick(t("toVersion"), to, (version) => setFilter({ from, to: version }))}
        </div>
        {texts.found && (
          <Diff
            before={from === to && newest === 1 ? "" : texts.found.before}
            after={texts.found.after}
            label={t("diffLabel", { from, to })}
          />
        )}
      </Card>
      <Table
        label={t("tab.versions")}
        columns={columns}
        rows={pages.items}
        rowKey={(row) => String(row.version)}
        more={pages.more}
        loading={pages.loading}
      />
    </div>
  );
}

interface Texts {
  readonly found: Compared | null;
  readonly problem: Problem | null;
}
const NONE: Texts = { found: null, problem: null };

/** Both versions, and the newest, as text. */
function useTexts(workflow: string, one: number, two: number, newest: number): Texts {
  const [texts, setTexts] = useState<Texts>(NONE);
  useEffect(() => {
    let left = false;
    setTexts(NONE);
    compare(workflow, one, two, newest).then(
      (found) => !left && setTexts({ found, problem: null }),
      (error: unknown) => !left && setTexts({ found: null, problem: asProblem(error) }),
    );
    return () => {
      left = true;
    };
  }, [workflow, one, two, newest]);
  return texts;
}
