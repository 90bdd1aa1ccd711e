import { useCallback, useEffect, useRef, useState } from "react";
import { namespaceOf, usePlace } from "../router";
import { address, ask, type Query } from "./client";
import { useConnection } from "./connection";
import { hub } from "./hub";
import { asProblem, isAbort, type Problem } from "./problem";

export interface Asked<T> {
  readonly data: T | null; // what was read last; stays while it is read again
  readonly problem: Problem | null;
  readonly loading: boolean;
  readonly again: () => void;
}

export interface AskOptions {
  readonly query?: Query;
  readonly live?: boolean; // follow it: whatever changes on the server is told, see hub.ts
}

interface AskState<T> extends Omit<Asked<T>, "again"> {
  readonly key: string; // of what it is the answer
}

/**
 * Read a path of the API for as long as the component lives; null: nothing yet. It is read again when the path,
 * query or namespace changes and when a lost server is back.
 */
export function useAsk<T>(path: string | null, options: AskOptions = {}): Asked<T> {
  const { returns } = useConnection();
  const namespace = namespaceOf(usePlace().query);
  const [turn, setTurn] = useState(0);
  const live = options.live ?? false;
  const query = useStable(options.query ?? {});
  const key = `${path} ${JSON.stringify(query)} ${namespace}`;
  const [state, setState] = useState<AskState<T>>({
    key,
    data: null,
    problem: null,
    loading: path !== null,
  });

  useEffect(() => {
    if (path === null || live) return;
    const stop = new AbortController();
    setState((now) => waiting(now, key));
    ask<T>("GET", path, { query, signal: stop.signal }).then(
      (data) => setState({ key, data, problem: null, loading: false }),
      (error: unknown) => {
        if (!isAbort(error)) setState((now) => ({ ...now, key, problem: asProblem(error), loading: false }));
      },
    );
    return () => stop.abort();
  }, [path, query, key, live, turn, returns]);

  useEffect(() => {
    if (path === null || !live) return;
    setState((now) => waiting(now, key));
    return hub.watch(address(path, { ...query, namespace }), ({ data, problem }) =>
      setState({ key, data: data as T | null, problem, loading: false }),
    );
  }, [path, query, key, live, namespace]);

  const again = useCallback(() => {
    if (path === null) return;
    if (!live) return setTurn((now) => now + 1);
    setState((now) => ({ ...now, loading: true }));
    hub.again();
  }, [path, live]);
  const fits = state.key === key;
  return {
    data: fits ? state.data : null,
    problem: fits ? state.problem : null,
    loading: fits ? state.loading : path !== null,
    again,
  };
}

/** What is known of this stays while it is read again; nothing is known of another. */
function waiting<T>(now: AskState<T>, key: string): AskState<T> {
  return now.key === key ? { ...now, loading: true } : { key, data: null, problem: null, loading: true };
}

export interface Acting {
  readonly busy: boolean;
  readonly problem: Problem | null;
  /** Do it, unless it is being done. True: it went well. */
  readonly act: (deed: () => Promise<unknown>) => Promise<boolean>;
  readonly forget: () => void; // the problem
}

/** A change: `const saving = useAct()`, then `if (await saving.act(() => put(…))) …`. */
export function useAct(): Acting {
  const [state, setState] = useState<{ busy: boolean; problem: Problem | null }>({
    busy: false,
    problem: null,
  });
  const busy = useRef(false);
  const act = useCallback(async (deed: () => Promise<unknown>) => {
    if (busy.current) return false;
    busy.current = true;
    setState({ busy: true, problem: null });
    try {
      await deed();
      setState({ busy: false, problem: null });
      return true;
    } catch (error) {
      setState({ busy: false, problem: isAbort(error) ? null : asProblem(error) });
      return false;
    } finally {
      busy.current = false;
    }
  }, []);
  const forget = useCallback(() => setState((now) => ({ ...now, problem: null })), []);
  return { ...state, act, forget };
}

/** The same object for as long as it says the same. */
export function useStable<T>(value: T): T {
  const text = JSON.stringify(value);
  const kept = useRef({ text, value });
  if (kept.current.text !== text) kept.current = { text, value };
  return kept.current.value;
}
