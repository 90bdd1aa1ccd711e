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
  readonly stuck: readonly RunItem[];
  readonly failed: readonly RunItem[];
  readonly nodes: { readonly up: number; readonly leaving: number };
  readonly asOf: string;
}

export interface WorkersView {
  readonly items: readonly { readonly slots: number; readonly active: number }[];
  readonly counts: Readonly<Record<string, number>>;
}
