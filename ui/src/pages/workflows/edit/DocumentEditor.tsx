import { useCallback, useMemo } from "react";
import { at, useAsk } from "../../../api";
import { Lazy, ProblemNote, Status } from "../../../components";
import { marksOf } from "../../../editor/marks";
import { useWords } from "../../../words";
import { keysAt, type RootSchema } from "../text/schema";
import { words } from "../words";
import type { Checked } from "./check";

const loadEditor = () => import("../../../editor/Editor");

export interface DocumentEditorProps {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly checked: Checked;
  readonly onSave: () => void;
}

/** A workflow as YAML; what is wrong is marked where it stands, and listed below. */
export function DocumentEditor({ text, onText, checked, onSave }: DocumentEditorProps) {
  const t = useWords(words);
  const { data: schema } = useAsk<RootSchema>(at("/schemas/workflow.json"));
  const keys = useCallback((path: readonly string[]) => (schema ? keysAt(schema, path) : []), [schema]);
  const marks = useMemo(() => marksOf(checked.problem?.faults ?? []), [checked.problem]);
  return (
    <div className="stack">
      <Lazy
        load={loadEditor}
        props={{
          value: text,
          onChange: onText,
          language: "yaml" as const,
          label: t("documentLabel"),
          marks,
          keys,
          minLines: 14,
          onSave,
        }}
      />
      <div role="status" className="check">
        {checked.state === "checking" && <span className="soft">{t("checking")}</span>}
        {checked.state === "valid" && <Status value="valid" label={t("valid")} />}
        {checked.state === "faulty" && <Status value="failed" label={t("faults", { count: marks.length })} />}
      </div>
      {checked.state === "unknown" && <ProblemNote problem={checked.problem} />}
      {marks.length > 0 && (
        <ul className="faults" aria-label={t("faultList")}>
          {marks.map((mark) => (
            <li key={`${mark.pointer} ${mark.message}`}>
              <span className="soft small">{t("line", { line: mark.line })}</span> {mark.message}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
