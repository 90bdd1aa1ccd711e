import { useCallback, useEffect, useMemo, useReducer, useRef, useState } from "react";
import { at, parseJson, useAsk, useLive, type LiveState, type Message, type Problem } from "../../../api";
import { foldRun } from "./fold";
import { Pacer } from "./pacer";
import { hasEnded, type RunEvent, type RunView } from "./types";

const FLUSH_MS = 100; // events that come faster are taken together
const REST_MS_PER_STEP = 2; // after a reading; what is large is read rarely

// What these bring is not all in the event: the run is read soon, however large it is.
const UNTOLD: ReadonlySet<string> = new Set(["StepAwaits", "StepParked", "UndoStarted", "RunEnded", "end"]);

export interface LiveRun {
  readonly run: RunView | null;
  readonly problem: Problem | null;
  readonly live: LiveState;
  readonly again: () => void;
}

/** A run, followed: events change it at once, and it is read anew now and then. */
export function useRun(id: string): LiveRun {
  const asked = useAsk<RunView>(at("/runs/:run", { run: id }));
  const { data, loading, again } = asked;
  const [{ run }, tell] = useReducer(told, NOTHING);
  const [from, setFrom] = useState<number | null>(null);
  const pacer = useMemo(() => new Pacer(again), [again]);
  useEffect(() => () => pacer.stop(), [pacer]);
  useEffect(() => {
    if (loading) pacer.began();
    else pacer.done(REST_MS_PER_STEP * (data?.steps.length ?? 0));
  }, [pacer, loading, data]);
  useEffect(() => {
    tell({ read: data });
    if (data !== null && data.seq !== null && !hasEnded(data.status)) setFrom((now) => now ?? data.seq);
  }, [data]);

  const gather = useGathered(useCallback((came: readonly RunEvent[]) => tell({ came }), []));
  const live = useLive(from === null ? null : at("/runs/:run/stream", { run: id }), {
    after: from ?? 0,
    onMessage: (message) => {
      const event = eventOf(message);
      if (event !== null) gather(event);
      pacer.want(event === null || UNTOLD.has(event.type));
    },
  });
  const over = data !== null && (data.purged || hasEnded(data.status));
  return {
    run: data === null ? null : (run ?? data),
    problem: asked.problem,
    live: over ? "ended" : live.state,
    again,
  };
}

/** What is known of a run, and the events since it was read: they may be needed again when it is read anew. */
export interface Known {
  readonly run: RunView | null;
  readonly news: readonly RunEvent[];
}

export const NOTHING: Known = { run: null, news: [] };

export type Told = { readonly read: RunView | null } | { readonly came: readonly RunEvent[] };

/** The run with what was told. Events are taken once each: folding all of them each time would take ever longer. */
export function told(now: Known, what: Told): Known {
  if ("came" in what) {
    const news = now.news.concat(what.came);
    return { run: now.run === null ? null : foldRun(now.run, what.came), news };
  }
  if (what.read === null) return NOTHING;
  const known = what.read.seq ?? 0;
  const news = now.news.filter((event) => event.seq > known);
  return { run: foldRun(what.read, news), news };
}

/** The event that a message of the stream brings; null for `reset`, `end` and what cannot be read. */
export function eventOf(message: Message): RunEvent | null {
  if (message.event === "reset" || message.event === "end") return null;
  try {
    return parseJson<RunEvent>(message.data);
  } catch {
    return null;
  }
}

function useGathered(take: (came: readonly RunEvent[]) => void) {
  const waiting = useRef<RunEvent[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current);
      timer.current = null;
    },
    [],
  );
  return useCallback(
    (event: RunEvent) => {
      waiting.current.push(event);
      timer.current ??= setTimeout(() => {
        timer.current = null;
        take(waiting.current.splice(0));
      }, FLUSH_MS);
    },
    [take],
  );
}
