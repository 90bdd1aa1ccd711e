export interface RunItem {
  readonly id: string;
  readonly workflow: string;
  readonly version: number;
  readonly status: string;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly durationSeconds: number | null;
  readonly waitingFor: "approval" | "release" | "signal" | null;
  readonly error: { readonly type: string; readonly message: string } | null;
}

export interface Minute {
  readonly at: string;
  readonly started: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly other: number;
}

/** Tasks that need the same, and that no worker could run. */
export interface Unserved {
  readonly requires: readonly string[];
  readonly missing: readonly string[]; // of it, what nobody offers
  readonly tasks: number;
  readonly run: string; // of the next one
  readonly step: string;
  readonly since: string;
}

export interface OverviewView {
  readonly silent: readonly string[]; // nodes that did not tell what they counted
  readonly minutes: readonly Minute[];
  readonly latency: {
    readonly runs: number;
    readonly p50Seconds: number | null;
    readonly p95Seconds: number | null;
  };
  readonly openRuns: number;
  readonly waiting: readonly RunItem[];
  readonly unserved: readonly Unserved[];
  readonly stuck: readonly RunItem[];
  readonly failed: readonly RunItem[];
  readonly nodes: { readonly up: number; readonly leaving: number };
  readonly asOf: string;
}

export interface WorkersView {
  readonly items: readonly { readonly slots: number; readonly active: number }[];
  readonly counts: Readonly<Record<string, number>>;
}
