import { useState } from "react";
import { at, useAsk } from "../../../api";
import { Button, Empty, Link, ProblemNote, Table, Time, type Column } from "../../../components";
import { useT, useWords } from "../../../words";
import { runPath, workerPath } from "../paths";
import { words } from "../words";
import { KeyShown } from "./KeyShown";
import { choiceKey, reasonOf } from "./reasons";
import type { Choice, Choices } from "./types";
import { Why } from "./Why";

const SHOWN = 50;

export interface ChoicesTableProps {
  readonly worker?: string; // only those that fell on it
  readonly workflow?: string; // only of its runs
  readonly most?: number;
  readonly ofOne?: boolean; // the page is about that worker: it is not named again
}

/** Who was chosen lately, and why: what all nodes remember, the newest first. */
export function ChoicesTable({ worker = "", workflow = "", most = SHOWN, ofOne = false }: ChoicesTableProps) {
  const t = useWords(words);
  const shared = useT();
  const [asked, setAsked] = useState<Choice | null>(null);
  const told = useAsk<Choices>(at("/assignment/choices"), {
    query: { limit: most, worker: worker || null, workflow: workflow || null },
    live: true,
  });
  const columns: readonly Column<Choice>[] = [
    {
      key: "step",
      head: t("step"),
      cell: (choice) => (
        <>
          <Link className="keep" to={runPath(choice.runId, choice.namespace)}>
            {choice.step}
            <br />
            <code>{choice.runId}</code>
          </Link>
          <div className="soft small">
            {choice.workflow}
            {choice.attempt > 1 && ` · ${t("attempt", { attempt: choice.attempt })}`}
          </div>
        </>
      ),
    },
    {
      key: "worker",
      head: t("name"),
      cell: (choice) => (
        <>
          <Link to={workerPath(choice.worker)}>{choice.worker}</Link>
          {choice.node !== choice.worker && <div className="soft small">{choice.node}</div>}
        </>
      ),
    },
    {
      key: "by",
      head: t("by"),
      wideOnly: true,
      cell: (choice) => (
        <>
          {choice.strategy}
          <div className="soft small keep">{t(`source.${choice.source}`)}</div>
        </>
      ),
    },
    {
      key: "why",
      head: t("why"),
      grow: true,
      cell: (choice) => {
        const reason = reasonOf(choice);
        return (
          <>
            {t(reason.word, reason.values)}
            {choice.key.length > 0 && (
              <div className="soft small">
                <KeyShown strategy={choice.followed ?? ""} parts={choice.key} />
              </div>
            )}
          </>
        );
      },
    },
    {
      key: "at",
      head: t("at"),
      wideOnly: true,
      cell: (choice) => (
        <span className="keep">
          <Time at={choice.at} style="ago" />
        </span>
      ),
    },
    {
      key: "tell",
      head: <span className="unseen">{t("tellHead")}</span>,
      cell: (choice) => (
        <Button
          kind="quiet"
          label={t("tell", { step: choice.step, worker: choice.worker })}
          onClick={() => setAsked(choice)}
        >
          {t("tellShort")}
        </Button>
      ),
    },
  ];
  const shown = told.data;
  return (
    <>
      <ProblemNote problem={told.problem} again={told.again} />
      {shown === null && told.loading && <p className="soft">{shared("app.loading")}</p>}
      {shown && shown.silent.length > 0 && (
        <p className="note warn">{t("silent", { nodes: shown.silent.join(", ") })}</p>
      )}
      {shown && (
        <Table
          label={t("choicesTable")}
          columns={ofOne ? columns.filter((column) => column.key !== "worker") : columns}
          rows={shown.items}
          rowKey={choiceKey}
          empty={
            worker || workflow ? (
              <p className="soft">{t("noneLately")}</p>
            ) : (
              <Empty title={t("noChoices")} command="echo 'print(6 * 7)' | windlass exec --language python -">
                {t("noChoicesMore")}
              </Empty>
            )
          }
        />
      )}
      {asked && <Why choice={asked} onClose={() => setAsked(null)} />}
    </>
  );
}
