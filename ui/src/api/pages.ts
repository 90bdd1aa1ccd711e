import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { namespaceOf, usePlace } from "../router";
import { address, ask } from "./client";
import { useConnection } from "./connection";
import { hub } from "./hub";
import { asProblem, isAbort, type Problem } from "./problem";
import { useStable, type AskOptions } from "./use";

export interface Paged<T> {
  readonly items: readonly T[];
  readonly problem: Problem | null;
  readonly loading: boolean;
  readonly more: (() => void) | null; // null: this was the last page
  readonly again: () => void; // from the first page
  readonly known: boolean; // whether the first page has come
  readonly older: boolean; // more than the first page is shown, so it stands still
}

export interface PageOf<T> {
  readonly items: readonly T[];
  readonly next: string | number | null;
}

interface PagedState<T> extends PageOf<T> {
  readonly key: string;
  readonly problem: Problem | null;
  readonly loading: boolean;
  readonly known: boolean;
  readonly older: boolean;
}

export interface PagesOptions<T> extends AskOptions {
  readonly cursor?: "after" | "before"; // which parameter takes `next`
  readonly pick?: (answer: never) => PageOf<T>; // where the answer is no `{items, next}`; outside of the component
}

/**
 * A list of the API that comes in pages, `{items, next}`. Another query begins anew. With `live` the first page is
 * followed; once somebody reads on below it, what they see stays where it is, until `again`.
 */
export function usePages<T>(path: string | null, options: PagesOptions<T> = {}): Paged<T> {
  const { returns } = useConnection();
  const namespace = namespaceOf(usePlace().query);
  const [turn, setTurn] = useState(0);
  const query = useStable(options.query ?? {});
  const cursor = options.cursor ?? "after";
  const { pick, live = false } = options;
  const key = `${path} ${JSON.stringify(query)} ${namespace}`;
  const [state, setState] = useState<PagedState<T>>(() => begun(key));
  const stop = useRef<AbortController | null>(null);
  const shown = state.key === key ? state : begun<T>(key);
  const { next, loading, older } = shown;

  const take = useCallback(
    (answer: unknown, after: string | number | null) => {
      const page = pick ? pick(answer as never) : (answer as PageOf<T>);
      setState((now) => ({
        key,
        items: after === null ? page.items : [...now.items, ...page.items],
        next: page.next,
        problem: null,
        loading: false,
        known: true,
        older: after !== null,
      }));
    },
    [pick, key],
  );
  const refuse = useCallback(
    (problem: Problem) =>
      setState((now) => ({ ...(now.key === key ? now : begun<T>(key)), problem, loading: false })),
    [key],
  );

  const read = useCallback(
    (after: string | number | null) => {
      if (path === null) return;
      stop.current?.abort();
      const control = new AbortController();
      stop.current = control;
      setState((now) => ({
        ...(now.key === key ? now : begun<T>(key)),
        loading: true,
        older: after !== null,
      }));
      ask("GET", path, { query: { ...query, [cursor]: after }, signal: control.signal }).then(
        (answer) => take(answer, after),
        (error: unknown) => isAbort(error) || refuse(asProblem(error)),
      );
    },
    [path, query, cursor, key, take, refuse],
  );

  useEffect(() => {
    if (!live) read(null);
    return () => stop.current?.abort();
  }, [read, live, turn, live ? 0 : returns]); // what is followed comes again by itself

  useEffect(() => {
    if (path === null || !live || older) return;
    return hub.watch(address(path, { ...query, namespace }), ({ data, problem }) =>
      problem === null ? take(data, null) : refuse(problem),
    );
  }, [path, query, namespace, live, older, take, refuse]);

  const again = useCallback(() => {
    if (path === null) return;
    if (!live) return setTurn((now) => now + 1);
    stop.current?.abort();
    setState((now) => ({ ...now, loading: true, older: false }));
    hub.again();
  }, [path, live]);
  const more = useMemo(() => (next === null || loading ? null : () => read(next)), [next, loading, read]);
  return {
    items: shown.items,
    problem: shown.problem,
    loading,
    known: shown.known,
    older,
    more,
    again,
  };
}

function begun<T>(key: string): PagedState<T> {
  return { key, items: [], next: null, problem: null, loading: true, known: false, older: false };
}
