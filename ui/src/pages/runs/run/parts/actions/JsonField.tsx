import { Lazy } from "../../../../../components";

const loadEditor = () => import("../../../../../editor/Editor");

export interface JsonFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly hint?: string;
  readonly fault?: string;
  readonly minLines?: number;
}

/** JSON in a real editor, with what is wrong below it. */
export function JsonField({ label, value, onChange, hint, fault, minLines = 4 }: JsonFieldProps) {
  return (
    <div className="field">
      <span className="label" aria-hidden="true">
        {label}
      </span>
      <Lazy load={loadEditor} props={{ value, onChange, language: "json" as const, label, minLines }} />
      {hint && <p className="soft small">{hint}</p>}
      {fault && (
        <p className="fault small" role="alert">
          {fault}
        </p>
      )}
    </div>
  );
}
