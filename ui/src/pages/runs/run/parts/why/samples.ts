import type { Reason } from "./explanation";

/** For tests: a reason of which only what is given matters. */
export function someReason(given: Partial<Reason>): Reason {
  return {
    kind: "running",
    detail: "",
    step: null,
    count: 1,
    since: null,
    until: null,
    next: null,
    evidence: [],
    worker: null,
    requires: [],
    attempt: null,
    attempts: null,
    ahead: null,
    name: null,
    why: null,
    then: null,
    who: [],
    workers: {},
    held: null,
    waiting: null,
    most: null,
    perS: null,
    done: null,
    total: null,
    failed: null,
    leftS: null,
    ...given,
  };
}
