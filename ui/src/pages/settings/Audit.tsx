import { at, useMay, usePages } from "../../api";
import { Button, Card, Empty, Field, ProblemNote, Status, Table, Time, type Column } from "../../components";
import { flag, text, useFilters } from "../../router";
import { useT, useWords } from "../../words";
import { outcomeTone } from "./token";
import type { AuditLine } from "./types";
import { words } from "./words";

const FILTERS = { who: text(), act: text(), thing: text(), of: text(), since: text(), failed: flag() };
const TEXTS = ["who", "act", "thing", "of"] as const;

/** Who did what; its filters are in the address. */
export function Audit() {
  const t = useWords(words);
  const shared = useT();
  const may = useMay("administer");
  const [filter, setFilter] = useFilters(FILTERS);
  const since =
    filter.since && !Number.isNaN(Date.parse(filter.since)) ? new Date(filter.since).toISOString() : "";
  const found = usePages<AuditLine>(may.ok ? at("/audit") : null, {
    query: {
      who: filter.who.trim(),
      act: filter.act.trim(),
      thing: filter.thing.trim(),
      of: filter.of.trim(),
      since,
      failed: filter.failed || undefined,
      limit: 50,
    },
    cursor: "before",
  });
  if (!may.ok) return <p className="note warn">{may.reason}</p>;
  const filtered = Object.values(filter).some(Boolean);
  const columns: readonly Column<AuditLine>[] = [
    {
      key: "at",
      head: t("at"),
      cell: (line) => (
        <span className="keep">
          <Time at={line.at} />
        </span>
      ),
    },
    {
      key: "who",
      head: t("who"),
      cell: (line) => (
        <>
          {line.who} <span className="soft small">{line.role}</span>
        </>
      ),
    },
    { key: "act", head: t("act"), cell: (line) => <code>{line.act}</code> },
    {
      key: "thing",
      head: t("thing"),
      grow: true,
      wideOnly: true,
      cell: (line) => (
        <>
          <code>{line.thing}</code> {line.detail && <span className="soft small">{line.detail}</span>}
        </>
      ),
    },
    { key: "namespace", head: t("namespace"), wideOnly: true, cell: (line) => line.namespace },
    {
      key: "outcome",
      head: t("outcome"),
      cell: (line) => <Status value={outcomeTone(line.outcome)} label={String(line.outcome)} />,
    },
    { key: "address", head: t("address"), wideOnly: true, cell: (line) => line.address },
  ];
  return (
    <Card title={t("tab.audit")} actions={<Button onClick={found.again}>{shared("do.refresh")}</Button>}>
      <p className="soft">{t("auditLead")}</p>
      <div className="filters audit-filters">
        {TEXTS.map((name) => (
          <Field key={name} label={t(name)} inline>
            {(wiring) => (
              <input
                {...wiring}
                type="search"
                value={filter[name]}
                onChange={(event) => setFilter({ [name]: event.target.value })}
              />
            )}
          </Field>
        ))}
        <Field label={t("since")} inline>
          {(wiring) => (
            <input
              {...wiring}
              type="datetime-local"
              value={filter.since}
              onChange={(event) => setFilter({ since: event.target.value })}
            />
          )}
        </Field>
        <Field label={t("failedOnly")} inline>
          {(wiring) => (
            <input
              {...wiring}
              type="checkbox"
              checked={filter.failed}
              onChange={(event) => setFilter({ failed: event.target.checked })}
            />
          )}
        </Field>
      </div>
      <ProblemNote problem={found.problem} again={found.again} />
      <Table
        label={t("auditTable")}
        columns={columns}
        rows={found.items}
        rowKey={(line) => String(line.n)}
        more={found.more}
        loading={found.loading}
        empty={
          filtered ? (
            <Empty title={t("noAuditMatch")}>{t("noAuditMatchMore")}</Empty>
          ) : (
            <Empty title={t("noAudit")}>{t("noAuditMore")}</Empty>
          )
        }
      />
    </Card>
  );
}
