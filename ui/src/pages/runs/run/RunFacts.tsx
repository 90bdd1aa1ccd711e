import type { ReactNode } from "react";
import { Duration, Facts, Link, Time } from "../../../components";
import { pathTo } from "../../../router";
import { useT, useWords } from "../../../words";
import { Labels } from "../Labels";
import { WorkflowLink } from "../WorkflowLink";
import { stepEnded, type RunView, type StepStatus } from "./types";
import { useCount } from "../../../words/count";
import { words } from "./words";

/** What is known of a run in a few words. */
export function RunFacts({ run }: { readonly run: RunView }) {
  const t = useWords(words);
  const facts: [string, ReactNode][] = [
    [t("workflow"), <WorkflowLink key="workflow" run={run} />],
    [t("started"), <Time key="started" at={run.startedAt} />],
    [t("ended"), <Time key="ended" at={run.endedAt} />],
    [
      t("duration"),
      <Duration key="duration" seconds={run.durationSeconds} from={run.startedAt} to={run.endedAt} />,
    ],
    [t("progress"), <Progress key="progress" run={run} />],
  ];
  if (Object.keys(run.labels).length) facts.push([t("labels"), <Labels key="labels" labels={run.labels} />]);
  if (run.priority !== 0) facts.push([t("priority"), run.priority]);
  if (run.startedBy !== null) facts.push([t("startedBy"), run.startedBy]);
  if (run.rerunOf !== null) facts.push([t("rerunOf"), <RunLink key="rerunOf" run={run.rerunOf} />]);
  if (run.parent?.kind === "run") facts.push([t("parentRun"), <RunLink key="parent" run={run.parent.id} />]);
  if (run.parent?.kind === "workflow")
    facts.push([
      t("parentSchedule"),
      <Link key="schedule" to={pathTo("/ui/workflows/:workflow", { workflow: run.parent.id })}>
        {run.parent.id}
      </Link>,
    ]);
  return (
    <section className="card">
      <Facts facts={facts} />
    </section>
  );
}

function RunLink({ run }: { readonly run: string }) {
  return <Link to={pathTo("/ui/runs/:run", { run })}>{run}</Link>;
}

// What is done fills the bar from the left.
const BAR: readonly StepStatus[] = [
  "succeeded",
  "failed",
  "skipped",
  "cancelled",
  "running",
  "queued",
  "waiting",
];

/** How many steps have ended, as a bar in the colours of how; its words say the same. */
function Progress({ run }: { readonly run: RunView }) {
  const t = useWords(words);
  const shared = useT();
  const count = useCount();
  const parts = BAR.map((status) => ({ status, count: run.counts[status] ?? 0 })).filter(
    (part) => part.count > 0,
  );
  const total = parts.reduce((sum, part) => sum + part.count, 0);
  const done = parts.reduce((sum, part) => sum + (stepEnded(part.status) ? part.count : 0), 0);
  const told = parts
    .map((part) => t("progressMore", { status: shared(`status.${part.status}`), count: count(part.count) }))
    .join(", ");
  return (
    <div className="run-progress" title={told}>
      <span>{t("progressOf", { done: count(done), total: count(total) })}</span>
      <span className="unseen">{told}</span>
      <span className="run-bar" aria-hidden="true">
        {parts.map((part) => (
          <span key={part.status} className={part.status} style={{ flexGrow: part.count }} />
        ))}
      </span>
    </div>
  );
}
