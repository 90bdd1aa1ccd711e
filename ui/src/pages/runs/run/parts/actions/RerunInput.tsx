import { useState } from "react";
import type { Fault as ServerFault } from "../../../../../api";
import { Button } from "../../../../../components";
import { specsOf } from "../../../../../inputs/fields";
import InputForm from "../../../../../inputs/InputForm";
import { useWords } from "../../../../../words";
import { isObject, parse, written } from "./json";
import { JsonField } from "./JsonField";
import { words } from "./words";

export interface RerunInputProps {
  readonly inputs: unknown; // what the workflow declares
  readonly text: string; // JSON
  readonly onChange: (text: string, fits: boolean) => void;
  readonly strict: boolean;
  readonly fault: string | undefined;
  readonly faults: readonly ServerFault[];
}

/** Another input: in a form, where the workflow says what it takes, or as JSON. */
export function RerunInput({ inputs, text, onChange, strict, fault, faults }: RerunInputProps) {
  const t = useWords(words);
  const value = parse(text);
  const fitsForm = specsOf(inputs) !== null && value.ok && (value.value === null || isObject(value.value));
  const [asJson, setAsJson] = useState(false);
  if (fitsForm && !asJson)
    return (
      <>
        <InputForm
          inputs={inputs}
          value={value.ok && isObject(value.value) ? value.value : {}}
          onChange={(now, fits) => onChange(written(now), fits)}
          faults={faults}
          strict={strict}
        />
        <Button
          kind="quiet"
          onClick={() => {
            setAsJson(true);
            onChange(text, true);
          }}
        >
          {t("asJson")}
        </Button>
      </>
    );
  return (
    <JsonField
      label={t("inputLabel")}
      value={text}
      onChange={(now) => onChange(now, true)}
      fault={fault ?? faults.find((each) => each.pointer.startsWith("/input"))?.message}
      minLines={6}
    />
  );
}
