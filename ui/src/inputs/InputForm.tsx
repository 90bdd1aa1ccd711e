import { useMemo, useState } from "react";
import type { Fault } from "../api";
import { readAll, specsOf, textsOf, type InputObject } from "./fields";
import { InputField } from "./InputField";
import { useWords } from "../words";
import { words } from "./words";

export interface InputFormProps {
  readonly inputs: unknown; // as the document says them
  readonly value: InputObject;
  readonly onChange: (value: InputObject, fits: boolean) => void; // fits: no field has a mistake
  readonly faults?: readonly Fault[]; // what the server said, at /input/<name>
  readonly strict?: boolean; // mistakes are shown in fields that were not touched, too
}

/** A field for each input that a workflow declares. Nothing of its own is sent: it stands in somebody's form. */
export default function InputForm({ inputs, value, onChange, faults = [], strict }: InputFormProps) {
  const t = useWords(words);
  const specs = useMemo(() => specsOf(inputs) ?? [], [inputs]);
  const [texts, setTexts] = useState(() => textsOf(specs, value));
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const found = readAll(specs, texts).faults;
  const change = (name: string, text: string) => {
    const next = { ...texts, [name]: text };
    setTexts(next);
    setTouched(new Set([...touched, name]));
    const { value: now, faults: wrong } = readAll(specs, next);
    onChange(now, Object.keys(wrong).length === 0);
  };
  return (
    <>
      {specs.map((spec) => {
        const own = found[spec.name];
        const told = faults.find((fault) => pointsTo(fault.pointer, spec.name))?.message;
        const shown = own && (strict || touched.has(spec.name)) ? t(own.key, own.values) : told;
        return (
          <InputField
            key={spec.name}
            spec={spec}
            text={texts[spec.name] ?? ""}
            onChange={(text) => change(spec.name, text)}
            fault={shown}
          />
        );
      })}
    </>
  );
}

/** `/input/day`, and what is inside of it. */
function pointsTo(pointer: string, name: string): boolean {
  const place = `/input/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  return pointer === place || pointer.startsWith(`${place}/`);
}
