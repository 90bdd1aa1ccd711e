import type { ReactNode } from "react";

export interface FigureProps {
  readonly label: string;
  readonly value: ReactNode;
  readonly children?: ReactNode; // what it means, and a chart
}

/** One large number. */
export function Figure({ label, value, children }: FigureProps) {
  return (
    <section className="card figure" aria-label={label}>
      <h2>{label}</h2>
      <p className="figure-value">{value}</p>
      {children}
    </section>
  );
}
