import { useEffect, useState } from "react";
import { ask, asProblem, at, type Problem } from "../../../api";

export interface Checked {
  readonly state: "checking" | "valid" | "faulty" | "unknown"; // unknown: the server could not say
  readonly problem: Problem | null;
}

const AFTER_MS = 400; // without another key

/** Whether the server could save this text, as it is typed. */
export function useCheck(text: string): Checked {
  const [checked, setChecked] = useState<Checked>({ state: "checking", problem: null });
  useEffect(() => {
    const stop = new AbortController();
    setChecked((now) => ({ ...now, state: "checking" }));
    const timer = setTimeout(() => {
      ask("POST", at("/workflows/validate"), { yaml: text, signal: stop.signal }).then(
        () => setChecked({ state: "valid", problem: null }),
        (error: unknown) => {
          if (stop.signal.aborted) return;
          const problem = asProblem(error);
          setChecked({ state: problem.status === 422 ? "faulty" : "unknown", problem });
        },
      );
    }, AFTER_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text]);
  return checked;
}
