import { useMemo, useSyncExternalStore } from "react";

/** What time it is at the server, each second: its clock is not ours. `asOf`: what it said last. */
export function useServerNow(asOf: string | null): number {
  const now = useSyncExternalStore(eachSecond, seconds);
  const ahead = useMemo(() => (asOf === null ? 0 : Date.parse(asOf) - Date.now()), [asOf]);
  return now + ahead;
}

const seconds = () => Math.floor(Date.now() / 1000) * 1000;

function eachSecond(tick: () => void): () => void {
  const timer = setInterval(tick, 1000);
  return () => clearInterval(timer);
}
