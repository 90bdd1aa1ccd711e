import { stepEnded, type RunEvent, type StepError, type StepView } from "../../types";

export type AttemptState = "queued" | "running" | "succeeded" | "failed" | "lost" | "cancelled";

/** One try of a step. */
export interface Attempt {
  readonly number: number;
  readonly state: AttemptState;
  readonly queuedAt: string | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly worker: string;
  readonly node: string;
  readonly error: StepError | null;
  readonly reason: string; // why it was lost
  readonly run: string; // the one that it began
}

const BEGUN: Attempt = {
  number: 1,
  state: "queued",
  queuedAt: null,
  startedAt: null,
  endedAt: null,
  worker: "",
  node: "",
  error: null,
  reason: "",
  run: "",
};

/** Every attempt of a step, told by its events, in order. */
export function attemptsOf(events: readonly RunEvent[], step: StepView): readonly Attempt[] {
  const attempts: Attempt[] = [];
  for (const event of events) if (event.step === step.id) take(attempts, event);
  const last = attempts.at(-1);
  if (last && last.endedAt === null && stepEnded(step.status))
    attempts[attempts.length - 1] = { ...last, state: endOf(step), endedAt: step.endedAt };
  return attempts;
}

function endOf(step: StepView): AttemptState {
  return step.status === "succeeded" || step.status === "failed" ? step.status : "cancelled";
}

function take(attempts: Attempt[], event: RunEvent): void {
  const { at } = event;
  const worker = event.worker ? { worker: event.worker } : {};
  const started = event.startedAt ? { startedAt: event.startedAt } : {};
  switch (event.type) {
    case "StepQueued":
      return change(attempts, event, { state: "queued", queuedAt: at });
    case "StepGranted":
      return change(attempts, event, { state: "running", startedAt: at, node: event.node ?? "", ...worker });
    case "WaitStarted":
    case "StepAwaits":
    case "MapStarted":
      return change(attempts, event, { state: "running", startedAt: at });
    case "ChildStarted":
      return change(attempts, event, { state: "running", startedAt: at, run: event.run ?? "" });
    case "StepSucceeded":
      return change(attempts, event, { state: "succeeded", endedAt: at, ...started, ...worker });
    case "AttemptFailed": {
      const error = event.failure ?? null;
      return change(attempts, event, { state: "failed", endedAt: at, error, ...started, ...worker });
    }
    case "AttemptLost":
      return change(attempts, event, { state: "lost", endedAt: at, reason: event.reason ?? "", ...worker });
    case "StepFailed":
      return end(attempts, { state: "failed", endedAt: at, error: event.failure ?? null });
    case "StepCancelled":
      return end(attempts, { state: "cancelled", endedAt: at });
  }
}

/** Of the attempt that goes on and has the event's number; else it is another one. */
function change(attempts: Attempt[], event: RunEvent, changed: Partial<Attempt>): void {
  const last = attempts.at(-1);
  const number = event.attempt ?? last?.number ?? 1;
  if (last && last.number === number && last.endedAt === null)
    attempts[attempts.length - 1] = { ...last, ...changed };
  else attempts.push({ ...BEGUN, number, ...changed });
}

/** The step is over: so is the attempt that went on, if there was one. */
function end(attempts: Attempt[], changed: Partial<Attempt>): void {
  const last = attempts.at(-1);
  if (last && last.endedAt === null) attempts[attempts.length - 1] = { ...last, ...changed };
}
