import { useEffect, useState } from "react";
import { asProblem, at, parseJson, post, type Problem } from "../../../api";
import type { JsonValue } from "../../../components";

export interface Preview {
  readonly times: readonly string[] | null;
  readonly problem: Problem | null;
}

const AFTER_MS = 300;

/** When a schedule would be due, as it is typed; null: nothing to ask about. */
export function usePreview(body: Record<string, JsonValue> | null): Preview {
  const [preview, setPreview] = useState<Preview>({ times: null, problem: null });
  const asked = body === null ? null : JSON.stringify(body);
  useEffect(() => {
    if (asked === null) return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      const path = at("/schedules/preview");
      post<{ next: string[] }>(path, parseJson(asked), { signal: stop.signal }).then(
        ({ next }) => setPreview({ times: next, problem: null }),
        (error: unknown) => {
          if (!stop.signal.aborted) setPreview({ times: null, problem: asProblem(error) });
        },
      );
    }, AFTER_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [asked]);
  return preview;
}
