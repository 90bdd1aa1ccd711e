import { useCallback, useEffect, useRef, useState } from "react";
import {
  asProblem,
  useConnection,
  useLive,
  type LiveState,
  type Message,
  type Problem,
  type Query,
} from "../../../../../api";
import { append, nothing, prepend, readBefore, type Feed, type NumberOf, type ReadPage } from "./feed";

/** Where a feed comes from. The component that uses it is made anew (`key`) for another one. */
export interface Source<T> {
  readonly first: () => Promise<Feed<T>>; // what is shown at once: the end of it
  readonly read: ReadPage<T>;
  readonly stream: string;
  readonly query?: Query;
  readonly number: NumberOf<T>;
  readonly fresh: (message: Message) => T | null; // null: it is no part of this
  readonly begin?: number; // the stream begins after this number if nothing is there yet
}

export interface Fed<T> {
  readonly items: readonly T[];
  readonly known: boolean; // whether the first of it has come
  readonly state: LiveState;
  readonly problem: Problem | null;
  readonly earlier: (() => void) | null; // read some of what came before; null: there is nothing
  readonly reading: boolean;
  readonly again: () => void;
}

const MOST = 100_000; // items that are kept
const GATHER_MS = 60; // what comes within this is drawn at once

export function useFeed<T>(source: Source<T>): Fed<T> {
  const { returns } = useConnection();
  const latest = useRef(source);
  latest.current = source;
  const [feed, setFeed] = useState<Feed<T>>(nothing);
  const [after, setAfter] = useState<number | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [reading, setReading] = useState(false);
  const [turn, setTurn] = useState(0);
  const known = after !== null;

  useEffect(() => {
    if (known) return;
    let wanted = true;
    latest.current.first().then(
      (found) => {
        if (!wanted) return;
        const last = found.items.at(-1);
        setFeed(found);
        setProblem(null);
        setAfter(last === undefined ? (latest.current.begin ?? 0) : latest.current.number(last));
      },
      (error: unknown) => wanted && setProblem(asProblem(error)),
    );
    return () => {
      wanted = false;
    };
  }, [known, turn, returns]);

  const take = useGathered((messages: readonly Message[]) => {
    const fresh = messages.map((message) => latest.current.fresh(message)).filter((item) => item !== null);
    setFeed((now) => append(now, fresh, latest.current.number, MOST));
  });
  const live = useLive(known ? source.stream : null, {
    query: source.query ?? {},
    after: after ?? 0,
    onMessage: (message) => {
      if (message.event === "reset") setFeed(nothing);
      else if (message.event !== "end") take(message);
    },
  });

  const earlier = useCallback(() => {
    const { read, number } = latest.current;
    const head = feed.items[0];
    if (head === undefined) return;
    setReading(true);
    readBefore(number(head), read, number)
      .then(
        (found) => setFeed((now) => prepend(now, found.items, number, found.fromStart)),
        (error: unknown) => setProblem(asProblem(error)),
      )
      .finally(() => setReading(false));
  }, [feed]);

  return {
    items: feed.items,
    known,
    state: live.state,
    problem: problem ?? live.problem,
    earlier: feed.fromStart || feed.items.length === 0 || reading ? null : earlier,
    reading,
    again: useCallback(() => setTurn((now) => now + 1), []),
  };
}

/** Many messages in a row cause one drawing. */
function useGathered(act: (messages: readonly Message[]) => void): (message: Message) => void {
  const held = useRef<Message[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const latest = useRef(act);
  latest.current = act;
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current);
      timer.current = null;
    },
    [],
  );
  return useCallback((message: Message) => {
    held.current.push(message);
    timer.current ??= setTimeout(() => {
      timer.current = null;
      latest.current(held.current.splice(0));
    }, GATHER_MS);
  }, []);
}
