import { useEffect, useState } from "react";
import { at, get, useAsk, type Problem } from "../../../../../api";
import type { RunEvent, RunView, StepView } from "../../types";
import { readAll, type Page } from "../feed/feed";

const MOST_EVENTS = 5_000;
const PAUSE_MS = 500;
const MANY = 500; // steps; a run that has more is not read anew at each event

export interface FoundStep {
  readonly step: StepView | null;
  readonly problem: Problem | null;
}

/** A step of the run. One that is left out of it, and one of a run that is read rarely, is read by itself. */
export function useStep(run: RunView, name: string): FoundStep {
  const known = run.steps.find((step) => step.id === name) ?? null;
  const alone = (known === null || run.steps.length > MANY) && !run.purged;
  const asked = useAsk<StepView>(alone ? at("/runs/:run/steps/:step", { run: run.id, step: name }) : null);
  const { again } = asked;
  const changed = known ?? run.seq;
  useEffect(() => {
    const timer = setTimeout(again, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [changed, run.status, again]);
  if (known === null) return { step: asked.data, problem: asked.problem };
  return { step: asked.data !== null && isAsNew(asked.data, known) ? asked.data : known, problem: null };
}

const isAsNew = (read: StepView, known: StepView): boolean =>
  read.status === known.status && read.attempts >= known.attempts;

/** What happened to the step, read anew when it has changed. */
export function useStepEvents(run: string, step: StepView): readonly RunEvent[] | null {
  const [events, setEvents] = useState<readonly RunEvent[] | null>(null);
  const told = [step.status, step.attempts, step.worker, step.retryAt, step.endedAt, step.parked?.since].join(
    " ",
  );
  useEffect(() => {
    let wanted = true;
    const path = at("/runs/:run/events", { run });
    const read = (after: number, limit: number) =>
      get<Page<RunEvent>>(path, { query: { step: step.id, after, limit } });
    readAll(read, MOST_EVENTS).then(
      (found) => wanted && setEvents(found),
      () => wanted && setEvents((now) => now ?? []), // the panel says the rest without them
    );
    return () => {
      wanted = false;
    };
  }, [run, step.id, told]);
  return events;
}
