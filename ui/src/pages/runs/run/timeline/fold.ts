import { familyOf } from "../fold";
import type { RunEvent, RunView, StepStatus } from "../types";

/** What a step did in a span of time. */
export type SpanKind = "queued" | "running" | "waiting" | "backoff" | "limited" | "parked" | "items";
export type Outcome = "succeeded" | "failed" | "lost" | "cancelled";

export interface Span {
  readonly kind: SpanKind;
  readonly attempt: number;
  readonly fromMs: number;
  toMs: number | null; // null: it goes on
  worker: string;
  outcome: Outcome | null;
  error: string;
}

export interface Row {
  readonly step: string;
  readonly of: string | null; // the step that it is an item or turn of
  spans: Span[];
  status: StepStatus;
  attempts: number;
  skipped: string; // why
}

export interface Chart {
  readonly rows: ReadonlyMap<string, Row>; // in the order in which steps were first heard of
  readonly startMs: number | null;
  readonly endMs: number | null;
  readonly pauses: readonly { fromMs: number; toMs: number | null }[];
  readonly undoFromMs: number | null;
  readonly events: number;
}

/** Makes a chart of the events of a run, told in order. What it gives is a picture of now. */
export class ChartFold {
  private rows = new Map<string, Row>();
  private startMs: number | null = null;
  private endMs: number | null = null;
  private pauses: { fromMs: number; toMs: number | null }[] = [];
  private undoFromMs: number | null = null;
  private permits = new Map<number, string>();
  seq = 0; // of the last event that was told
  private events = 0;

  chart(): Chart {
    const { startMs, endMs, undoFromMs, events } = this;
    return { rows: this.rows, startMs, endMs, pauses: [...this.pauses], undoFromMs, events };
  }

  take(event: RunEvent): void {
    if (event.seq <= this.seq) return;
    this.seq = event.seq;
    this.events++;
    const at = Date.parse(event.at);
    switch (event.type) {
      case "RunStarted":
        this.startMs = at;
        return;
      case "RunPaused":
        this.pauses.push({ fromMs: at, toMs: null });
        return;
      case "RunResumed":
        this.endPause(at);
        return;
      case "UndoStarted":
        this.undoFromMs = at;
        return;
      case "RunEnded":
        return this.end(at);
      case "PermitGranted": {
        const step = this.permits.get(event.number ?? 0);
        this.permits.delete(event.number ?? 0);
        if (step !== undefined && ![...this.permits.values()].includes(step))
          this.close(this.row(step), at, null);
        return;
      }
      default:
        if (event.step) this.takeOfStep(this.row(event.step), event, at);
    }
  }

  private takeOfStep(row: Row, event: RunEvent, at: number): void {
    const attempt = event.attempt ?? row.attempts;
    switch (event.type) {
      case "StepQueued":
        row.attempts = attempt;
        return this.open(row, "queued", at, attempt, "queued");
      case "StepGranted":
        this.open(row, "running", at, attempt, "running");
        return name(row, event.worker);
      case "WaitStarted":
      case "StepAwaits":
      case "ChildStarted":
        row.attempts = Math.max(1, attempt);
        return this.open(row, "waiting", at, row.attempts, "running");
      case "MapStarted":
        row.attempts = 1;
        return this.open(row, "items", at, 1, "running");
      case "TurnStarted":
        if (row.spans.at(-1)?.toMs !== null) this.open(row, "items", at, 1, "running");
        return;
      case "PermitAsked":
        this.permits.set(event.number ?? 0, row.step);
        return this.open(row, "limited", at, attempt, "waiting");
      case "RetryScheduled":
        return this.open(row, "backoff", at, attempt, "waiting");
      case "StepParked":
        return this.open(row, "parked", at, attempt, "waiting");
      case "StepReleased":
        return this.close(row, at, null);
      case "StepSucceeded":
        this.worked(row, event, at, attempt, "succeeded");
        row.status = "succeeded";
        return;
      case "AttemptFailed":
        return this.worked(row, event, at, attempt, "failed");
      case "AttemptLost":
        return this.worked(row, event, at, attempt, "lost");
      case "StepFailed":
        this.close(row, at, "failed", event.failure?.message);
        row.status = "failed";
        return;
      case "StepSkipped":
        row.status = "skipped";
        row.skipped = event.reason ?? "";
        return;
      case "StepCancelled":
        this.close(row, at, "cancelled");
        row.status = "cancelled";
        return;
    }
  }

