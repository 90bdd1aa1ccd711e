export type WorkerState = "OFFLINE" | "REGISTERING" | "ONLINE" | "BUSY" | "DEGRADED";
export type Halt = "" | "paused" | "draining";

export interface WorkerTask {
  readonly namespace: string;
  readonly runId: string;
  readonly step: string;
  readonly attempt: number;
}

export interface Worker {
  readonly id: string;
  readonly session: string;
  readonly node: string;
  readonly state: WorkerState;
  readonly halt: Halt;
  readonly connected: boolean;
  readonly builtIn: boolean;
  readonly slots: number;
  readonly active: number;
  readonly cpu: number;
  readonly memory: number;
  readonly successRate: number;
  readonly results: number;
  readonly latencySeconds: number;
  readonly roundTripSeconds: number;
  readonly lastHeartbeat: string;
  readonly capabilities: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly namespaces: readonly string[];
  readonly host: string;
  readonly hostGroup: string;
  readonly weight: number;
  readonly program: string;
  readonly address: string;
  readonly connectedBy: string | null;
  readonly tasks: readonly WorkerTask[];
}

export interface Workers {
  readonly items: readonly Worker[];
  readonly counts: Readonly<Record<WorkerState, number>>;
  readonly asOf: string;
}
