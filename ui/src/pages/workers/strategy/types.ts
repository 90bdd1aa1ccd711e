export interface Assignment {
  readonly strategy: string;
  readonly weights: { readonly active: number; readonly cpu: number; readonly memory: number };
  readonly adaptive: {
    readonly cpuMax: number;
    readonly tripMaxSeconds: number;
    readonly failuresMax: number;
    readonly holdSeconds: number;
  };
  readonly configured: string;
  readonly setBy: string | null;
  readonly setAt: string | null;
  readonly strategies: readonly string[];
  readonly switches: readonly Switch[];
}

export interface Switch {
  readonly at: string;
  readonly before: string;
  readonly after: string;
  readonly why: string;
}

export type KeyPart = number | string;

export interface Ranked {
  readonly worker: string;
  readonly key: readonly KeyPart[];
}

export interface Choice {
  readonly at: string;
  readonly namespace: string;
  readonly workflow: string;
  readonly runId: string;
  readonly step: string;
  readonly attempt: number;
  readonly worker: string;
  readonly node: string;
  readonly strategy: string; // that was in force
  readonly source: "cluster" | "workflow" | "step"; // who said so
  readonly followed: string | null; // in the end
  readonly key: readonly KeyPart[];
  readonly known: number; // workers of the cluster
  readonly count: number | null; // of these, could have had it
  readonly top: readonly Ranked[]; // the chosen one first
}

export interface Choices {
  readonly items: readonly Choice[];
  readonly silent: readonly string[]; // nodes that did not tell theirs
}
