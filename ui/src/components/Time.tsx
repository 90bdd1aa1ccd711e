import { useSyncExternalStore } from "react";
import { localeOf, useLanguage, useT } from "../words";
import { formatTime, type TimeStyle } from "./moments";

export interface TimeProps {
  readonly at: string | null | undefined; // ISO 8601, as the API says it
  readonly style?: TimeStyle; // full: date and time; clock: time of day; ago: how long since
}

/** A moment in the viewer's zone; hovering shows UTC. */
export function Time({ at, style = "full" }: TimeProps) {
  const t = useT();
  const locale = localeOf(useLanguage());
  const now = useSyncExternalStore(style === "ago" ? eachSecond : never, seconds);
  if (!at) return <span className="soft">{t("time.none")}</span>;
  return (
    <time dateTime={at} title={t("time.utc", { time: formatTime(at, "full", locale, now, "UTC") })}>
      {formatTime(at, style, locale, now)}
    </time>
  );
}

const seconds = () => Math.floor(Date.now() / 1000) * 1000;
const never = () => () => undefined;
function eachSecond(tick: () => void): () => void {
  const timer = setInterval(tick, 1000);
  return () => clearInterval(timer);
}
