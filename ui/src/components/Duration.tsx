import { useSyncExternalStore } from "react";
import { useLanguage, useT } from "../words";
import { formatDuration } from "./moments";

export interface DurationProps {
  readonly seconds?: number | null;
  readonly from?: string | null; // with it and no `to`: it still goes on, and counts
  readonly to?: string | null;
}

/** How long something took or has taken so far. */
export function Duration({ seconds, from, to }: DurationProps) {
  const t = useT();
  const language = useLanguage();
  const running = seconds == null && Boolean(from) && !to;
  const now = useSyncExternalStore(running ? eachSecond : never, wholeSecond);
  const end = to ? new Date(to).getTime() : now;
  const shown = seconds ?? (from ? (end - new Date(from).getTime()) / 1000 : null);
  if (shown === null) return <span className="soft">{t("time.none")}</span>;
  return (
    <span className="duration">
      {formatDuration(running ? Math.max(0, Math.round(shown)) : shown, language)}
    </span>
  );
}

const wholeSecond = () => Math.floor(Date.now() / 1000) * 1000;
const never = () => () => undefined;
function eachSecond(tick: () => void): () => void {
  const timer = setInterval(tick, 1000);
  return () => clearInterval(timer);
}
