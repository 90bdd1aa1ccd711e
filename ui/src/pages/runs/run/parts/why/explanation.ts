/** GET /runs/{id}/explain. */
export interface Explanation {
  readonly sentence: string;
  readonly reasons: readonly Reason[];
  readonly counts: Readonly<Record<string, number>>; // steps by kind, those not listed included
}

export interface Reason {
  readonly kind: string;
  readonly detail: string;
  readonly step: string | null;
  readonly count: number;
  readonly since: string | null;
  readonly until: string | null;
  readonly next: string | null; // the command that helps
  readonly evidence: readonly string[];
  readonly worker: string | null;
  readonly requires: readonly string[];
  readonly attempt: number | null;
  readonly attempts: number | null;
  readonly ahead: number | null;
  readonly name: string | null; // of the signal, the limit, the other run, or the step that failed
  readonly why: string | null;
  readonly then: string | null;
  readonly who: readonly string[];
  readonly workers: Readonly<Record<string, number>>; // by what keeps them from it
  readonly held: number | null;
  readonly waiting: number | null;
  readonly most: number | null;
  readonly perS: number | null;
  readonly done: number | null;
  readonly total: number | null;
  readonly failed: number | null;
  readonly leftS: number | null;
}

export interface Span {
  readonly text: string;
  readonly code: boolean;
}

/** A sentence whose commands stand in backticks. One without a partner is only a backtick. */
export function spansOf(sentence: string): readonly Span[] {
  const parts = sentence.split("`");
  if (parts.length % 2 === 0) return [{ text: sentence, code: false }];
  return parts.map((text, index) => ({ text, code: index % 2 === 1 })).filter((span) => span.text !== "");
}

/** The command of the first reason that has one. */
export function commandOf(explanation: Explanation): string | null {
  return explanation.reasons.find((reason) => reason.next)?.next ?? null;
}

/** Whether something is at work and nothing has to be done: then it is moving. */
export function isMoving(explanation: Explanation): boolean {
  const first = explanation.reasons[0];
  return first === undefined || first.kind === "running" || first.kind === "items" || first.kind === "undo";
}
