import { useEffect, useState } from "react";

export interface TypedProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly placeholder?: string;
  readonly maxLength?: number;
  readonly id?: string;
  readonly "aria-describedby"?: string | undefined;
  readonly "aria-invalid"?: true | undefined;
}

const PAUSE_MS = 400;

/** A text that counts once its writer pauses, presses Enter or goes elsewhere. */
export function Typed({ value, onChange, ...wiring }: TypedProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onChange(text.trim()), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return (
    <input
      type="search"
      autoComplete="off"
      spellCheck={false}
      {...wiring}
      value={text}
      onChange={(event) => setText(event.target.value)}
      onBlur={() => onChange(text.trim())}
      onKeyDown={(event) => {
        if (event.key === "Enter") onChange(text.trim());
      }}
    />
  );
}
