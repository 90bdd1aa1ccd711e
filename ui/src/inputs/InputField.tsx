import { useState, type ClipboardEvent } from "react";
import { Field, type FieldWiring } from "../components";
import { useWords, type Say } from "../words";
import { textOf, type InputSpec } from "./fields";
import { words } from "./words";

export interface InputFieldProps {
  readonly spec: InputSpec;
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly fault: string | undefined;
}

export function InputField({ spec, text, onChange, fault }: InputFieldProps) {
  const t = useWords(words);
  const label = (
    <>
      {spec.name}{" "}
      <span className="soft small" style={{ fontWeight: 400 }}>
        {[spec.options ? "" : t(`type.${spec.type}`), spec.required ? t("requiredMark") : ""]
          .filter(Boolean)
          .join(" · ")}
      </span>
    </>
  );
  const choices = spec.options ?? (spec.type === "boolean" ? [true, false] : null);
  const long = spec.type === "list" || spec.type === "object" || spec.type === "any";
  const preset = presetOf(spec);
  const hint = [spec.about, ...hints(spec, t)].filter(Boolean).join(" · ");
  return (
    <Field label={label} {...(hint ? { hint } : {})} {...(fault ? { fault } : {})}>
      {(wiring) =>
        choices ? (
          <select {...wiring} value={text} onChange={(event) => onChange(event.target.value)}>
            <option value="">{preset ? t("defaultOf", { preset }) : t("notGiven")}</option>
            {choices.map((choice) => (
              <option key={JSON.stringify(choice)} value={JSON.stringify(choice)}>
                {typeof choice === "string" ? choice : JSON.stringify(choice)}
              </option>
            ))}
          </select>
        ) : long ? (
          <textarea
            {...wiring}
            rows={Math.min(10, Math.max(2, text.split("\n").length))}
            spellCheck={false}
            placeholder={preset}
            value={text}
            onChange={(event) => onChange(event.target.value)}
          />
        ) : (
          <Line spec={spec} text={text} onChange={onChange} wiring={wiring} />
        )
      }
    </Field>
  );
}

interface LineProps extends Omit<InputFieldProps, "fault"> {
  readonly wiring: FieldWiring;
}

/** A text or a number. A text that has several lines, from the beginning or as it is pasted, is shown with them. */
function Line({ spec, text, onChange, wiring }: LineProps) {
  const [lines, setLines] = useState<"one" | "many" | "pasted">(text.includes("\n") ? "many" : "one");
  if (lines !== "one")
    return (
      <textarea
        {...wiring}
        rows={Math.min(10, Math.max(2, text.split("\n").length))}
        autoFocus={lines === "pasted"}
        placeholder={presetOf(spec)}
        value={text}
        onChange={(event) => onChange(event.target.value)}
      />
    );
  const paste = (event: ClipboardEvent<HTMLInputElement>) => {
    const pasted = event.clipboardData.getData("text/plain").replaceAll("\r\n", "\n");
    if (spec.type !== "string" || !pasted.trim().includes("\n")) return;
    event.preventDefault();
    const { selectionStart, selectionEnd } = event.currentTarget;
    const at = selectionStart ?? text.length;
    onChange(text.slice(0, at) + pasted + text.slice(selectionEnd ?? at));
    setLines("pasted");
  };
  return (
    <input
      {...wiring}
      required={spec.required}
      inputMode={spec.type === "string" ? "text" : "decimal"}
      autoComplete="off"
      placeholder={presetOf(spec)}
      value={text}
      onChange={(event) => onChange(event.target.value)}
      onPaste={paste}
    />
  );
}

/** What holds if the field is left empty. */
function presetOf(spec: InputSpec): string {
  const { preset = null } = spec;
  return preset === null ? "" : typeof preset === "string" ? preset : textOf(spec, preset);
}

function hints(spec: InputSpec, t: Say<keyof (typeof words)["en"]>): string[] {
  const found: string[] = [];
  if (spec.options) return found;
  if (spec.type === "any") found.push(t("anyHint"));
  if (spec.type === "list") found.push(t("listHint"));
  if (spec.type === "object") found.push(t("objectHint"));
  const { min, max } = spec;
  const ofLength = spec.type === "string" || spec.type === "list";
  if (min !== undefined && max !== undefined)
    found.push(t(ofLength ? "lengthBetween" : "between", { min, max }));
  else if (min !== undefined) found.push(t(ofLength ? "lengthAtLeast" : "atLeast", { min }));
  else if (max !== undefined) found.push(t(ofLength ? "lengthAtMost" : "atMost", { max }));
  if (spec.pattern) found.push(t("patternHint", { pattern: spec.pattern }));
  return found;
}
