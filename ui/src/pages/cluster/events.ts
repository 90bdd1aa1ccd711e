import type { ClusterEvent, ClusterEvents } from "./types";

export const pick = (answer: ClusterEvents) => ({ items: answer.events, next: answer.next });

/** Seconds from its start to its end; null where it says no start. */
export function tookSeconds(event: ClusterEvent): number | null {
  if (event.startedAt === null || event.type === "member") return null;
  const took = (Date.parse(event.at) - Date.parse(event.startedAt)) / 1000;
  return Number.isFinite(took) && took >= 0 ? took : null;
}

export interface Failovers {
  readonly count: number;
  readonly longest: number | null;
  readonly last: number | null;
}

export function failoversOf(events: readonly ClusterEvent[]): Failovers {
  const downtimes = events.flatMap((event) =>
    event.type === "failover" && event.downtimeSeconds !== null ? [event.downtimeSeconds] : [],
  );
  return {
    count: events.filter((event) => event.type === "failover").length,
    longest: downtimes.length ? Math.max(...downtimes) : null,
    last: downtimes[0] ?? null,
  };
}

/** `migration`, `member.joined`, `rebalance.started` …: what the words call it. */
export function sortOf(event: ClusterEvent): string {
  return event.type === "member" || event.type === "rebalance"
    ? `${event.type}.${event.status ?? ""}`
    : event.type;
}

// What the engine writes of it (engine/tending.py, leases), and the words for it.
const REASONS = {
  "the members have changed": "reason.members",
  "a node is leaving": "reason.leaving",
  drift: "reason.drift",
  "it hands its shards over": "reason.handsOver",
  "it was stopped": "reason.stopped",
  "its process is gone": "reason.killed",
  "it has not beaten": "reason.silent",
  "a new life of the node has taken its place": "reason.replaced",
} as const;

export type ReasonWord = (typeof REASONS)[keyof typeof REASONS] | "reason.cameUp";

export interface ReasonTold {
  readonly word: ReasonWord | null; // null: one that has no words here
  readonly address: string;
  readonly shards: number | null; // that it was about, where it says so
}

const CAME_UP = /^it came up at (.+)$/;
const ABOUT = /^(.+): (\d+) shards$/;

export function reasonOf(reason: string): ReasonTold {
  const cameUp = CAME_UP.exec(reason)?.[1];
  if (cameUp !== undefined) return { word: "reason.cameUp", address: cameUp, shards: null };
  const about = ABOUT.exec(reason);
  const key = about?.[1] ?? reason;
  return {
    word: key in REASONS ? REASONS[key as keyof typeof REASONS] : null,
    address: "",
    shards: about?.[2] === undefined ? null : Number(about[2]),
  };
}
