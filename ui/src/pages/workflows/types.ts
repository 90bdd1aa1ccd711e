import type { JsonValue } from "../../components";

export type Document = { readonly [key: string]: JsonValue };

export interface Schedule {
  readonly id: string;
  readonly workflow: string;
  readonly name: string;
  readonly cron: string | null;
  readonly every: string | null;
  readonly timezone: string;
  readonly overlap: Overlap;
  readonly catchUp: string;
  readonly start: string | null;
  readonly end: string | null;
  readonly input: JsonValue;
  readonly labels: Readonly<Record<string, string>>;
  readonly source: "document" | "api";
  readonly paused: boolean;
  readonly next: readonly string[];
  readonly openRuns: number;
  readonly queued: number;
  readonly backfill: number;
  readonly fired: number;
  readonly skipped: number;
  readonly failed: number;
  readonly last: Firing | null;
}
export type Overlap = "skip" | "queue" | "allow";

export interface Firing {
  readonly due: string;
  readonly status: string;
  readonly run: string | null;
  readonly reason: string | null;
}

export interface SchedulePage {
  readonly items: readonly Schedule[];
  readonly next: string | null;
}

export interface RunItem {
  readonly id: string;
  readonly version: number;
  readonly status: string;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly durationSeconds: number | null;
  readonly error: { readonly message: string } | null;
}

/** What a list shows of a workflow. */
export interface WorkflowItem {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly version: number;
  readonly steps: number;
  readonly updatedAt: string;
  readonly lastRun: RunItem | null;
  readonly nextTime: string | null;
  readonly schedulePaused: boolean;
}

export interface VersionItem {
  readonly version: number;
  readonly createdAt: string;
  readonly hash: string;
}
