import { useCallback, useState } from "react";
import { namespaceOf, usePlace } from "../../../router";
import type { Draft } from "./draft";

/** What is written and not saved, by namespace and workflow: it stays while other pages are looked at. */
const unsaved = new Map<string, Draft>();

window.addEventListener("beforeunload", (event) => {
  if (unsaved.size > 0) event.preventDefault(); // the browser asks before it closes the page, or loads it anew
});

export const isChanged = (draft: Draft): boolean => draft.text !== draft.before;

/** The draft of a workflow, as it was left; null: none was begun. */
export function useDraft(id: string): [Draft | null, (draft: Draft | null) => void] {
  const key = `${namespaceOf(usePlace().query) ?? ""} ${id}`;
  const [draft, setDraft] = useState<Draft | null>(() => unsaved.get(key) ?? null);
  const keep = useCallback(
    (next: Draft | null) => {
      if (next !== null && isChanged(next)) unsaved.set(key, next);
      else unsaved.delete(key);
      setDraft(next);
    },
    [key],
  );
  return [draft, keep];
}
