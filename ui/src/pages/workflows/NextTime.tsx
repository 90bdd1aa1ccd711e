import { Status, Time } from "../../components";
import { useT } from "../../words";
import type { WorkflowItem } from "./types";

/** When a workflow begins by itself the next time. */
export function NextTime({ of }: { of: WorkflowItem }) {
  const t = useT();
  if (of.nextTime !== null)
    return (
      <span className="nowrap">
        <Time at={of.nextTime} />
      </span>
    );
  if (of.schedulePaused) return <Status value="paused" />;
  return <span className="soft">{t("time.none")}</span>;
}
