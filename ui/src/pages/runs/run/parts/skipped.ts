import { defineWords, useWords, type Say } from "../../../../words";
import type { StepSkip } from "../types";

export const words = defineWords({
  en: {
    when: "not so: {when}",
    chosen: "{step} chose otherwise",
    unchosen: "{step} failed, and chose nothing",
    needs: "all the steps it needs were skipped",
    before: "it was skipped in the run before",
  },
  zh: {
    when: "条件不成立：{when}",
    chosen: "{step} 选择了其他分支",
    unchosen: "{step} 失败，没有选择任何分支",
    needs: "它依赖的步骤都被跳过了",
    before: "在之前的运行中已被跳过",
  },
});

interface Skipped {
  readonly skipped: string | null; // in the server's words
  readonly skip: StepSkip | null;
}

/** Why a step was skipped, as far as it is known as data; else in the server's words. */
export function skipText(step: Skipped, t: Say<keyof typeof words.en>): string {
  const { skip } = step;
  if (!skip || !(skip.cause in words.en)) return step.skipped ?? "";
  return t(skip.cause, { step: skip.step ?? "", when: skip.when ?? "" });
}

export function useSkipText(): (step: Skipped) => string {
  const t = useWords(words);
  return (step) => skipText(step, t);
}
