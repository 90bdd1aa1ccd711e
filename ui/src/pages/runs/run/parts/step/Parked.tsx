import { useState } from "react";
import { at, post, useAct } from "../../../../../api";
import { Button, Confirm, formatTime, toast } from "../../../../../components";
import { localeOf, useLanguage, useWords } from "../../../../../words";
import type { RunView, StepView } from "../../types";
import { words } from "./words";

/** A step that is not tried again by itself: why, what happened to it, and the way on. */
export function Parked({ run, step }: { readonly run: RunView; readonly step: StepView }) {
  const t = useWords(words);
  const language = useLanguage();
  const locale = localeOf(language);
  const foreign = language !== "en"; // the server's words are beside ours then
  const [asking, setAsking] = useState(false);
  const releasing = useAct();
  const parked = step.parked;
  if (parked === null) return null;
  const { deaths, losses } = parked;
  const why = t(deaths > 0 ? "parkedDeaths" : "parkedLosses", { deaths, losses });
  const release = async () => {
    const path = at("/runs/:run/steps/:step/release", { run: run.id, step: step.id });
    if (!(await releasing.act(() => post(path)))) return;
    toast(t("released", { step: step.id }));
    setAsking(false);
  };
  return (
    <section className="note warn">
      <h3>{t("parked")}</h3>
      <p>{t("parkedMore", { reason: foreign ? why : parked.reason })}</p>
      {foreign && (
        <p className="small" lang="en">
          {parked.reason}
        </p>
      )}
      <p className="small">
        {t("parkedSince", {
          time: formatTime(parked.since, "full", locale, Date.now()),
          losses,
          deaths,
        })}
      </p>
      {parked.evidence.length > 0 && (
        <ul lang="en">
          {parked.evidence.map((line, index) => (
            <li key={index}>{line}</li>
          ))}
        </ul>
      )}
      <Button
        kind="main"
        needs="operate"
        onClick={() => {
          releasing.forget();
          setAsking(true);
        }}
      >
        {t("release")}
      </Button>
      <Confirm
        open={asking}
        title={t("releaseAsk", { step: step.id })}
        confirm={t("release")}
        busy={releasing.busy}
        problem={releasing.problem}
        onConfirm={() => void release()}
        onClose={() => setAsking(false)}
      >
        <p>{t("releaseMore")}</p>
      </Confirm>
    </section>
  );
}
