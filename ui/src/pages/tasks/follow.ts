import { useCallback, useEffect, useRef, useState } from "react";
import { at, useAsk, useLive, type LiveState, type Problem } from "../../api";
import { append, NOTHING, type Line, type Printed } from "./lines";
import type { Envelope, Task } from "./types";

interface Told {
  readonly stream: string;
  readonly text: string;
  readonly attempt: number;
}

export interface Followed {
  readonly task: Task | null;
  readonly printed: Printed;
  readonly live: LiveState;
  readonly problem: Problem | null;
  readonly again: () => void;
}

/** A task and what it prints, until it has ended. */
export function useTask(id: string): Followed {
  const [ended, setEnded] = useState<Task | null>(null);
  const [printed, setPrinted] = useState<Printed>(NOTHING);
  const waiting = useRef<Line[]>([]);
  const frame = useRef(0);
  const flush = useCallback(() => {
    frame.current = 0;
    const come = waiting.current;
    waiting.current = [];
    setPrinted((before) => append(before, come));
  }, []);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);

  const asked = useAsk<Envelope<Task>>(ended ? null : at("/tasks/:task", { task: id }), {
    live: true,
  });
  const { state, problem } = useLive(ended ? null : at("/tasks/:task/stream", { task: id }), {
    onMessage: ({ id: n, event, data }) => {
      if (event === "output") {
        const { stream, text, attempt } = JSON.parse(data) as Told;
        waiting.current.push({ n: Number(n), stream, text, attempt });
        frame.current ||= requestAnimationFrame(flush);
      } else if (event === "ended") {
        flush();
        setEnded(JSON.parse(data) as Task);
      }
    },
  });
  return {
    task: ended ?? asked.data?.data ?? null,
    printed,
    live: ended ? "ended" : state,
    problem: asked.problem ?? problem,
    again: asked.again,
  };
}
