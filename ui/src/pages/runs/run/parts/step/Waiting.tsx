import { at, useAsk } from "../../../../../api";
import { Status, Time } from "../../../../../components";
import { useWords } from "../../../../../words";
import { useCount } from "../../../../../words/count";
import { openStep } from "../../address";
import type { RunView, StepView } from "../../types";
import type { Explanation } from "../why/explanation";
import { reasonText } from "../why/said/sentence";
import { useSpeech } from "../why/said/useSpeech";
import { openNeeds } from "./needs";
import { words } from "./words";

const NAMED_MAX = 50; // of the steps that it needs

/** What the step waits for, apart from people. */
export function Waiting({ run, step }: { readonly run: RunView; readonly step: StepView }) {
  const t = useWords(words);
  const placement = useAsk<{ waitsFor: string | null }>(
    step.status === "queued" ? at("/runs/:run/steps/:step/placement", { run: run.id, step: step.id }) : null,
    { live: true },
  );
  const explained = useAsk<Explanation>(
    step.status === "queued" ? at("/runs/:run/explain", { run: run.id }) : null,
    { live: true },
  );
  const speech = useSpeech();
  const reason = explained.data?.reasons.find((each) => each.step === step.id);
  const count = useCount();
  const needs = openNeeds(run, step);
  return (
    <section>
      <h3>{t("waitsFor")}</h3>
      {reason ? (
        <p title={reason.detail}>{reasonText(reason, speech)}</p>
      ) : (
        placement.data?.waitsFor && <p lang="en">{placement.data.waitsFor}</p>
      )}
      {step.retryAt && <Moment sentence={t("retryAt", { time: HOLE })} at={step.retryAt} />}
      {step.waitsUntil && <Moment sentence={t("waitsUntil", { time: HOLE })} at={step.waitsUntil} />}
      {step.limitedBy.map((key) => (
        <p key={key}>{t("limitedBy", { key })}</p>
      ))}
      {needs.length > 0 && (
        <ul className="step-needs" aria-label={t("needs")}>
          {needs.slice(0, NAMED_MAX).map((need) => (
            <li key={need.id}>
              <button type="button" className="button quiet" onClick={() => openStep(need.id)}>
                {need.id}
              </button>
              <Status value={need.status} />
            </li>
          ))}
        </ul>
      )}
      {needs.length > NAMED_MAX && (
        <p className="soft small">{t("needsMore", { count: count(needs.length - NAMED_MAX) })}</p>
      )}
    </section>
  );
}

const HOLE = "\u0000";

/** A sentence with a moment in it. */
export function Moment({ sentence, at: moment }: { readonly sentence: string; readonly at: string }) {
  const [before, after] = sentence.split(HOLE);
  return (
    <p>
      {before}
      <Time at={moment} />
      {after}
    </p>
  );
}
