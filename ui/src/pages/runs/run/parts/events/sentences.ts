import type { Say } from "../../../../../words";
import type { RunEvent, StepError } from "../../types";
import type { EventKey } from "./words";

export interface Speech {
  readonly t: Say<EventKey>;
  readonly time: (at: string) => string;
  readonly status: (status: string) => string;
  readonly kindOf: (step: string) => string; // approval, signal, …; empty: not known
  readonly skipOf: (step: string) => string; // why it was skipped; empty: not known
  readonly keyOf: (permit: number) => string; // of a limit; empty: not known
  readonly nodeOf: (id: string) => string; // its name
}

/** What an event says, in a sentence for people. One of a type that is not known yet says its type. */
export function sentenceOf(event: RunEvent, speech: Speech): string {
  const { t } = speech;
  const say = (key: EventKey, more: Record<string, string | number> = {}) =>
    t(key, { ...plain(event, speech), ...more });
  switch (event.type) {
    case "RunStarted":
      return joined(
        say("RunStarted"),
        event.by && say("RunStarted.by"),
        event.rerunOf && say("RunStarted.rerun", { run: text(event.rerunOf), count: size(event.kept) }),
      );
    case "StepGranted":
      return joined(say("StepGranted"), event.node && say("StepGranted.node"));
    case "StepSucceeded":
      if (event.signal) return say("StepSucceeded.signal");
      return joined(
        say("StepSucceeded"),
        (event.attempt ?? 1) > 1 && say("StepSucceeded.attempt"),
        event.worker && say("StepSucceeded.worker"),
      );
    case "StepFailed":
      return joined(
        say("StepFailed"),
        event.policy === "skip" && say("StepFailed.skip"),
        event.policy === "fallback" && say("StepFailed.fallback"),
      );
    case "StepSkipped":
      return say("StepSkipped", { reason: speech.skipOf(event.step ?? "") || text(event.reason) });
    case "StepAwaits":
      return joined(say(awaited(speech.kindOf(event.step ?? ""))), event.due && say("until"));
    case "SignalReceived":
      return joined(say("SignalReceived"), event.by && say("by"));
    case "DecisionMade":
      return joined(
        say(event.approved ? "DecisionMade.yes" : "DecisionMade.no"),
        event.by && say("by"),
        event.comment && say("because", { reason: text(event.comment) }),
      );
    case "ChildStarted":
      return joined(say("ChildStarted"), event.wait === false && say("ChildStarted.detached"));
    case "ChildEnded":
    case "UndoStarted":
    case "RunEnded":
      return joined(say(event.type), event.reason && say("because"));
    case "MapStarted":
      return say("MapStarted", { count: event.items?.length ?? 0 });
    case "TurnStarted":
      return say(event.due ? "TurnStarted.due" : "TurnStarted");
    case "PermitAsked":
      return joined(
        say(event.step ? "PermitAsked.step" : "PermitAsked.run"),
        event.perS ? say("PermitAsked.rate", { seconds: text(event.perS) }) : say("PermitAsked.most"),
      );
    case "PermitGranted": {
      const key = speech.keyOf(event.number ?? 0);
      return key ? say("PermitGranted", { key }) : say("PermitGranted.unknown");
    }
    case "StageStarted":
      return say("StageStarted", { kind: text(event.stageType) });
    case "StageEnded":
      return event.error
        ? say("StageEnded.error")
        : say("StageEnded", { records: Number(event.records ?? 0) });
    default:
      return isPlain(event.type) ? say(event.type) : event.type;
  }
}

const PLAIN = [
  "StepQueued",
  "WaitStarted",
  "AttemptFailed",
  "AttemptLost",
  "StepParked",
  "StepReleased",
  "RetryScheduled",
  "StepCancelled",
  "ChildDropped",
  "PermitReturned",
  "Acknowledged",
  "RunPaused",
  "RunResumed",
] as const;

function isPlain(type: string): type is (typeof PLAIN)[number] {
  return (PLAIN as readonly string[]).includes(type);
}

function awaited(kind: string): EventKey {
  return kind === "approval" ? "StepAwaits.approval" : kind === "signal" ? "StepAwaits.signal" : "StepAwaits";
}

/** The fields of an event that fit into a sentence. */
function plain(event: RunEvent, speech: Speech): Record<string, string | number> {
  const values: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(event))
    if (typeof value === "string" || typeof value === "number") values[name] = value;
  if (event.due) values["due"] = speech.time(event.due);
  if (event.failure) values["failure"] = failed(event.failure);
  if (event.node) values["node"] = speech.nodeOf(event.node);
  if (event.status) values["status"] = speech.status(event.status);
  return values;
}

export function failed(failure: StepError): string {
  return failure.message ? `${failure.type}: ${failure.message}` : failure.type;
}

function joined(...parts: readonly unknown[]): string {
  return parts.filter((part) => typeof part === "string" && part !== "").join(" · ");
}

function text(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : JSON.stringify(value);
}

function size(value: unknown): number {
  return typeof value === "object" && value !== null ? Object.keys(value).length : 0;
}

/** Which limit each place is of, as far as the events tell. */
export function permitKeys(events: readonly RunEvent[]): ReadonlyMap<number, string> {
  const keys = new Map<number, string>();
  for (const event of events)
    if (event.type === "PermitAsked" && event.number !== undefined) keys.set(event.number, event.key ?? "");
  return keys;
}
