import {
  stepEnded,
  type RunEvent,
  type RunStatus,
  type RunView,
  type StepStatus,
  type StepView,
} from "./types";

/**
 * The run as it is after these events, as far as they tell. It is a foretaste: reading the run anew gives all of it.
 * Events that the run knows already are passed over.
 */
export function foldRun(run: RunView, events: readonly RunEvent[]): RunView {
  const news = events.filter((event) => run.seq !== null && event.seq > run.seq);
  if (news.length === 0) return run;
  const draft = new Draft(run);
  for (const event of news) draft.take(event);
  return draft.run();
}

class Draft {
  private readonly steps = new Map<string, StepView>();
  private readonly counts: Partial<Record<StepStatus, number>>;
  private head: Partial<RunView> = {};

  constructor(private readonly before: RunView) {
    for (const step of before.steps) this.steps.set(step.id, step);
    this.counts = { ...before.counts };
  }

  run(): RunView {
    return { ...this.before, ...this.head, steps: [...this.steps.values()], counts: this.counts };
  }

  take(event: RunEvent): void {
    this.head = { ...this.head, seq: event.seq };
    switch (event.type) {
      case "RunPaused":
        this.head = { ...this.head, status: "paused", pausedAt: event.at };
        break;
      case "RunResumed":
        this.head = { ...this.head, status: "running", pausedAt: null };
        break;
      case "RunEnded":
        this.end(event);
        break;
      default:
        if (event.step !== undefined) this.takeOfStep(event.step, event);
    }
  }

  private takeOfStep(id: string, event: RunEvent): void {
    const attempts = event.attempt;
    switch (event.type) {
      case "StepQueued":
        return this.change(id, { status: "queued", attempts, retryAt: null });
      case "StepGranted":
        return this.change(id, {
          status: "running",
          worker: event.worker ?? null,
          startedAt: this.steps.get(id)?.startedAt ?? event.at,
        });
      case "WaitStarted":
        return this.change(id, { status: "running", startedAt: event.at, waitsUntil: event.due ?? null });
      case "ChildStarted":
        return this.change(id, { status: "running", startedAt: event.at, childRun: event.run ?? null });
      case "StepAwaits":
      case "TurnStarted":
        return this.change(id, {
          status: "running",
          startedAt: this.steps.get(id)?.startedAt ?? event.at,
        });
      case "MapStarted":
        return this.change(id, {
          status: "running",
          startedAt: event.at,
          items: { total: event.items?.length ?? null, ended: 0, failed: 0 },
        });
      case "RetryScheduled":
        return this.change(id, { status: "waiting", retryAt: event.due ?? null });
      case "StepSucceeded":
        return this.change(id, {
          status: "succeeded",
          endedAt: event.at,
          worker: event.worker || this.steps.get(id)?.worker || null,
          startedAt: this.steps.get(id)?.startedAt ?? event.startedAt ?? event.at,
          output: event.value ?? null,
          attempts,
        });
      case "StepFailed":
        return this.change(id, { status: "failed", endedAt: event.at, error: event.failure ?? null });
      case "StepSkipped":
        return this.change(id, { status: "skipped", skipped: event.reason ?? null });
      case "StepCancelled":
        return this.change(id, { status: "cancelled", endedAt: event.at });
    }
  }

  private change(id: string, changed: Partial<StepView>): void {
    const step = this.steps.get(id);
    const known = Object.fromEntries(Object.entries(changed).filter(([, value]) => value !== undefined));
    if (step !== undefined) {
      const next: StepView = { ...step, ...known };
      this.steps.set(id, next);
      this.count(step.status, next.status);
      if (!stepEnded(step.status) && stepEnded(next.status)) this.endOfMember(step.of, next);
    } else if (changed.status !== undefined && stepEnded(changed.status)) {
      // One of many items that are not listed: the step it was made for counts it.
      this.endOfMember(familyOf(id), changed);
    }
  }

  private endOfMember(of: string | null, member: Partial<StepView>): void {
    const owner = of === null ? undefined : this.steps.get(of);
    if (owner?.items == null) return;
    const { total, ended, failed } = owner.items;
    const items = {
      total,
      ended: total === null ? ended + 1 : Math.min(total, ended + 1),
      failed: failed + (member.status === "failed" ? 1 : 0),
    };
    this.steps.set(owner.id, { ...owner, items });
  }

  private count(before: StepStatus, after: StepStatus): void {
    if (before === after) return;
    this.counts[before] = Math.max(0, (this.counts[before] ?? 0) - 1);
    this.counts[after] = (this.counts[after] ?? 0) + 1;
  }

  private end(event: RunEvent): void {
    const status = (event.status ?? "succeeded") as RunStatus;
    const seconds = (Date.parse(event.at) - Date.parse(this.before.startedAt)) / 1000;
    this.head = { ...this.head, status, endedAt: event.at, durationSeconds: seconds, undoing: null };
    for (const step of this.steps.values())
      if (!stepEnded(step.status))
        this.change(
          step.id,
          step.startedAt === null ? { status: "skipped" } : { status: "cancelled", endedAt: event.at },
        );
  }
}

/** `each` of `each[3]`; null if it is no item or turn. */
export function familyOf(step: string): string | null {
  const found = /^(.*)\[\d+\]$/.exec(step);
  return found?.[1] ?? null;
}
