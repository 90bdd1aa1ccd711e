import { Facts, Spark, Status, Time } from "../../components";
import { localeOf, useLanguage, useWords } from "../../words";
import { rowsPerCommit, sharesOf, type Rates } from "./figures";
import type { NodeFigures } from "./types";
import { words } from "./words";

export interface FiguresOfProps {
  readonly now: NodeFigures;
  readonly rates: Rates;
  readonly startedAt: string | null;
}

/** All that one node has counted since it started. */
export function FiguresOf({ now, rates, startedAt }: FiguresOfProps) {
  const t = useWords(words);
  const figure = new Intl.NumberFormat(localeOf(useLanguage()), { maximumFractionDigits: 1 });
  const rows = rowsPerCommit(now);
  return (
    <>
      <p className="soft small">{t("figuresOf", { node: now.node })}</p>
      <Facts
        facts={[
          [
            t("journal"),
            <Status
              key="journal"
              value={now.journalWritable ? "valid" : "failed"}
              label={now.journalWritable ? t("writable") : `${t("notWritable")}: ${now.journalTrouble ?? ""}`}
            />,
          ],
          [t("lease"), t(now.leaseFresh ? "lease.fresh" : "lease.stale")],
          [t("since"), <Time key="since" at={startedAt} style="ago" />],
          [t("commits"), figure.format(now.commits.count)],
          [
            t("commitsNow"),
            <span key="rate" className="rate">
              {figure.format(rates.commits.at(-1) ?? 0)}
              <Spark label={t("commitsNow")} values={rates.commits} />
            </span>,
          ],
          [t("commitTime"), sharesOf(now.commits.seconds)],
          [t("rows"), rows === null ? "–" : figure.format(rows)],
          [t("refused"), t("refusedMore", { refused: now.commits.refused, unknown: now.commits.unknown })],
          [t("kept"), figure.format(now.events)],
          [t("snapshots"), figure.format(now.snapshots)],
          [t("live_"), figure.format(now.entitiesLive)],
          [t("timers"), figure.format(now.timers)],
          [t("inbox"), figure.format(now.inbox)],
          [t("runs"), `${figure.format(now.runsStarted)} · ${figure.format(now.runsEnded)}`],
          [t("recovered"), figure.format(now.runsRecovered)],
          [t("restarts"), figure.format(now.entityRestarts)],
          [t("tasks"), [now.tasksWaiting, now.tasksRunning, now.tasksLost].map(figure.format).join(" · ")],
          [t("routing"), sharesOf(now.routing)],
        ]}
      />
    </>
  );
}
