import { Card, Duration, Facts, Link, Time } from "../../components";
import { pathTo } from "../../router";
import { useWords } from "../../words";
import { sizeOf } from "../sizes";
import { failureText } from "./failure";
import { limitText } from "./limitText";
import { PROTECTIONS } from "./languages";
import type { Task } from "./types";
import { words } from "./words";

/** How it ended, and what the sandbox held. */
export function Result({ task }: { readonly task: Task }) {
  const t = useWords(words);
  const { result } = task;
  const none = "–";
  return (
    <div className="grid half">
      <Card title={t("result")}>
        {result?.exceeded && (
          <p className="note warn">{t("exceeded", { limit: limitText(result.exceeded, t) })}</p>
        )}
        {task.failure && <p className="note bad">{failureText(task.failure, t)}</p>}
        <Facts
          facts={[
            [t("exitCode"), result?.exitCode ?? none],
            ...(result?.signal ? [[t("signal"), result.signal] as const] : []),
            [t("time"), result?.executionTime ?? none],
            [t("cpuTime"), result?.cpuTime ?? none],
            [t("memory"), result?.peakMemory == null ? none : sizeOf(result.peakMemory)],
            [t("ranVersion"), result?.version ?? none],
            [
              t("worker"),
              task.assignedClient ? (
                <Link to={`/ui/workers?worker=${encodeURIComponent(task.assignedClient)}`}>
                  {task.assignedClient}
                </Link>
              ) : (
                none
              ),
            ],
            [t("attempts"), task.attempts],
            [t("created"), <Time at={task.timestamps.createdAt} />],
            [t("inAll"), <Duration from={task.timestamps.createdAt} to={task.timestamps.completedAt} />],
          ]}
        />
        <p>
          <Link to={pathTo("/ui/runs/:run", { run: task.taskId })}>{t("whole")}</Link>
        </p>
      </Card>
      <Card title={t("sandbox")}>
        <p>
          {t("tier")}: <strong>{result?.tier ?? (result ? t("tierNone") : none)}</strong>
        </p>
        {task.resourceLimit && (
          <p className="soft">
            {t("limitsHeld", {
              timeout: task.resourceLimit.timeout,
              memory: sizeOf(Number.parseInt(task.resourceLimit.memory, 10)),
            })}
          </p>
        )}
        {result?.protections ? (
          <ul className="held">
            {PROTECTIONS.map((each) => {
              const held = result.protections?.[each] === true;
              return (
                <li key={each} className={held ? "yes" : "no"}>
                  <span className="answer">
                    <span aria-hidden="true">{held ? "✓" : "✕"}</span> {t(held ? "yes" : "no")}
                  </span>
                  <span>{t(`protection.${each}`)}</span>
                </li>
              );
            })}
          </ul>
        ) : (
          <p className="soft">{t("noProtections")}</p>
        )}
      </Card>
    </div>
  );
}
