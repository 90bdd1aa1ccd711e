import { useCallback, useMemo, useState } from "react";
import { Lazy, Link, Table, type Column, type Load } from "../../../components";
import type { Box } from "../../../graph/drawing";
import type { Face } from "../../../graph/face";
import type { FlowGraphProps } from "../../../graph/FlowGraph";
import { usePlace } from "../../../router";
import { useWords } from "../../../words";
import { useCount } from "../../../words/count";
import type { Document } from "../types";
import { stepsOf, type Step } from "../text/document";
import { words } from "../words";

const loadGraph: Load<FlowGraphProps<Step>> = () => import("../../../graph/FlowGraph");
const NEEDS_MAX = 20; // that are named in a row of the table

export interface GraphTabProps {
  readonly document: Document;
  readonly newest: number; // the address may ask for another version
}

/** The steps, drawn and as a table. */
export function GraphTab({ document, newest }: GraphTabProps) {
  const t = useWords(words);
  const { path } = usePlace();
  const [chosen, setChosen] = useState("");
  const steps = useMemo(() => stepsOf(document), [document]);
  const face = useFace();
  const some = useMemo(() => steps.some((step) => step.when !== ""), [steps]);
  const columns = useColumns(some, chosen);
  const ofGroup = useColumns(some, chosen, setChosen);
  return (
    <div className="stack">
      {document.version !== newest && (
        <p className="note warn">
          {t("olderVersion", { version: String(document.version) })} <Link to={path}>{t("showNewest")}</Link>
        </p>
      )}
      <Lazy
        load={loadGraph}
        props={{ label: t("graphOf"), steps, chosen, onChoose: setChosen, face, columns: ofGroup }}
      />
      <Table label={t("steps")} columns={columns} rows={steps} rowKey={(step) => step.id} />
    </div>
  );
}

/** A box here has no state: it says of which kind its step is, or how many steps it stands for. */
function useFace(): (box: Box<Step>) => Face {
  const t = useWords(words);
  const count = useCount();
  return useCallback(
    (box) => {
      const [step] = box.steps;
      const group = step === undefined || box.steps.length > 1;
      const detail = group ? t("groupOf", { count: count(box.steps.length) }) : step.kind;
      return {
        step: group ? null : step.id,
        name: box.name,
        title: `${box.name}: ${detail}`,
        detail,
        status: null,
        tone: "plain",
        undo: false,
        share: null,
      };
    },
    [t, count],
  );
}

/** The table's columns, with conditions if some step has one; with `onChoose`, steps are buttons. */
function useColumns(
  conditions: boolean,
  chosen: string,
  onChoose?: (step: string) => void,
): readonly Column<Step>[] {
  const t = useWords(words);
  return useMemo(
    () => [
      {
        key: "id",
        head: t("step"),
        cell: (step) => {
          const name = step.id === chosen ? <mark>{step.id}</mark> : <span>{step.id}</span>;
          if (onChoose === undefined) return name;
          return (
            <button type="button" className="button quiet inline" onClick={() => onChoose(step.id)}>
              {name}
            </button>
          );
        },
      },
      { key: "kind", head: t("kind"), cell: (step) => step.kind },
      { key: "needs", head: t("needs"), grow: true, cell: (step) => <Needs needs={step.needs} /> },
      ...(conditions ? [whenOf(t("when"))] : []),
    ],
    [t, conditions, chosen, onChoose],
  );
}

function whenOf(head: string): Column<Step> {
  return {
    key: "when",
    head,
    wideOnly: true,
    cell: (step) => (step.when ? <code className="step-when">{step.when}</code> : "–"),
  };
}

function Needs({ needs }: { readonly needs: readonly string[] }) {
  const t = useWords(words);
  const count = useCount();
  const shown = needs.slice(0, NEEDS_MAX).join(", ");
  const left = needs.length - NEEDS_MAX;
  return left > 0 ? `${shown}, ${t("needsMore", { count: count(left) })}` : shown || "–";
}
