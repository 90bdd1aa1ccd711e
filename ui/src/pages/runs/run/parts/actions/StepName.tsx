import { useId } from "react";
import type { FieldWiring } from "../../../../../components/Field";
import { useWords } from "../../../../../words";
import type { StepView } from "../../types";
import { choice } from "./rerun";
import { words } from "./words";

const LISTED_MAX = 200; // more are typed, with the first that fit to choose from

export interface StepNameProps {
  readonly wiring: FieldWiring;
  readonly steps: readonly StepView[];
  readonly value: string;
  readonly onChange: (step: string) => void;
}

/** One step of many, or of very many. */
export function StepName({ wiring, steps, value, onChange }: StepNameProps) {
  const t = useWords(words);
  const list = useId();
  if (steps.length <= LISTED_MAX)
    return (
      <select {...wiring} value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">{t("chooseStep")}</option>
        {steps.map((step) => (
          <option key={step.id}>{step.id}</option>
        ))}
      </select>
    );
  return (
    <>
      <input
        {...wiring}
        list={list}
        value={value}
        placeholder={t("chooseStep")}
        autoComplete="off"
        onChange={(event) => onChange(event.target.value)}
      />
      <datalist id={list}>
        {choice(steps, value, []).shown.map((step) => (
          <option key={step.id} value={step.id} />
        ))}
      </datalist>
    </>
  );
}
