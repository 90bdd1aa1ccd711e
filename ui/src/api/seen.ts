/** Whether somebody may be looking at this tab. */
export const isSeen = (): boolean => document.visibilityState !== "hidden";

/** Told whenever that changes. */
export function onSeen(listener: () => void): () => void {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
}

/** Once it is seen, or is of no use to anybody any more. */
export function untilSeen(stop: AbortSignal): Promise<void> {
  if (isSeen() || stop.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const forget = onSeen(() => isSeen() && done());
    function done(): void {
      forget();
      stop.removeEventListener("abort", done);
      resolve();
    }
    stop.addEventListener("abort", done);
  });
}
