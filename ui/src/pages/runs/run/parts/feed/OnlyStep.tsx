import { useState, type ReactNode } from "react";
import { Field } from "../../../../../components";
import { defineWords, useWords } from "../../../../../words";
import { useView } from "../../address";

const words = defineWords({
  en: { onlyStep: "Only step {step}" },
  zh: { onlyStep: "仅步骤 {step}" },
});

/** What is told of the step that is looked at, or, if somebody wants that, of the whole run. */
export function OnlyStep({ children }: { readonly children: (step: string) => ReactNode }) {
  const t = useWords(words);
  const [view] = useView();
  const [only, setOnly] = useState(true);
  return (
    <>
      {view.step && (
        <Field label={t("onlyStep", { step: view.step })} inline>
          {(wiring) => (
            <input
              {...wiring}
              type="checkbox"
              checked={only}
              onChange={(event) => setOnly(event.target.checked)}
            />
          )}
        </Field>
      )}
      {children(only ? view.step : "")}
    </>
  );
}
