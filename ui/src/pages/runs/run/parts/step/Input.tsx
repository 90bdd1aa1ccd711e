import { at, useAsk } from "../../../../../api";
import { Json, type JsonValue } from "../../../../../components";
import { useWords } from "../../../../../words";
import type { RunView, StepView } from "../../types";
import { words } from "./words";
import { writtenInput } from "./written";

/** What the step was given: as it came out, or as the document has it where there was nothing to fill in. */
export function Input({ run, step }: { readonly run: RunView; readonly step: StepView }) {
  const t = useWords(words);
  const ask = step.input === null && run.version > 0;
  const { data } = useAsk<Readonly<Record<string, JsonValue>>>(
    ask ? at("/workflows/:workflow", { workflow: run.workflow }) : null,
    { query: { version: run.version } },
  );
  const written = data && writtenInput(data, step);
  return (
    <section>
      <h3>{t("input")}</h3>
      {step.input !== null ? (
        <Json value={step.input} label={t("input")} />
      ) : written ? (
        <Json value={written} label={t("input")} />
      ) : (
        <p className="soft">{t(data ? "noInput" : "inputAsWritten")}</p>
      )}
    </section>
  );
}
