import { useEffect, useRef, useState } from "react";
import { at, useLive, type LiveState } from "../../../../api";
import { currentPlace, namespaceOf } from "../../../../router";
import { eventOf } from "../live";
import type { RunView } from "../types";
import { ChartFold, chartOfRun, type Chart } from "./fold";

const FLUSH_MS = 200;

export interface LiveChart {
  readonly chart: Chart;
  readonly state: LiveState;
  readonly purged: boolean;
}

// Of the run that was looked at last: who comes back to its chart does not have all of it sent again.
let last: { readonly of: string; readonly fold: ChartFold } | null = null;

function foldOf(run: RunView): ChartFold {
  const of = `${namespaceOf(currentPlace().query)} ${run.id} ${run.startedAt}`;
  if (last?.of !== of) last = { of, fold: new ChartFold() };
  return last.fold;
}

/** The chart of a run from its first event on, followed to its end. */
export function useChart(run: RunView): LiveChart {
  const [fold] = useState(() => foldOf(run));
  const [chart, setChart] = useState<Chart>(() => fold.chart());
  const [purged, setPurged] = useState(run.purged);
  const [whole] = useState(() => fold.chart().endMs !== null); // all of it was read before
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current);
      timer.current = null;
    },
    [],
  );
  const live = useLive(run.purged || whole ? null : at("/runs/:run/stream", { run: run.id }), {
    after: fold.seq,
    onMessage: (message) => {
      if (message.event === "reset") return setPurged(true);
      const event = eventOf(message);
      if (event !== null) fold.take(event);
      timer.current ??= setTimeout(() => {
        timer.current = null;
        setChart(fold.chart());
      }, FLUSH_MS);
    },
  });
  if (purged) return { chart: chartOfRun(run), state: "ended", purged };
  return { chart, state: whole ? "ended" : live.state, purged };
}
