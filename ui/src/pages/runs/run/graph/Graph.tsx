import { useMemo } from "react";
import { Empty, type Column } from "../../../../components";
import FlowGraph from "../../../../graph/FlowGraph";
import { useWords } from "../../../../words";
import { openStep, useView } from "../address";
import { useNamed } from "../steps/useNamed";
import { isUndo, type RunPartProps, type StepView } from "../types";
import { words } from "../words";
import { useFace } from "./useFace";

/** The steps of a run and what they need, with the state of each. Items and turns are told by the step they belong to. */
export default function Graph({ run }: RunPartProps) {
  const t = useWords(words);
  const [view] = useView();
  const face = useFace();
  const named = useNamed();
  const steps = useMemo(() => run.steps.filter((step) => step.of === null || isUndo(step)), [run.steps]);
  const columns = useMemo(
    (): readonly Column<StepView>[] => [
      ...named,
      { key: "kind", head: t("steps.kind"), cell: (step) => step.kind },
    ],
    [t, named],
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
