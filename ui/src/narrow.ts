import { useCallback, useSyncExternalStore } from "react";

/** Whether the window is as narrow as this: a phone. The style sheets have the same numbers. */
export function useNarrow(mostPx: 640 | 760): boolean {
  const query = `(max-width: ${mostPx}px)`;
  const watch = useCallback(
    (changed: () => void) => {
      const media = window.matchMedia(query);
      media.addEventListener("change", changed);
      return () => media.removeEventListener("change", changed);
    },
    [query],
  );
  return useSyncExternalStore(watch, () => window.matchMedia(query).matches);
}
