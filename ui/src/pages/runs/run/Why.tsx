import { at, useAsk } from "../../../api";
import { Button, Copy, Time } from "../../../components";
import { useLanguage, useWords } from "../../../words";
import { openStep } from "./address";
import { commandOf, isMoving, spansOf, type Explanation, type Reason } from "./parts/why/explanation";
import { reasonText, sentenceOf } from "./parts/why/said/sentence";
import { useSpeech } from "./parts/why/said/useSpeech";
import { words } from "./parts/why/words";
import "./parts/parts.css";
import type { RunPartProps } from "./types";

/** Why the run is not moving: the sentence, the command that helps, and all reasons on demand. */
export default function Why({ run }: RunPartProps) {
  const t = useWords(words);
  const speech = useSpeech();
  const foreign = useForeign();
  const asked = useAsk<Explanation>(at("/runs/:run/explain", { run: run.id }), { live: true });
  const told = asked.data;
  if (told === null || told.sentence === "") return null;
  const command = commandOf(told);
  const first = told.reasons[0]?.step;
  const moving = isMoving(told);
  const title = t(moving ? "moving" : "title");
  return (
    <section className={moving ? "why moving" : "why"} aria-label={title}>
      <p className="why-title">{title}</p>
      <p role="status">{t("sentence", { text: sentenceOf(told, speech) })}</p>
      {command && <Copy text={command} shown />}
      {first && (
        <p>
          <Button onClick={() => openStep(first)}>{t("open", { step: first })}</Button>
        </p>
      )}
      {(told.reasons.length > 1 || foreign) && (
        <details>
          <summary>{t("more", { count: told.reasons.length })}</summary>
          <ul className="why-reasons">
            {told.reasons.map((reason, index) => (
              <ReasonItem key={index} reason={reason} />
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

function ReasonItem({ reason }: { readonly reason: Reason }) {
  const t = useWords(words);
  const speech = useSpeech();
  const foreign = useForeign();
  const { kind } = reason;
  return (
    <li>
      <span className="status">{isKnown(kind) ? t(kind) : kind}</span>{" "}
      {reason.step && (
        <button type="button" className="button quiet" onClick={() => openStep(reason.step ?? "")}>
          {reason.step}
        </button>
      )}{" "}
      <span>{reasonText(reason, speech)}</span>
      <span className="soft small">
        {reason.since && (
          <>
            {" "}
            · {t("since")} <Time at={reason.since} style="ago" />
          </>
        )}
        {reason.until && (
          <>
            {" "}
            · {t("until")} <Time at={reason.until} />
          </>
        )}
      </span>
      {foreign && (
        <p className="soft small" lang="en">
          <Sentence text={reason.detail} />
        </p>
      )}
      {reason.evidence.length > 0 && (
        <ul className="small" lang="en">
          {reason.evidence.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
      {reason.next && <Copy text={reason.next} shown />}
    </li>
  );
}

/** The server speaks English; who reads another language has its words beside ours. */
const useForeign = () => useLanguage() !== "en";

function Sentence({ text }: { readonly text: string }) {
  return spansOf(text).map((span, index) =>
    span.code ? <code key={index}>{span.text}</code> : <span key={index}>{span.text}</span>,
  );
}

type Kind = Exclude<
  keyof (typeof words)["en"],
  "title" | "moving" | "sentence" | "open" | "more" | "since" | "until"
>;
const isKnown = (kind: string): kind is Kind => kind in words.en;