  /** An attempt has ended. Short ones are not told before: then their end says when they began. */
  private worked(row: Row, event: RunEvent, at: number, attempt: number, outcome: Outcome): void {
    const last = row.spans.at(-1);
    const began = event.startedAt ? Math.min(at, Date.parse(event.startedAt)) : at;
    row.attempts = Math.max(row.attempts, attempt);
    if (last === undefined || last.toMs !== null || last.kind === "queued") {
      this.close(row, Math.max(began, last?.fromMs ?? began), null);
      row.spans.push(span("running", Math.max(began, last?.fromMs ?? began), attempt));
    }
    name(row, event.worker);
    this.close(row, at, outcome, event.failure?.message ?? event.reason);
    row.status = "waiting";
  }

  private open(row: Row, kind: SpanKind, at: number, attempt: number, status: StepStatus): void {
    this.close(row, at, null);
    row.spans.push(span(kind, at, attempt));
    row.status = status;
  }

  private close(row: Row, at: number, outcome: Outcome | null, error = ""): void {
    const last = row.spans.at(-1);
    if (last === undefined || last.toMs !== null) return;
    row.spans[row.spans.length - 1] = { ...last, toMs: at, outcome, error };
  }

  private row(step: string): Row {
    let row = this.rows.get(step);
    if (row === undefined) {
      row = { step, of: familyOf(step), spans: [], status: "waiting", attempts: 0, skipped: "" };
      this.rows.set(step, row);
    }
    return row;
  }

  private endPause(at: number): void {
    const last = this.pauses.at(-1);
    if (last !== undefined && last.toMs === null) this.pauses[this.pauses.length - 1] = { ...last, toMs: at };
  }

  private end(at: number): void {
    this.endMs = at;
    this.endPause(at);
    for (const row of this.rows.values()) {
      if (row.spans.at(-1)?.toMs !== null) continue;
      this.close(row, at, "cancelled");
      row.status = "cancelled";
    }
  }
}

function span(kind: SpanKind, fromMs: number, attempt: number): Span {
  return { kind, attempt, fromMs, toMs: null, worker: "", outcome: null, error: "" };
}

function name(row: Row, worker: string | undefined): void {
  const last = row.spans.at(-1);
  if (last !== undefined && worker) row.spans[row.spans.length - 1] = { ...last, worker };
}

/** What can be told of a run whose events are deleted: from when to when each step ran. */
export function chartOfRun(run: RunView): Chart {
  const rows = new Map<string, Row>();
  const ms = (at: string | null) => (at === null ? null : Date.parse(at));
  for (const step of run.steps) {
    const fromMs = ms(step.startedAt);
    const outcome = step.status === "succeeded" || step.status === "failed" ? step.status : null;
    const only: Span[] =
      fromMs === null
        ? []
        : [
            {
              ...span(step.items === null ? "running" : "items", fromMs, step.attempts),
              toMs: ms(step.endedAt),
              worker: step.worker ?? "",
              outcome,
              error: step.error?.message ?? "",
            },
          ];
    rows.set(step.id, {
      step: step.id,
      of: step.item === null ? null : step.of,
      spans: only,
      status: step.status,
      attempts: step.attempts,
      skipped: step.skipped ?? "",
    });
  }
  return {
    rows,
    startMs: ms(run.startedAt),
    endMs: ms(run.endedAt),
    pauses: [],
    undoFromMs: null,
    events: 0,
  };
}
