import { useState } from "react";
import { at, useAsk } from "../../../api";
import { Button, Empty, ProblemNote } from "../../../components";
import { useWords } from "../../../words";
import type { Schedule, SchedulePage } from "../types";
import { words } from "../words";
import { freeName } from "./form";
import { ScheduleCard } from "./ScheduleCard";
import { ScheduleDialog } from "./ScheduleDialog";

/** When the workflow begins by itself. */
export function ScheduleTab({ id }: { id: string }) {
  const t = useWords(words);
  const [changing, setChanging] = useState<Schedule | "new" | null>(null);
  const asked = useAsk<SchedulePage>(at("/schedules"), { query: { workflow: id }, live: true });
  const schedules = asked.data?.items ?? [];
  const add = (
    <Button needs="operate" onClick={() => setChanging("new")}>
      {t("addSchedule")}
    </Button>
  );
  return (
    <div className="stack">
      <ProblemNote problem={asked.problem} again={asked.again} />
      {asked.data && schedules.length === 0 && (
        <Empty title={t("noSchedule")} command={`windlass schedule set ${id} --cron "0 2 * * *"`}>
          <p>{t("noScheduleMore")}</p>
          {add}
        </Empty>
      )}
      {schedules.map((schedule) => (
        <ScheduleCard
          key={schedule.name}
          schedule={schedule}
          onChange={() => setChanging(schedule)}
          again={asked.again}
        />
      ))}
      {schedules.length > 0 && <div className="actions">{add}</div>}
      {changing !== null && (
        <ScheduleDialog
          workflow={id}
          schedule={changing === "new" ? null : changing}
          freeName={freeName(schedules.map((schedule) => schedule.name))}
          onClose={() => setChanging(null)}
          onSaved={() => {
            setChanging(null);
            asked.again();
          }}
        />
      )}
    </div>
  );
}
