import { useCallback } from "react";
import { toneOf } from "../../../../components";
import type { Box } from "../../../../graph/drawing";
import type { Face } from "../../../../graph/face";
import { useWords } from "../../../../words";
import { useCount } from "../../../../words/count";
import { isUndo, shownStatus, type StepView } from "../types";
import { words } from "../words";
import { endedOf, statusOf } from "./state";

/** How a box tells the state of its step, or of its steps. */
export function useFace(): (box: Box<StepView>) => Face {
  const t = useWords(words);
  const count = useCount();
  return useCallback(
    (box) => {
      const [step] = box.steps;
      if (step === undefined || box.steps.length > 1) {
        const status = statusOf(box.steps);
        const [ended, total] = [endedOf(box.steps), box.steps.length];
        return {
          status,
          tone: toneOf(status),
          step: null,
          name: box.name,
          title: box.name,
          detail: t("graph.items", { ended: count(ended), total: count(total) }),
          undo: false,
          share: ended / total,
        };
      }
      const status = shownStatus(step);
      const undo = isUndo(step);
      const detail = detailOf(t, count, step);
      return {
        status,
        tone: toneOf(status),
        step: step.id,
        name: undo ? `↩ ${t("graph.undo", { step: step.of ?? "" })}` : box.name,
        title: [box.name, detail].filter(Boolean).join(": "),
        detail: detail || step.kind,
        undo,
        share: step.items?.total ? step.items.ended / step.items.total : null,
      };
    },
    [t, count],
  );
}

type Words = ReturnType<typeof useWords<keyof (typeof words)["en"]>>;

function detailOf(t: Words, count: (value: number) => string, step: StepView): string {
  if (step.items !== null) {
    const { total, ended, failed } = step.items;
    const far =
      total === null
        ? t("graph.turns", { ended })
        : t("graph.items", { ended: count(ended), total: count(total) });
    return failed > 0 ? `${far}, ${t("graph.itemsFailed", { failed: count(failed) })}` : far;
  }
  if (step.kept !== null) return t("graph.kept");
  return step.attempts > 1 ? t("graph.attempt", { attempt: step.attempts }) : "";
}
