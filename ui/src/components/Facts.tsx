import type { ReactNode } from "react";

export interface FactsProps {
  readonly facts: readonly (readonly [label: string, value: ReactNode])[];
}

/** Names and values, as a description list. */
export function Facts({ facts }: FactsProps) {
  return (
    <dl className="facts">
      {facts.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
