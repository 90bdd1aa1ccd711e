import type { WorkerWord } from "../words";
import { followed, isFirstFree } from "./keys";
import type { Choice } from "./types";

export interface Reason {
  readonly word: WorkerWord;
  readonly values: Readonly<Record<string, string | number>>;
}

const KEPT = 0; // the key by which affinity marks who had the steps before (core/assign/keys.py)

/** Why it was this worker, as far as the node that chose it remembers. */
export function reasonOf(choice: Choice): Reason {
  const values = { known: choice.known, count: choice.count ?? 0 };
  if (choice.followed === null) return { word: "reason.unknown", values: {} };
  if (isFirstFree(choice.followed)) return { word: "firstFree", values: {} };
  if (choice.count === 1) return { word: "reason.only", values };
  if (choice.key.length === 0) return { word: "reason.lot", values };
  if (followed(choice.followed) === "affinity" && choice.key[0] === KEPT)
    return { word: "reason.kept", values };
  const next = choice.top[1]?.worker;
  return next === undefined
    ? { word: "reason.best", values }
    : { word: "reason.bestNext", values: { ...values, next } };
}

export const choiceKey = (choice: Choice): string =>
  [choice.at, choice.namespace, choice.runId, choice.step, choice.attempt, choice.worker].join(" ");
