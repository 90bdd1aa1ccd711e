import { useEffect, useRef, useState } from "react";
import { Button, Empty, Json, ProblemNote } from "../../../components";
import { useT, useWords } from "../../../words";
import { openTab } from "./address";
import { SignalDialog } from "./parts/actions/SignalDialog";
import "./parts/parts.css";
import { Attempts } from "./parts/step/Attempts";
import { Decide, Until } from "./parts/step/Decide";
import { ErrorNote } from "./parts/step/ErrorNote";
import { Input } from "./parts/step/Input";
import { Parked } from "./parts/step/Parked";
import { StepFacts } from "./parts/step/StepFacts";
import { useStep } from "./parts/step/useStep";
import { isWaiting } from "./parts/step/needs";
import { Waiting } from "./parts/step/Waiting";
import { words } from "./parts/step/words";
import { hasEnded, type RunView, type StepPanelProps, type StepView } from "./types";

/** One step: what it is, what it waits for, what it was given and gave, and every attempt. */
export default function StepPanel({ run, step: name, onClose }: StepPanelProps) {
  const t = useWords(words);
  const shared = useT();
  const { step, problem } = useStep(run, name);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), [name]);
  return (
    <div
      className="step-panel"
      onKeyDown={(event) => {
        const inDialog = event.target instanceof Element && event.target.closest("dialog") !== null;
        if (event.key === "Escape" && !inDialog) onClose();
      }}
    >
      <div className="card-head">
        <h2 ref={heading} tabIndex={-1}>
          {name}
        </h2>
        <Button kind="quiet" onClick={onClose} label={t("close")}>
          ✕
        </Button>
      </div>
      {step !== null ? (
        <Whole run={run} step={step} />
      ) : problem?.status === 404 || run.purged ? (
        <Empty title={t("gone")}>{t("goneMore", { step: name })}</Empty>
      ) : problem ? (
        <ProblemNote problem={problem} />
      ) : (
        <p className="soft">{shared("app.loading")}</p>
      )}
    </div>
  );
}

function Whole({ run, step }: { readonly run: RunView; readonly step: StepView }) {
  const t = useWords(words);
  const over = hasEnded(run.status);
  return (
    <>
      <StepFacts step={step} />
      <Decide run={run} step={step} />
      {step.awaits?.what === "signal" && <AwaitsSignal run={run} step={step} />}
      <Parked run={run} step={step} />
      {!over && step.awaits === null && isWaiting(run, step) && <Waiting run={run} step={step} />}
      {step.error && (
        <section>
          <h3>{t("error")}</h3>
          <ErrorNote error={step.error} open />
        </section>
      )}
      <p className="actions">
        <Button onClick={() => openTab("logs", step.id)}>{t("log")}</Button>
        <Button onClick={() => openTab("events", step.id)}>{t("events")}</Button>
      </p>
      <Input run={run} step={step} />
      {step.status === "succeeded" && (
        <section>
          <h3>{t("output")}</h3>
          {step.output === null ? (
            <p className="soft">{t("noOutput")}</p>
          ) : (
            <Json value={step.output} label={t("output")} />
          )}
        </section>
      )}
      {step.progress !== null && step.progress !== undefined && (
        <section>
          <h3>{t("progress")}</h3>
          <Json value={step.progress} label={t("progress")} />
        </section>
      )}
      <Attempts run={run} step={step} />
    </>
  );
}

function AwaitsSignal({ run, step }: { readonly run: RunView; readonly step: StepView }) {
  const t = useWords(words);
  const [open, setOpen] = useState(false);
  const name = step.awaits?.signal ?? "";
  return (
    <section className="note warn step-asks">
      <h3>{t("signal", { name })}</h3>
      <Until until={step.awaits?.until ?? null} then={step.awaits?.then ?? null} />
      <Button kind="main" needs="operate" onClick={() => setOpen(true)}>
        {t("sendSignal")}
      </Button>
      <SignalDialog run={run} open={open} name={name} onClose={() => setOpen(false)} />
    </section>
  );
}
