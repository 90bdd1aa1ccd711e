import { Link } from "../../components";
import { useWords } from "../../words";
import { runPath } from "./paths";
import type { Worker } from "./types";
import { words } from "./words";

export interface RunningProps {
  readonly worker: Worker;
  readonly most?: number;
}

/** What a worker runs now, each with the way to its run. */
export function Running({ worker, most = Infinity }: RunningProps) {
  const t = useWords(words);
  const shown = worker.tasks.slice(0, most);
  const rest = Math.max(worker.active, worker.tasks.length) - shown.length;
  if (shown.length === 0 && rest <= 0) return <span className="soft">{t("nothing")}</span>;
  return (
    <ul className="plain-list">
      {shown.map((task) => (
        <li key={`${task.runId} ${task.step} ${task.attempt}`}>
          <Link to={runPath(task.runId, task.namespace)}>
            {task.runId} · {task.step}
          </Link>
        </li>
      ))}
      {rest > 0 && <li className="soft">{t("andMore", { count: rest })}</li>}
    </ul>
  );
}
