import { percentOf } from "./sizes";

export interface MeterProps {
  readonly label: string;
  readonly share: number; // from 0 to 1
  readonly text?: string; // instead of percents
}

/** A share as a bar, with its figure. */
export function Meter({ label, share, text }: MeterProps) {
  const shown = Math.max(0, Math.min(1, share));
  return (
    <span className="meter">
      <span className="meter-bar" aria-hidden="true">
        <span className={shown > 0.85 ? "full" : ""} style={{ width: `${shown * 100}%` }} />
      </span>
      <span className="small">
        <span className="unseen">{label}: </span>
        {text ?? percentOf(shown)}
      </span>
    </span>
  );
}
