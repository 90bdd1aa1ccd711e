import type { ReactNode } from "react";
import { Duration, Facts, Link, Status, Time } from "../../../../../components";
import { pathTo } from "../../../../../router";
import { useWords } from "../../../../../words";
import { openStep } from "../../address";
import { shownStatus, type StepView } from "../../types";
import { useSkipText } from "../skipped";
import { words } from "./words";

/** The step in a few words. What says nothing is left out. */
export function StepFacts({ step }: { readonly step: StepView }) {
  const t = useWords(words);
  const skipText = useSkipText();
  const facts: [string, ReactNode][] = [
    [t("status"), <Status key="status" value={shownStatus(step)} />],
    [t("kind"), step.kind],
  ];
  if (step.startedAt) {
    facts.push([t("started"), <Time key="started" at={step.startedAt} />]);
    facts.push([t("took"), <Duration key="took" from={step.startedAt} to={step.endedAt} />]);
  }
  if (step.worker)
    facts.push([
      t("worker"),
      <Link key="worker" to={`/ui/workers?worker=${encodeURIComponent(step.worker)}`}>
        {step.worker}
      </Link>,
    ]);
  if (step.placed)
    facts.push([t("placed"), t("placedBy", { strategy: step.placed.strategy, count: step.placed.count })]);
  if (step.childRun)
    facts.push([
      t("child"),
      <Link key="child" to={pathTo("/ui/runs/:run", { run: step.childRun })}>
        {step.childRun}
      </Link>,
    ]);
  if (step.items) facts.push([t("items"), itemsOf(step.items, t)]);
  if (step.of)
    facts.push([
      t("of"),
      <button key="of" type="button" className="button quiet inline" onClick={() => openStep(step.of ?? "")}>
        {step.item === null
          ? t("ofUndo", { step: step.of })
          : t("ofItem", { step: step.of, item: step.item })}
      </button>,
    ]);
  if (step.fallback)
    facts.push([
      t("fallback"),
      <button
        key="fallback"
        type="button"
        className="button quiet inline"
        onClick={() => openStep(step.fallback ?? "")}
      >
        {step.fallback}
      </button>,
    ]);
  if (step.kept) facts.push([t("kept"), step.kept === "person" ? t("keptPerson") : t("keptRun")]);
  if (step.skipped) facts.push([t("skipped"), skipText(step)]);
  return <Facts facts={facts} />;
}

type Items = NonNullable<StepView["items"]>;
type Told = ReturnType<typeof useWords<keyof (typeof words)["en"]>>;

function itemsOf({ total, ended, failed }: Items, t: Told): string {
  return total === null ? t("turnsDone", { ended, failed }) : t("itemsDone", { total, ended, failed });
}
