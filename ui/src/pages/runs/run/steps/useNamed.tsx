import { useMemo } from "react";
import { Status, type Column } from "../../../../components";
import { useWords } from "../../../../words";
import { openStep } from "../address";
import { shownStatus, type StepView } from "../types";
import { words } from "../words";

/** What every table of steps begins with: how each is, and its name, which opens it. */
export function useNamed(): readonly Column<StepView>[] {
  const t = useWords(words);
  return useMemo(
    () => [
      { key: "status", head: t("steps.status"), cell: (step) => <Status value={shownStatus(step)} /> },
      {
        key: "step",
        head: t("steps.step"),
        grow: true,
        cell: (step) => (
          <button type="button" className="run-link" data-step={step.id} onClick={() => openStep(step.id)}>
            {step.id}
          </button>
        ),
      },
    ],
    [t],
  );
}
