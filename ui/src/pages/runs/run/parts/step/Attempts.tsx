import { useMemo } from "react";
import { Duration, Link, Status, Time } from "../../../../../components";
import { pathTo } from "../../../../../router";
import { useT, useWords } from "../../../../../words";
import type { RunView, StepView } from "../../types";
import { useNodeName } from "../nodes";
import { attemptsOf, type Attempt } from "./foldAttempts";
import { ErrorNote } from "./ErrorNote";
import { useStepEvents } from "./useStep";
import { words } from "./words";

/** Every try of the step, the newest first: where, when, and how it ended. */
export function Attempts({ run, step }: { readonly run: RunView; readonly step: StepView }) {
  const t = useWords(words);
  const shared = useT();
  const nodeOf = useNodeName();
  const events = useStepEvents(run.id, step);
  const attempts = useMemo(() => attemptsOf(events ?? [], step).toReversed(), [events, step]);
  return (
    <section>
      <h3>{t("attempts")}</h3>
      {events === null ? (
        <p className="soft">{shared("app.loading")}</p>
      ) : attempts.length === 0 ? (
        <p className="soft">{t("noAttempts")}</p>
      ) : (
        <ol className="attempts">
          {attempts.map((attempt, index) => (
            <AttemptItem key={attempts.length - index} attempt={attempt} nodeOf={nodeOf} last={index === 0} />
          ))}
        </ol>
      )}
    </section>
  );
}

interface AttemptItemProps {
  readonly attempt: Attempt;
  readonly nodeOf: (id: string) => string;
  readonly last: boolean;
}

function AttemptItem({ attempt, nodeOf, last }: AttemptItemProps) {
  const t = useWords(words);
  const { queuedAt, startedAt, endedAt } = attempt;
  return (
    <li>
      <p className="attempt-head">
        <strong>{t("attempt", { number: attempt.number })}</strong>
        <Status value={attempt.state} />
        {startedAt && <Duration from={startedAt} to={endedAt} />}
      </p>
      <p className="soft small attempt-facts">
        {attempt.worker && (
          <span>
            {t("worker")} <b>{attempt.worker}</b>
          </span>
        )}
        {attempt.node && (
          <span>
            {t("node")} <b>{nodeOf(attempt.node)}</b>
          </span>
        )}
        {(startedAt ?? queuedAt) && (
          <span>
            <Time at={startedAt ?? queuedAt} />
          </span>
        )}
        {queuedAt && startedAt && (
          <span>
            {t("queuedFor")} <Duration from={queuedAt} to={startedAt} />
          </span>
        )}
        {attempt.run && <Link to={pathTo("/ui/runs/:run", { run: attempt.run })}>{attempt.run}</Link>}
      </p>
      {attempt.reason && <p className="small">{attempt.reason}</p>}
      {attempt.error && !last && <ErrorNote error={attempt.error} />}
    </li>
  );
}
