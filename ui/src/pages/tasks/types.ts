export type TaskStatus =
  "pending" | "submitted" | "executing" | "completed" | "failed" | "timeout" | "retrying" | "cancelled";

export interface TaskTimes {
  readonly createdAt: string;
  readonly submittedAt: string | null;
  readonly startedAt: string | null;
  readonly completedAt: string | null;
}

export interface TaskFailure {
  readonly type: string;
  readonly message: string;
}

export interface TaskItem {
  readonly taskId: string;
  readonly status: TaskStatus;
  readonly language: string;
  readonly timestamps: TaskTimes;
  readonly final: boolean;
  readonly failure: TaskFailure | null;
}

export interface TaskResult {
  readonly output: string;
  readonly error: string;
  readonly exitCode: number | null;
  readonly executionTime: string | null;
  readonly cpuTime: string | null;
  readonly peakMemory: number | null;
  readonly signal: string | null;
  readonly exceeded: string | null;
  readonly version: string | null;
  readonly tier: string | null;
  readonly protections: Readonly<Record<string, boolean>> | null;
}

export interface Task {
  readonly taskId: string;
  readonly status: TaskStatus;
  readonly language: string;
  readonly result: TaskResult | null;
  readonly timestamps: TaskTimes;
  readonly assignedClient: string | null;
  readonly final: boolean;
  readonly attempts: number;
  readonly failure: TaskFailure | null;
  readonly resourceLimit: {
    readonly timeout: string;
    readonly memory: string;
    readonly cpu: string | null;
  } | null;
}

/** As tasks are answered: what was asked for is in `data`. */
export interface Envelope<T> {
  readonly data: T;
}

export const STATUSES = [
  "pending",
  "submitted",
  "executing",
  "completed",
  "failed",
  "timeout",
  "retrying",
  "cancelled",
] as const satisfies readonly TaskStatus[];

/** As all pages colour and sign it. */
export const SHOWN_AS: Readonly<Record<TaskStatus, string>> = {
  pending: "queued",
  submitted: "queued",
  executing: "running",
  completed: "succeeded",
  failed: "failed",
  timeout: "timeout",
  retrying: "running",
  cancelled: "cancelled",
};
