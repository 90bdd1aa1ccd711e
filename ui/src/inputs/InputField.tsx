import { Field } from "../components";
import { useWords, type Say } from "../words";
import type { InputSpec } from "./fields";
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
  const hint = [spec.about, ...hints(spec, t)].filter(Boolean).join(" · ");
  return (
    <Field label={label} {...(hint ? { hint } : {})} {...(fault ? { fault } : {})}>
      {(wiring) =>
        choices ? (
          <select {...wiring} value={text} onChange={(event) => onChange(event.target.value)}>
            <option value="">{t("notGiven")}</option>
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
            value={text}
            onChange={(event) => onChange(event.target.value)}
          />
        ) : (
          <input
            {...wiring}
            required={spec.required}
            inputMode={spec.type === "string" ? "text" : "decimal"}
            autoComplete="off"
            value={text}
            onChange={(event) => onChange(event.target.value)}
          />
        )
      }
    </Field>
  );
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
