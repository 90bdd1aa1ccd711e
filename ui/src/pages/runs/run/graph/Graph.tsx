import { useMemo } from "react";
import { Empty, Status, type Column } from "../../../../components";
import FlowGraph from "../../../../graph/FlowGraph";
import { useWords } from "../../../../words";
import { openStep, useView } from "../address";
import { isUndo, shownStatus, type RunPartProps, type StepView } from "../types";
import { words } from "../words";
import { useFace } from "./useFace";

/** The steps of a run and what they need, with the state of each. Items and turns are told by the step they belong to. */
export default function Graph({ run }: RunPartProps) {
  const t = useWords(words);
  const [view] = useView();
  const face = useFace();
  const steps = useMemo(() => run.steps.filter((step) => step.of === null || isUndo(step)), [run.steps]);
  const columns = useMemo(
    (): readonly Column<StepView>[] => [
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
      { key: "kind", head: t("steps.kind"), cell: (step) => step.kind },
    ],
    [t],
  );
  if (steps.length === 0) return <Empty title={t("graph.none")}>{t("graph.noneMore")}</Empty>;
  return (
    <FlowGraph
      label={t("graph.label")}
      steps={steps}
      chosen={view.step}
      onChoose={openStep}
      face={face}
      columns={columns}
    />
  );
}
