import { useEffect, useRef, useState } from "react";
import { namespaceOf, usePlace } from "../router";
import { send, type Query } from "./client";
import { heard, onReturn, streaming } from "./connection";
import { asProblem, isAbort, Problem } from "./problem";
import { isSeen, onSeen, untilSeen } from "./seen";
import { SseReader, type Message } from "./sse";

/** connecting → open ⇄ lost → ended (the server said `end`) or refused (it will not answer this). */
export type LiveState = "connecting" | "open" | "lost" | "ended" | "refused";

export interface LiveOptions {
  readonly query?: Query;
  readonly after?: number; // only what comes after this number
  readonly namespace?: string | null; // another one than that of the address
  readonly onMessage: (message: Message) => void; // `reset` among them: its data is the whole state anew
  readonly onState?: (state: LiveState, problem: Problem | null) => void;
}

const FIRST_MS = 500;
const LONGEST_MS = 10_000;
const SILENCE_MS = 45_000; // the server says something every 15 s

/**
 * Follow a stream until it ends or `stop()` is called: whatever breaks, it goes on where it was. It rests while the
 * tab is hidden, since a browser lets all tabs together have six connections to a server.
 */
export function follow(path: string, options: LiveOptions): () => void {
  const control = new AbortController();
  void keepFollowing(path, options, control.signal);
  return () => control.abort();
}

async function keepFollowing(path: string, options: LiveOptions, stop: AbortSignal): Promise<void> {
  const tell = (state: LiveState, problem: Problem | null = null) => {
    if (!stop.aborted) options.onState?.(state, problem);
  };
  let last = options.after === undefined ? "" : String(options.after);
  let wait = FIRST_MS;
  tell("connecting");
  for (;;) {
    await untilSeen(stop);
    if (stop.aborted) return;
    try {
      const ended = await once(
        path,
        options,
        stop,
        last,
        (message) => {
          last = message.id || last;
          wait = FIRST_MS;
        },
        () => tell("open"),
      );
      if (ended) return tell("ended");
      if (!isSeen()) continue;
      tell("lost");
    } catch (error) {
      if (stop.aborted) return;
      if (isAbort(error) && !isSeen()) continue;
      const problem = isAbort(error) ? null : asProblem(error);
      if (problem !== null && isFinal(problem)) return tell("refused", problem);
      tell("lost", problem);
    }
    await pause(wait * (0.75 + Math.random() / 2), stop);
    wait = Math.min(LONGEST_MS, wait * 2);
  }
}

/** One connection. True: the server said that this was all. */
async function once(
  path: string,
  options: LiveOptions,
  stop: AbortSignal,
  last: string,
  seen: (message: Message) => void,
  opened: () => void,
): Promise<boolean> {
  const silence = new AbortController();
  const giveUp = () => silence.abort();
  let timer = setTimeout(giveUp, SILENCE_MS);
  const signal = AbortSignal.any([stop, silence.signal]);
  const unwatched = onSeen(() => isSeen() || giveUp());
  let over = () => {};
  try {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (last) headers["Last-Event-ID"] = last;
    const { query, namespace } = options;
    const answer = await send("GET", path, { query, namespace, headers, signal });
    over = streaming();
    opened();
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    if (reader === undefined) return false;
    const sse = new SseReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || stop.aborted) return false;
      heard();
      clearTimeout(timer);
      timer = setTimeout(giveUp, SILENCE_MS);
      for (const message of sse.push(value)) {
        seen(message);
        options.onMessage(message);
        if (message.event === "end") return true;
      }
    }
  } catch (error) {
    if (error instanceof TypeError) throw new Problem(0, "", String(error)); // cut off in the middle
    throw error;
  } finally {
    over();
    unwatched();
    clearTimeout(timer);
    silence.abort();
  }
}

/** Whether asking again is in vain. 408, 429 and 5xx pass. */
function isFinal(problem: Problem): boolean {
  return problem.status >= 400 && problem.status < 500 && problem.status !== 408 && problem.status !== 429;
}

/** For a while, or until the server is back, or this machine has a network again. */
function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    const forget = onReturn(done);
    function done(): void {
      forget();
      clearTimeout(timer);
      window.removeEventListener("online", done);
      stop.removeEventListener("abort", done);
      resolve();
    }
    window.addEventListener("online", done);
    stop.addEventListener("abort", done);
  });
}

/** The same for as long as the component lives; null: nothing to follow. */
export function useLive(
  path: string | null,
  options: LiveOptions,
): { state: LiveState; problem: Problem | null } {
  const [told, setTold] = useState<{ state: LiveState; problem: Problem | null }>({
    state: "connecting",
    problem: null,
  });
  const namespace = namespaceOf(usePlace().query);
  const latest = useRef(options);
  latest.current = options;
  useEffect(() => {
    if (path === null) return;
    return follow(path, {
      ...latest.current,
      onMessage: (message) => latest.current.onMessage(message),
      onState: (state, problem) => {
        setTold({ state, problem });
        latest.current.onState?.(state, problem);
      },
    });
  }, [path, namespace]);
  return told;
}
