import { useState } from "react";
import { at, post, useAct, useMay } from "../../api";
import { Button, Card, Confirm, Copy, faultAt, Field, Form, Lazy } from "../../components";
import { useT, useWords } from "../../words";
import { draftOf, keepDraft } from "./draft";
import type { Offer } from "./languages";
import { Limits } from "./Limits";
import { bodyOf, curlOf, NO_WISHES } from "./request";
import { sampleOf } from "./samples";
import { TaskProblem } from "./TaskProblem";
import type { Envelope } from "./types";
import { useServer } from "./useServer";
import { words } from "./words";

const loadEditor = () => import("./Editor");

export interface PlaygroundProps {
  readonly offers: readonly Offer[];
  readonly offer: Offer;
  readonly onLanguage: (language: string) => void;
  readonly onStarted: (task: string) => void;
}

/** A program, its input and its limits. */
export function Playground({ offers, offer, onLanguage, onStarted }: PlaygroundProps) {
  const t = useWords(words);
  const shared = useT();
  const language = offer.language;
  const [codes, setCodes] = useState<Readonly<Record<string, string>>>({});
  const [version, setVersion] = useState("");
  const [stdin, setStdin] = useState("");
  const [wishes, setWishes] = useState(NO_WISHES);
  const [asking, setAsking] = useState(false);
  const sending = useAct();
  const may = useMay("start");
  const server = useServer();
  const code = codes[language] ?? draftOf(language);
  const write = (text: string) => {
    setCodes((now) => ({ ...now, [language]: text }));
    keepDraft(language, text);
  };
  const body = bodyOf({ language, version, code, stdin }, wishes);
  const run = () => {
    if (!may.ok) return; // the editor has a key for it, which no disabled button keeps back
    void sending.act(async () => {
      const answer = await post<Envelope<{ taskId: string }>>(at("/tasks"), body);
      onStarted(answer.data.taskId);
    });
  };
  return (
    <Card>
      <Form
        submit={t("run")}
        needs="start"
        busy={sending.busy}
        onSubmit={run}
        extra={
          <>
            <Button disabled={code === sampleOf(language)} onClick={() => setAsking(true)}>
              {t("sample")}
            </Button>
            <Copy text={curlOf(body, server)} label={t("asCurl")} words={t("asCurl")} />
            {may.ok && <span className="soft small wide-only">{t("runHint")}</span>}
          </>
        }
      >
        <div className="filters">
          <Field label={t("language")} inline>
            {(wiring) => (
              <select
                {...wiring}
                value={language}
                onChange={(event) => {
                  setVersion("");
                  onLanguage(event.target.value);
                }}
              >
                {offers.map((each) => (
                  <option key={each.language}>{each.language}</option>
                ))}
              </select>
            )}
          </Field>
          <Field label={t("version")} inline>
            {(wiring) => (
              <select {...wiring} value={version} onChange={(event) => setVersion(event.target.value)}>
                <option value="">{t("anyVersion")}</option>
                {offer.versions.map((each) => (
                  <option key={each}>{each}</option>
                ))}
              </select>
            )}
          </Field>
        </div>
        <Lazy
          load={loadEditor}
          props={{ value: code, onChange: write, onRun: run, language, label: t("code") }}
          waiting={<div className="task-program waiting">{shared("app.loading")}</div>}
        />
        <Field label={t("stdin")} hint={t("stdinHint")} fault={faultAt(sending.problem, "/stdin")}>
          {(wiring) => (
            <textarea {...wiring} rows={2} value={stdin} onChange={(event) => setStdin(event.target.value)} />
          )}
        </Field>
        <Limits offer={offer} wishes={wishes} onChange={setWishes} problem={sending.problem} />
        <TaskProblem problem={sending.problem} />
        {!may.ok && <p className="note warn">{may.reason}</p>}
      </Form>
      <Confirm
        open={asking}
        title={t("sampleAsk")}
        confirm={t("sampleDo")}
        onClose={() => setAsking(false)}
        onConfirm={() => {
          write(sampleOf(language));
          setAsking(false);
        }}
      >
        <p>{t("sampleMore")}</p>
      </Confirm>
    </Card>
  );
}
