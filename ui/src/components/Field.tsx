import { useId, type ReactElement, type ReactNode } from "react";

export interface FieldWiring {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": true | undefined;
}

export interface FieldProps {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly fault?: string; // what is wrong with what stands there
  readonly inline?: boolean; // the label stands beside it: check boxes, filters
  readonly children: (wiring: FieldWiring) => ReactElement; // <input {...wiring} … />
}

/** A label, what it labels, a hint and what is wrong: wired up for screen readers. */
export function Field({ label, hint, fault, inline, children }: FieldProps) {
  const id = useId();
  const told = [hint ? `${id}-hint` : "", fault ? `${id}-fault` : ""].filter(Boolean).join(" ");
  return (
    <div className={inline ? "field inline" : "field"}>
      <label htmlFor={id}>{label}</label>
      {children({ id, "aria-describedby": told || undefined, "aria-invalid": fault ? true : undefined })}
      {hint && (
        <p id={`${id}-hint`} className="soft small">
          {hint}
        </p>
      )}
      {fault && (
        <p id={`${id}-fault`} className="fault small" role="alert">
          {fault}
        </p>
      )}
    </div>
  );
}
