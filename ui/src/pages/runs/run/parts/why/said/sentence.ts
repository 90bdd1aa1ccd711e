import type { Say } from "../../../../../../words";
import type { Explanation, Reason } from "../explanation";
import { words, type SaidKey } from "./words";

export interface Speech {
  readonly t: Say<SaidKey>;
  readonly time: (at: string) => string;
  readonly span: (seconds: number) => string;
  readonly status: (status: string) => string;
}

/** The whole answer in the reader's language: the most telling reason, and how many others there are. */
export function sentenceOf(explanation: Explanation, speech: Speech): string {
  const { t } = speech;
  const first = explanation.reasons[0];
  if (first === undefined) return t("nothing");
  const others = Object.entries(explanation.counts).flatMap(([kind, count]) => {
    const left = kind === first.kind ? count - first.count : count;
    const key = `besides.${kind}`;
    return left > 0 && isKey(key) ? [t(key, { count: left })] : [];
  });
  const said = reasonText(first, speech);
  return others.length === 0 ? said : t("besides", { first: said, others: others.join(t("and")) });
}

/** One reason. One of a kind that is not known yet is told as the server does. */
export function reasonText(reason: Reason, speech: Speech): string {
  const { t } = speech;
  const say = (key: SaidKey) => t(key, valuesOf(reason, speech));
  const with_ = (first: string, ...then: (string | false | null)[]) =>
    then.reduce<string>((told, more) => (more ? t("clause", { first: told, then: more }) : told), first);
  const because = (first: string) => (reason.why ? t("because", { first, why: reason.why }) : first);
  switch (reason.kind) {
    case "stuck":
      return with_(because(say("stuck")), say("stuck.then"));
    case "ended":
    case "parked":
    case "undo":
      return because(say(reason.kind));
    case "approval":
    case "signal": {
      const then = `then.${reason.then}`;
      const asks = say(reason.kind);
      const whole = reason.why ? t("asked", { first: asks, why: reason.why }) : asks;
      return with_(whole, reason.until !== null && isKey(then) && say(then));
    }
    case "capability":
      return say(total(reason) === 0 ? "capability.nobody" : "capability");
    case "worker":
      return say(reason.worker === null ? "worker" : "worker.one");
    case "slots": {
      const others = Object.keys(reason.workers).some((bar) => bar !== "busy");
      return with_(say("slots"), Boolean(reason.ahead) && say("slots.ahead"), others && say("slots.others"));
    }
    case "permit":
      return with_(
        say(reason.perS === null ? "permit" : "permit.rate"),
        Boolean(reason.held) && say("permit.held"),
        (reason.waiting ?? 0) > 1 && say("permit.waiting"),
      );
    case "retry":
      return because(say(reason.until !== null ? "retry" : reason.leftS ? "retry.left" : "retry.paused"));
    case "wait":
    case "timer":
      return say(reason.until === null ? "wait.paused" : reason.kind);
    case "turn":
      return say(reason.until !== null ? "turn" : reason.leftS ? "turn.left" : "turn.paused");
    case "items":
      if (reason.total === null) return say("items.turns");
      return with_(say("items"), Boolean(reason.failed) && say("items.failed"));
    case "running":
      if (reason.attempt === null) return say("running.handed");
      return with_(
        say("running"),
        reason.until !== null && say("running.until"),
        reason.name !== null && because(say("running.failing")),
      );
    case "limit":
      return say(reason.name === "max_parallel" ? "limit" : "limit.tasks");
    case "paused":
    case "child":
    case "parents":
    case "deadline":
      return say(reason.kind);
    default:
      return reason.detail;
  }
}

const isKey = (key: string): key is SaidKey => key in words.en;

const total = (reason: Reason) => Object.values(reason.workers).reduce((sum, count) => sum + count, 0);

/** Every hole that a sentence may have. */
function valuesOf(reason: Reason, { t, time, span, status }: Speech): Record<string, string | number> {
  const bars = Object.entries(reason.workers).flatMap(([bar, count]) => {
    const key = `bar.${bar}`;
    return isKey(key) ? [{ bar, said: t(key), count }] : [];
  });
  // Of a step that waits for a slot the busy ones are told of before.
  const told = bars.filter(({ bar }) => reason.kind !== "slots" || bar !== "busy");
  return {
    what: reason.step === null ? t("the.run") : t("the.step", { step: reason.step }),
    step: reason.step ?? "",
    count: reason.count,
    since: reason.since === null ? t("sometime") : time(reason.since),
    until: reason.until === null ? t("sometime") : time(reason.until),
    status: status(reason.then ?? ""),
    who: reason.who.length === 0 ? t("somebody") : reason.who.join(t("or")),
    requires: reason.requires.join(t("and")),
    worker: reason.worker ?? "",
    workers: total(reason),
    busy: reason.workers.busy ?? 0,
    bar: bars[0]?.said ?? "",
    bars: told.map(({ said, count }) => t("bars", { bar: said, count })).join(t("and")),
    name: reason.name ?? "",
    attempt: reason.attempt ?? 0,
    attempts: reason.attempts ?? 0,
    ahead: reason.ahead ?? 0,
    held: reason.held ?? 0,
    waiting: reason.waiting ?? 0,
    most: reason.most ?? 0,
    span: span(reason.perS ?? 0),
    left: span(reason.leftS ?? 0),
    done: reason.done ?? 0,
    total: reason.total ?? 0,
    failed: reason.failed ?? 0,
  };
}
