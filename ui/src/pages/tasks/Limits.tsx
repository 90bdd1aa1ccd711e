import type { Problem } from "../../api";
import { faultAt, Field } from "../../components";
import { useWords } from "../../words";
import type { Offer } from "./languages";
import { Protections } from "./Protections";
import type { Wishes } from "./request";
import { words } from "./words";

const FIELDS = [
  ["timeout", "30s"],
  ["memory", "256MB"],
  ["cpu", "1.0"],
  ["processes", "64"],
  ["disk", "64MB"],
  ["output", "1MB"],
] as const;

export interface LimitsProps {
  readonly offer: Offer;
  readonly wishes: Wishes;
  readonly onChange: (wishes: Wishes) => void;
  readonly problem: Problem | null;
}

/** What the program may use, and what it must not run without. */
export function Limits({ offer, wishes, onChange, problem }: LimitsProps) {
  const t = useWords(words);
  return (
    <details className="limits">
      <summary>{t("limits")}</summary>
      <p className="soft small">{t("limitsHint")}</p>
      <div className="limit-fields">
        {FIELDS.map(([name, example]) => (
          <Field key={name} label={t(`limit.${name}`)} fault={faultAt(problem, `/resourceLimit/${name}`)}>
            {(wiring) => (
              <input
                {...wiring}
                value={wishes[name]}
                placeholder={example}
                onChange={(event) => onChange({ ...wishes, [name]: event.target.value })}
              />
            )}
          </Field>
        ))}
      </div>
      <Field
        label={t("network")}
        hint={t("networkHint")}
        fault={faultAt(problem, "/resourceLimit/network")}
        inline
      >
        {(wiring) => (
          <input
            {...wiring}
            type="checkbox"
            checked={wishes.network}
            onChange={(event) => onChange({ ...wishes, network: event.target.checked })}
          />
        )}
      </Field>
      <Protections
        offered={offer.protections}
        chosen={wishes.protections}
        onChange={(protections) => onChange({ ...wishes, protections })}
      />
    </details>
  );
}
