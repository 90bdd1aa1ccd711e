import type { Worker, WorkerState } from "./types";

export const STATES = [
  "ONLINE",
  "BUSY",
  "DEGRADED",
  "REGISTERING",
  "OFFLINE",
  "paused",
  "draining",
] as const satisfies readonly (WorkerState | "paused" | "draining")[];
export type ShownState = (typeof STATES)[number];

/** What people want to know first: an operator's word, unless the worker is away. */
export function stateOf(worker: Pick<Worker, "state" | "halt">): ShownState {
  return worker.halt && worker.state !== "OFFLINE" ? worker.halt : worker.state;
}

/** As all pages colour and sign it. */
export const SHOWN_AS: Readonly<Record<ShownState, string>> = {
  ONLINE: "up",
  BUSY: "busy",
  DEGRADED: "astray",
  REGISTERING: "joining",
  OFFLINE: "down",
  paused: "paused",
  draining: "draining",
};

export interface Wanted {
  readonly state: ShownState | "all";
  readonly search: string;
}

export function matching(workers: readonly Worker[], wanted: Wanted): Worker[] {
  const search = wanted.search.trim().toLowerCase();
  return workers.filter(
    (worker) =>
      (wanted.state === "all" || stateOf(worker) === wanted.state) &&
      (!search ||
        [worker.id, worker.node, worker.host, ...worker.capabilities].some((text) =>
          text.toLowerCase().includes(search),
        )),
  );
}

/** One id may have two lives for a moment: they are two rows. */
export const rowKey = (worker: Worker): string => `${worker.id} ${worker.session}`;
