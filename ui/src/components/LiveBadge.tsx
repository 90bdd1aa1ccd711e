import type { LiveState } from "../api/live";
import { useT } from "../words";

/** Whether what is shown follows what happens. */
export function LiveBadge({ state }: { readonly state: LiveState }) {
  const t = useT();
  return (
    <span className={`live ${state}`} role="status">
      <span className="dot" aria-hidden="true" /> {t(`live.${state}`)}
    </span>
  );
}
