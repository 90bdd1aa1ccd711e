import { at, useAsk, usePages } from "../../api";
import { Card, Duration, Empty, Facts, Field, ProblemNote, Table, Time, type Column } from "../../components";
import { choice, useFilters } from "../../router";
import { useWords, type Say } from "../../words";
import { failoversOf, pick, reasonOf, sortOf, tookSeconds } from "./events";
import { brief } from "./figures";
import { EVENT_TYPES, type ClusterEvent, type ClusterEvents } from "./types";
import { words } from "./words";

const FILTERS = { events: choice(["all", ...EVENT_TYPES], "all") };
const PAGE = 25;

export function Events() {
  const t = useWords(words);
  const [filter, setFilter] = useFilters(FILTERS);
  const type = filter.events === "all" ? undefined : filter.events;
  const paged = usePages<ClusterEvent>(at("/cluster/events"), {
    query: { type, limit: PAGE },
    cursor: "before",
    pick,
    live: true,
  });
  const failovers = useAsk<ClusterEvents>(at("/cluster/events"), {
    query: { type: "failover", limit: 100 },
    live: true,
  });
  const told = failoversOf(failovers.data?.events ?? []);
  const columns: readonly Column<ClusterEvent>[] = [
    {
      key: "when",
      head: t("when"),
      cell: (event) => (
        <span className="keep">
          <Time at={event.at} />
        </span>
      ),
    },
    { key: "what", head: t("what"), grow: true, cell: (event) => <What event={event} t={t} /> },
    {
      key: "concerned",
      head: t("concerned"),
      end: true,
      wideOnly: true,
      cell: (event) => event.entities || "–",
    },
    {
      key: "took",
      head: t("took"),
      end: true,
      wideOnly: true,
      cell: (event) => brief(tookSeconds(event)),
    },
    {
      key: "downtime",
      head: t("downtime"),
      end: true,
      cell: (event) =>
        event.downtimeSeconds === null ? "–" : <strong>{brief(event.downtimeSeconds)}</strong>,
    },
  ];
  return (
    <Card
      title={t("events")}
      actions={
        <Field label={t("type")} inline>
          {(wiring) => (
            <select
              {...wiring}
              value={filter.events}
              onChange={(event) => setFilter({ events: FILTERS.events.read(event.target.value) })}
            >
              <option value="all">{t("all")}</option>
              {EVENT_TYPES.map((each) => (
                <option key={each} value={each}>
                  {t(`type.${each}`)}
                </option>
              ))}
            </select>
          )}
        </Field>
      }
    >
      <Facts
        facts={[
          [t("failovers"), told.count || t("failoversNone")],
          [t("longest"), told.longest === null ? "–" : <Duration seconds={told.longest} />],
          [t("last"), told.last === null ? "–" : <Duration seconds={told.last} />],
        ]}
      />
      <ProblemNote problem={paged.problem} again={paged.again} />
      <div className="below">
        <Table
          label={t("eventsTable")}
          columns={columns}
          rows={paged.items}
          rowKey={(event) => String(event.number)}
          more={paged.more}
          loading={paged.loading && !paged.known}
          empty={<Empty title={t("noEvents")}>{t("noEventsMore")}</Empty>}
        />
      </div>
    </Card>
  );
}

function What({ event, t }: { event: ClusterEvent; t: Say<keyof typeof words.en> }) {
  const sort = sortOf(event);
  const key = `event.${sort}`;
  const values = {
    node: event.node ?? "",
    source: event.source ?? t("nobody"),
    target: event.target ?? t("nobody"),
    shard: event.shard ?? "",
    sort,
  };
  return (
    <>
      {t(key in words.en ? (key as keyof typeof words.en) : "event.other", values)}
      <div className="soft small">{reasonWords(event.reason, t)}</div>
    </>
  );
}

function reasonWords(reason: string, t: Say<keyof typeof words.en>): string {
  const { word, address, shards } = reasonOf(reason);
  if (word === null) return reason;
  const why = t(word, { address });
  return shards === null ? why : t("reason.shards", { why, count: shards });
}
