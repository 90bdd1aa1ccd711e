import { en } from "../words/en";
import { useT, type SharedKey } from "../words";

type Tone = "good" | "bad" | "warn" | "busy" | "calm";

const TONES: Readonly<Record<string, Tone>> = {
  succeeded: "good",
  up: "good",
  valid: "good",
  enabled: "good",
  idle: "good",
  failed: "bad",
  stuck: "bad",
  timeout: "bad",
  lost: "bad",
  dead: "bad",
  down: "bad",
  revoked: "bad",
  partial_success: "warn",
  paused: "warn",
  parked: "warn",
  awaiting: "warn",
  retrying: "warn",
  draining: "warn",
  astray: "warn",
  expired: "warn",
  leaving: "warn",
  running: "busy",
  busy: "busy",
  joining: "busy",
};
// Shapes differ, so that nobody has to tell colours apart.
const SIGNS: Readonly<Record<Tone, string>> = { good: "✓", bad: "✕", warn: "!", busy: "▶", calm: "○" };
const OWN_SIGNS: Readonly<Record<string, string>> = {
  paused: "‖",
  cancelled: "⊘",
  skipped: "»",
  stuck: "⚠",
  queued: "…",
  awaiting: "?",
  retrying: "↻",
};

export interface StatusProps {
  readonly value: string; // as the API says it
  readonly label?: string; // other words for it
}

/** A state as a badge: sign and word, not colour alone. */
export function Status({ value, label }: StatusProps) {
  const t = useT();
  const tone = toneOf(value);
  const key = `status.${value}`;
  return (
    <span className={`status ${tone}`}>
      <span className="sign" aria-hidden="true">
        {OWN_SIGNS[value] ?? SIGNS[tone]}
      </span>
      {label ?? (key in en ? t(key as SharedKey) : value)}
    </span>
  );
}

export function toneOf(value: string): Tone {
  return TONES[value] ?? "calm";
}
