import { useEffect } from "react";
import { choice, navigate, currentPlace, flag, text, useFilters, writeFilters } from "../../../router";
import { awaitedStep } from "./awaited";
import type { RunView } from "./types";

export const TABS = ["graph", "timeline", "steps", "logs", "events", "data"] as const;
export type TabKey = (typeof TABS)[number];

/** What the address of a run's page says: the tab and the step that are looked at; `awaits`: the one that waits. */
export const VIEW = { tab: choice(TABS, "graph"), step: text(), awaits: flag() };

export const useView = () => useFilters(VIEW);

/** Who comes from a list of runs that wait does not know the step: it is looked up here, once the run is known. */
export function useAwaited(run: RunView | null): void {
  const [{ awaits }] = useView();
  useEffect(() => {
    if (!awaits || run === null) return;
    const now = currentPlace();
    const found = { awaits: false, step: awaitedStep(run.steps) ?? "" };
    navigate(now.path + writeFilters(VIEW, now.query, found), { replace: true, keepScroll: true });
  }, [awaits, run]);
}

/** Show the panel of a step; empty: close it. */
export function openStep(step: string): void {
  change({ step });
}

export function openTab(tab: TabKey, step?: string): void {
  change(step === undefined ? { tab } : { tab, step });
}

function change(changed: { tab?: TabKey; step?: string }): void {
  const now = currentPlace();
  navigate(now.path + writeFilters(VIEW, now.query, changed), { keepScroll: true });
}
