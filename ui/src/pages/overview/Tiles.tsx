import { Link } from "../../components";
import { localeOf, useLanguage, useT, useWords } from "../../words";
import { Figure } from "./Figure";
import { figuresOf, OPEN_MAX } from "./figures";
import { Hour } from "./Hour";
import type { OverviewView } from "./types";
import { words } from "./words";

const OPEN = ["running", "queued", "paused"] as const; // those that are stuck have a place of their own

export interface TilesProps {
  readonly view: OverviewView;
  readonly duration: (seconds: number) => string;
}

/** The four numbers that say how things go. */
export function Tiles({ view, duration }: TilesProps) {
  const t = useWords(words);
  const shared = useT();
  const locale = localeOf(useLanguage());
  const number = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });
  const share = new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 1 });
  const figures = figuresOf(view.minutes, view.asOf);
  const { p50Seconds, p95Seconds, runs } = view.latency;
  const open = view.openRuns >= OPEN_MAX ? `${number.format(OPEN_MAX)}+` : number.format(view.openRuns);
  return (
    <div>
      <div className="grid tiles">
        <Figure label={t("perMinute")} value={number.format(figures.perMinute)}>
          <Hour label={t("chartStarted")} values={figures.started} number={number} />
          <p className="soft small">{t("perMinuteMore", { count: figures.lastHour })}</p>
        </Figure>
        <Figure
          label={t("successRate")}
          value={figures.successRate === null ? "–" : share.format(figures.successRate)}
        >
          <Hour label={t("chartFailed")} values={figures.failed} number={number} tone="bad" />
          <p className="soft small">
            {figures.successRate === null
              ? t("noneEnded")
              : t("successMore", { count: figures.failedLastHour })}
          </p>
        </Figure>
        <Figure label={t("latency")} value={p50Seconds === null ? "–" : duration(p50Seconds)}>
          <p className="soft small">
            {p95Seconds === null ? t("noneEnded") : t("latencyMore", { p95: duration(p95Seconds) })}
          </p>
          {runs > 0 && <p className="soft small">{t("latencyFrom", { count: runs })}</p>}
        </Figure>
        <Figure label={t("openRuns")} value={open}>
          <p className="soft small">{t("openMore")}</p>
          <p className="small actions">
            {OPEN.map((status) => (
              <Link key={status} to={`/ui/runs?status=${status}`}>
                {shared(`status.${status}`)}
              </Link>
            ))}
          </p>
        </Figure>
      </div>
      <p className="soft small">
        {t("counted")}
        {view.silent.length > 0 && t("without", { nodes: view.silent.join(", ") })}
      </p>
    </div>
  );
}
