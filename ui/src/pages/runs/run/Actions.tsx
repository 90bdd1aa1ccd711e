import { useState } from "react";
import { at, post, useAct } from "../../../api";
import { Button, Confirm, Field, toast } from "../../../components";
import { useWords } from "../../../words";
import { barred } from "./parts/actions/rerun";
import { RerunDialog } from "./parts/actions/RerunDialog";
import { SignalDialog } from "./parts/actions/SignalDialog";
import { words, type ActionKey } from "./parts/actions/words";
import "./parts/parts.css";
import { hasEnded, type RunPartProps } from "./types";

type Order = "cancel" | "pause" | "resume" | "retry-stuck";
type Opened = Order | "signal" | "rerun" | null;

const DONE: Readonly<Record<Order, ActionKey>> = {
  cancel: "cancelled",
  pause: "paused",
  resume: "resumed",
  "retry-stuck": "retried",
};

/** What can be done to the run. Each destructive act asks once; who may not act is told why. */
export default function Actions({ run, again }: RunPartProps) {
  const t = useWords(words);
  const [opened, setOpened] = useState<Opened>(null);
  const [reason, setReason] = useState("");
  const [noUndo, setNoUndo] = useState(false);
  const ordering = useAct();
  const over = hasEnded(run.status);
  const why = barred(run);
  const cancel = run.undoing === null ? "cancel" : "giveUp";
  const order = async (word: Order) => {
    const body = word === "cancel" ? { reason, undo: run.undoing === null && !noUndo } : undefined;
    if (!(await ordering.act(() => post(at(`/runs/:run/${word}`, { run: run.id }), body)))) {
      if (word === "resume") setOpened("resume"); // the question shows what was wrong
      return;
    }
    toast(t(DONE[word]));
    setOpened(null);
    again();
  };
  const ask = (what: Opened) => {
    ordering.forget();
    setReason("");
    setNoUndo(false);
    setOpened(what);
  };
  const close = () => setOpened(null);
  const asking = { busy: ordering.busy, problem: ordering.problem, onClose: close };
  return (
    <>
      {run.status === "stuck" && (
        <Button kind="main" needs="operate" onClick={() => ask("retry-stuck")}>
          {t("retry")}
        </Button>
      )}
      {run.status === "paused" && (
        <Button kind="main" needs="operate" busy={ordering.busy} onClick={() => void order("resume")}>
          {t("resume")}
        </Button>
      )}
      {(run.status === "running" || run.status === "queued") && (
        <Button needs="operate" onClick={() => ask("pause")}>
          {t("pause")}
        </Button>
      )}
      {!over && (
        <Button needs="operate" onClick={() => ask("signal")}>
          {t("signal")}
        </Button>
      )}
      <Button
        needs="operate"
        onClick={() => ask("rerun")}
        disabled={why !== null}
        {...(why === null ? {} : { reason: t(why) })}
      >
        {t("rerun")}
      </Button>
      {!over && (
        <Button needs="operate" kind="danger" onClick={() => ask("cancel")}>
          {t(cancel)}
        </Button>
      )}
      <Confirm
        {...asking}
        open={opened === "cancel"}
        title={t(run.undoing === null ? "cancelAsk" : "giveUpAsk")}
        confirm={t(cancel)}
        onConfirm={() => void order("cancel")}
      >
        {run.undoing !== null && <p>{t("giveUpMore")}</p>}
        {run.undoing === null && (
          <>
            <p>{t("cancelMore")}</p>
            <p>{t("cancelUndo")}</p>
            <Field label={t("noUndo")} inline>
              {(wiring) => (
                <input
                  {...wiring}
                  type="checkbox"
                  checked={noUndo}
                  onChange={(event) => setNoUndo(event.target.checked)}
                />
              )}
            </Field>
          </>
        )}
        <Field label={t("reason")} hint={t("reasonHint")}>
          {(wiring) => (
            <input {...wiring} value={reason} onChange={(event) => setReason(event.target.value)} />
          )}
        </Field>
      </Confirm>
      <Confirm
        {...asking}
        open={opened === "pause"}
        title={t("pauseAsk")}
        confirm={t("pause")}
        danger={false}
        onConfirm={() => void order("pause")}
      >
        <p>{t("pauseMore")}</p>
      </Confirm>
      <Confirm
        {...asking}
        open={opened === "resume"}
        title={t("resume")}
        confirm={t("resume")}
        danger={false}
        onConfirm={() => void order("resume")}
      />
      <Confirm
        {...asking}
        open={opened === "retry-stuck"}
        title={t("retryAsk")}
        confirm={t("retry")}
        danger={false}
        onConfirm={() => void order("retry-stuck")}
      >
        <p>{t("retryMore")}</p>
      </Confirm>
      <SignalDialog run={run} open={opened === "signal"} name={signalOf(run)} onClose={close} />
      <RerunDialog run={run} open={opened === "rerun"} onClose={close} />
    </>
  );
}

/** The signal that a step waits for now, if any does. */
function signalOf(run: RunPartProps["run"]): string {
  return run.steps.find((step) => step.awaits?.what === "signal")?.awaits?.signal ?? "";
}
