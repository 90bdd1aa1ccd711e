import { useState } from "react";
import { at, post, useAct } from "../../../../../api";
import { Button, Confirm, Field, Json, Time, toast, type JsonValue } from "../../../../../components";
import { useWords } from "../../../../../words";
import type { RunView, StepView } from "../../types";
import { onceKey } from "../once";
import { words } from "./words";

type Word = "approve" | "reject";

/** An approval: what is asked, until when, and the two answers. */
export function Decide({ run, step }: { readonly run: RunView; readonly step: StepView }) {
  const t = useWords(words);
  const [word, setWord] = useState<Word | null>(null);
  const [comment, setComment] = useState("");
  const [once, setOnce] = useState("");
  const deciding = useAct();
  const awaits = step.awaits;
  if (awaits === null || awaits.what !== "approval") return null;
  const ask = (asked: Word) => {
    deciding.forget();
    setOnce(onceKey());
    setWord(asked);
  };
  const decide = async () => {
    if (word === null) return;
    const path = at(`/runs/:run/steps/:step/${word}`, { run: run.id, step: step.id });
    if (!(await deciding.act(() => post(path, { comment }, { headers: { "Idempotency-Key": once } }))))
      return;
    toast(t(word === "approve" ? "approved" : "rejected", { step: step.id }));
    setWord(null);
  };
  return (
    <section className="note warn step-asks">
      <h3>{t("approval")}</h3>
      <Prompt prompt={awaits.prompt} />
      <p className="small">
        {awaits.who.length ? t("approvalWho", { who: awaits.who.join(", ") }) : t("approvalAnyone")}
      </p>
      <Until until={awaits.until} then={awaits.then} />
      <div className="actions">
        <Button kind="main" needs="operate" onClick={() => ask("approve")}>
          {t("approve")}
        </Button>
        <Button needs="operate" onClick={() => ask("reject")}>
          {t("reject")}
        </Button>
      </div>
      <Confirm
        open={word !== null}
        title={t(word === "reject" ? "rejectAsk" : "approveAsk", { step: step.id })}
        confirm={t(word === "reject" ? "reject" : "approve")}
        danger={word === "reject"}
        busy={deciding.busy}
        problem={deciding.problem}
        onConfirm={() => void decide()}
        onClose={() => setWord(null)}
      >
        {word === "reject" && <p>{t("rejectMore")}</p>}
        <Field label={t("comment")} hint={t("commentHint")}>
          {(wiring) => (
            <textarea
              {...wiring}
              rows={3}
              maxLength={10_000}
              value={comment}
              onChange={(event) => setComment(event.target.value)}
            />
          )}
        </Field>
      </Confirm>
    </section>
  );
}

/** Text as it stands there; whatever else an expression made of it, as JSON. */
function Prompt({ prompt }: { readonly prompt: JsonValue }) {
  if (prompt === null) return null;
  if (typeof prompt === "string") return <p className="step-prompt">{prompt}</p>;
  return <Json value={prompt} label="prompt" />;
}

export function Until({ until, then }: { readonly until: string | null; readonly then: string | null }) {
  const t = useWords(words);
  if (until === null) return null;
  const [before, after] = t("untilThen", {
    time: "\u0000",
    then: isThen(then) ? t(`then.${then}`) : "–",
  }).split("\u0000");
  return (
    <p className="small">
      {before}
      <Time at={until} />
      {after}
    </p>
  );
}

const THENS = ["fail", "approve", "reject", "default"] as const;
const isThen = (then: string | null): then is (typeof THENS)[number] =>
  (THENS as readonly (string | null)[]).includes(then);
