import { Link, Status, Time } from "../../components";
import { useWords } from "../../words";
import { toRun } from "./paths";
import type { RunItem } from "./types";
import { words } from "./words";

/** How the newest run of a workflow goes or went. */
export function LastRun({ run }: { run: RunItem | null }) {
  const t = useWords(words);
  if (run === null) return <span className="soft small">{t("neverRun")}</span>;
  return (
    <span className="last-run">
      <Link to={toRun(run.id)} className="bare">
        <Status value={run.status} />
      </Link>{" "}
      <span className="soft small">
        <Time at={run.startedAt} style="ago" />
      </span>
    </span>
  );
}
