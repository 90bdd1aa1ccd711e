import { useState } from "react";
import { at, post, useAct } from "../../../api";
import { Dialog, faultAt, Field, Form, toast } from "../../../components";
import { useWords } from "../../../words";
import type { Schedule } from "../types";
import { words } from "../words";
import { momentOf, pathOf } from "./form";
import { Times } from "./Times";

export interface BackfillDialogProps {
  readonly schedule: Schedule;
  readonly onClose: () => void;
  readonly onStarted: () => void;
}
interface Backfilled {
  readonly count: number;
  readonly times: readonly string[];
}

const SHOWN = 10;

/** Runs for times that are past: first it says which, then it does. */
export function BackfillDialog({ schedule, onClose, onStarted }: BackfillDialogProps) {
  const t = useWords(words);
  const [start, setStart] = useState("");
  const [end, setEnd] = useState("");
  const [overlap, setOverlap] = useState<"allow" | "queue">("queue");
  const [found, setFound] = useState<Backfilled | null>(null);
  const acting = useAct();
  const ask = (dryRun: boolean) => {
    const body = { start: momentOf(start), end: momentOf(end), overlap, dryRun };
    return post<Backfilled>(at(pathOf(schedule, "backfill"), { workflow: schedule.workflow }), body);
  };
  const look = () => acting.act(async () => setFound(await ask(true)));
  const begin = async () => {
    if (!(await acting.act(() => ask(false)))) return;
    toast(t("backfillStarted", { count: found?.count ?? 0 }));
    onStarted();
    onClose();
  };
  const moment = (key: "start" | "end", value: string, change: (value: string) => void) => {
    const fault = faultAt(acting.problem, `/${key}`);
    return (
      <Field label={t(key === "start" ? "backfillFrom" : "backfillTo")} {...(fault ? { fault } : {})}>
        {(wiring) => (
          <input
            {...wiring}
            type="datetime-local"
            value={value}
            onChange={(event) => {
              change(event.target.value);
              setFound(null);
            }}
          />
        )}
      </Field>
    );
  };
  const ready = momentOf(start) !== null && momentOf(end) !== null;
  return (
    <Dialog open title={t("backfillTitle")} onClose={onClose}>
      <p className="soft">{t("backfillMore")}</p>
      <Form
        submit={found ? t("backfillStart", { count: found.count }) : t("backfillLook")}
        needs="operate"
        busy={acting.busy}
        problem={acting.problem}
        onSubmit={() => void (!ready ? undefined : found ? begin() : look())}
      >
        {moment("start", start, setStart)}
        {moment("end", end, setEnd)}
        <Field label={t("backfillHow")}>
          {(wiring) => (
            <select
              {...wiring}
              value={overlap}
              onChange={(event) => setOverlap(event.target.value === "allow" ? "allow" : "queue")}
            >
              <option value="queue">{t("oneByOne")}</option>
              <option value="allow">{t("manyAtOnce")}</option>
            </select>
          )}
        </Field>
        <div role="status">
          {found && (
            <>
              <p>{t("backfillFound", { count: found.count })}</p>
              <Times times={found.times.slice(0, SHOWN)} />
              {found.times.length > SHOWN && (
                <p className="soft small">{t("andMore", { count: found.times.length - SHOWN })}</p>
              )}
            </>
          )}
        </div>
      </Form>
    </Dialog>
  );
}
