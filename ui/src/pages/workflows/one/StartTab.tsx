import { useState } from "react";
import { at, post, useAct } from "../../../api";
import { Card, Field, faultAt, Form, Lazy, type JsonValue } from "../../../components";
import { readAll, specsOf, textsOf, type InputObject } from "../../../inputs/fields";
import InputForm from "../../../inputs/InputForm";
import { navigate } from "../../../router";
import { useWords } from "../../../words";
import { toRun } from "../paths";
import { parseInput, parseLabels } from "../start";
import type { Document } from "../types";
import { words } from "../words";

const loadEditor = () => import("../../../editor/Editor");

export interface StartTabProps {
  readonly id: string;
  readonly document: Document;
}

/** Starts a run: a field for each declared input, or any JSON where none are. */
export function StartTab({ id, document }: StartTabProps) {
  const t = useWords(words);
  const specs = specsOf(document.inputs);
  const [given, setGiven] = useState<InputObject>(() => presets(document));
  const [fits, setFits] = useState(
    () => specs === null || !Object.keys(readAll(specs, textsOf(specs, {})).faults).length,
  );
  const [strict, setStrict] = useState(false);
  const [json, setJson] = useState("");
  const [runId, setRunId] = useState("");
  const [labels, setLabels] = useState("");
  const starting = useAct();
  const free = parseInput(json);
  const tags = parseLabels(labels);

  const start = async () => {
    setStrict(true);
    if (specs === null ? free === null : !fits) return;
    if (tags === null) return;
    const body: Record<string, JsonValue> = { labels: tags };
    const input = specs === null ? free?.value : given;
    if (input !== undefined) body.input = input;
    if (runId) body.runId = runId;
    let started = "";
    const went = await starting.act(async () => {
      started = (await post<{ runId: string }>(at("/workflows/:id/execute", { id }), body)).runId;
    });
    if (went) navigate(toRun(started));
  };
  const said = (pointer: string) => faultAt(starting.problem, pointer);
  const labelsFault = tags === null ? t("labelsFault") : starting.problem?.faults.find(isOfLabels)?.message;
  return (
    <Card title={t("startTitle")}>
      <Form
        submit={t("start")}
        needs="start"
        busy={starting.busy}
        problem={starting.problem}
        onSubmit={() => void start()}
      >
        {specs === null ? (
          <Field
            label={t("input")}
            hint={t("inputHint")}
            {...optional(strict && free === null ? t("notJson") : said("/input"))}
          >
            {(wiring) => (
              <div {...wiring}>
                <Lazy
                  load={loadEditor}
                  props={{ value: json, onChange: setJson, language: "json", label: t("input"), minLines: 4 }}
                />
              </div>
            )}
          </Field>
        ) : specs.length === 0 ? (
          <p className="soft">{t("noInputs")}</p>
        ) : (
          <InputForm
            inputs={document.inputs}
            value={given}
            strict={strict}
            faults={starting.problem?.faults ?? []}
            onChange={(value, ok) => {
              setGiven(value);
              setFits(ok);
            }}
          />
        )}
        <details className="more">
          <summary>{t("moreOptions")}</summary>
          <Field label={t("runId")} hint={t("runIdHint")} {...optional(said("/runId"))}>
            {(wiring) => (
              <input
                {...wiring}
                autoComplete="off"
                value={runId}
                onChange={(event) => setRunId(event.target.value)}
              />
            )}
          </Field>
          <Field label={t("labels")} hint={t("labelsHint")} {...optional(labelsFault)}>
            {(wiring) => (
              <textarea
                {...wiring}
                rows={2}
                value={labels}
                onChange={(event) => setLabels(event.target.value)}
              />
            )}
          </Field>
        </details>
      </Form>
    </Card>
  );
}

function presets(document: Document): InputObject {
  const specs = specsOf(document.inputs) ?? [];
  return readAll(specs, textsOf(specs, {})).value;
}

function optional(fault: string | undefined): { fault?: string } {
  return fault ? { fault } : {};
}

function isOfLabels(fault: { pointer: string }): boolean {
  return fault.pointer.startsWith("/labels");
}
