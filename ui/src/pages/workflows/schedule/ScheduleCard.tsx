import { useState } from "react";
import { at, post, remove, useAct } from "../../../api";
import { Button, Card, Confirm, Facts, Link, ProblemNote, Status, Time, toast } from "../../../components";
import { useT, useWords } from "../../../words";
import { toRun } from "../paths";
import type { Schedule } from "../types";
import { words } from "../words";
import { BackfillDialog } from "./BackfillDialog";
import { pathOf } from "./form";
import { Times } from "./Times";

export interface ScheduleCardProps {
  readonly schedule: Schedule;
  readonly onChange: () => void;
  readonly again: () => void;
}

/** One schedule: when it is due, what became of it, and what can be done about it. */
export function ScheduleCard({ schedule, onChange, again }: ScheduleCardProps) {
  const t = useWords(words);
  const shared = useT();
  const acting = useAct();
  const deleting = useAct();
  const [open, setOpen] = useState<"delete" | "backfill" | null>(null);
  const { workflow } = schedule;
  const order = async (deed: "pause" | "resume", said: string) => {
    if (await acting.act(() => post(at(pathOf(schedule, deed), { workflow })))) toast(said);
    again();
  };
  const trigger = async () => {
    let run = "";
    const went = await acting.act(async () => {
      run = (await post<{ runId: string }>(at(pathOf(schedule, "trigger"), { workflow }), {})).runId;
    });
    if (went) toast(t("triggered", { run }));
    again();
  };
  const drop = async () => {
    if (!(await deleting.act(() => remove(at(pathOf(schedule), { workflow }))))) return;
    setOpen(null);
    again();
  };
  const { last } = schedule;
  return (
    <Card
      title={schedule.name === "default" ? t("scheduleTitle") : schedule.name}
      actions={<Status value={schedule.paused ? "paused" : "enabled"} />}
    >
      <div className="grid half">
        <Facts
          facts={[
            [t(schedule.cron ? "cron" : "every"), <code key="when">{schedule.cron ?? schedule.every}</code>],
            [t("timezone"), schedule.timezone],
            [t("overlap"), t(`overlap.${schedule.overlap}`)],
            [t("catchUp"), schedule.catchUp],
            [
              t("tallies"),
              t("talliesMore", {
                fired: schedule.fired,
                skipped: schedule.skipped,
                failed: schedule.failed,
              }),
            ],
            [
              t("lastTime"),
              last ? (
                <span key="last">
                  <Time at={last.due} style="ago" />{" "}
                  {last.run ? (
                    <Link to={toRun(last.run)} className="bare">
                      <Status value={last.status} />
                    </Link>
                  ) : (
                    <Status value={last.status} />
                  )}{" "}
                  <span className="soft small">{last.reason ?? ""}</span>
                </span>
              ) : (
                t("neverYet")
              ),
            ],
          ]}
        />
        <div>
          <h3>{t("nextTimes")}</h3>
          {schedule.paused ? <p className="soft">{t("pausedMore")}</p> : <Times times={schedule.next} />}
          {schedule.backfill > 0 && (
            <p className="soft small">{t("backfilling", { count: schedule.backfill })}</p>
          )}
          {schedule.queued > 0 && <p className="soft small">{t("queuedUp", { count: schedule.queued })}</p>}
        </div>
      </div>
      {schedule.source === "document" && <p className="soft small">{t("ofDocument")}</p>}
      <ProblemNote problem={acting.problem} />
      <div className="actions">
        {schedule.paused ? (
          <Button needs="operate" busy={acting.busy} onClick={() => void order("resume", t("resumed"))}>
            {t("resume")}
          </Button>
        ) : (
          <Button needs="operate" busy={acting.busy} onClick={() => void order("pause", t("pausedNow"))}>
            {t("pause")}
          </Button>
        )}
        <Button needs="start" busy={acting.busy} onClick={() => void trigger()}>
          {t("trigger")}
        </Button>
        <Button needs="operate" onClick={() => setOpen("backfill")}>
          {t("backfill")}
        </Button>
        <Button needs="operate" onClick={onChange}>
          {t("change")}
        </Button>
        <Button needs="operate" onClick={() => setOpen("delete")}>
          {shared("do.delete")}
        </Button>
      </div>
      {open === "backfill" && (
        <BackfillDialog schedule={schedule} onClose={() => setOpen(null)} onStarted={again} />
      )}
      <Confirm
        open={open === "delete"}
        title={t("deleteScheduleAsk", { name: schedule.name })}
        confirm={shared("do.delete")}
        busy={deleting.busy}
        problem={deleting.problem}
        onConfirm={() => void drop()}
        onClose={() => setOpen(null)}
      >
        <p>{t("deleteScheduleMore")}</p>
      </Confirm>
    </Card>
  );
}
