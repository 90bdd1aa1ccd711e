import { useState, type ReactElement } from "react";
import { at, put, useAct } from "../../../api";
import { Dialog, faultAt, Field, Form, toast } from "../../../components";
import { useWords } from "../../../words";
import type { Overlap, Schedule } from "../types";
import { words } from "../words";
import { bodyOf, fieldsOf, pathOf, type Fields } from "./form";
import { usePreview } from "./preview";
import { Times } from "./Times";

export interface ScheduleDialogProps {
  readonly workflow: string;
  readonly schedule: Schedule | null; // null: a new one
  readonly freeName: string;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

const OVERLAPS: readonly Overlap[] = ["skip", "queue", "allow"];
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Sets a schedule; what it would mean is shown while it is typed. */
export function ScheduleDialog({ workflow, schedule, freeName, onClose, onSaved }: ScheduleDialogProps) {
  const t = useWords(words);
  const [fields, setFields] = useState(() => fieldsOf(schedule, ZONE, freeName));
  const saving = useAct();
  const body = bodyOf(fields, schedule);
  const preview = usePreview(body);
  const change = (changed: Partial<Fields>) => setFields({ ...fields, ...changed });
  const save = async () => {
    if (body === null) return;
    if (!(await saving.act(() => put(at(pathOf(fields), { workflow }), body)))) return;
    toast(t("scheduleSaved"));
    onSaved();
  };
  const fault = (key: string) => {
    const said = faultAt(preview.problem, `/${key}`) ?? faultAt(saving.problem, `/${key}`);
    return said ? { fault: said } : {};
  };
  const line = (key: "cron" | "every" | "timezone" | "catchUp" | "name", hint: string): ReactElement => (
    <Field label={t(key === "name" ? "scheduleName" : key)} hint={hint} {...fault(key)}>
      {(wiring) => (
        <input
          {...wiring}
          autoComplete="off"
          spellCheck={false}
          list={key === "timezone" ? "timezones" : undefined}
          value={fields[key]}
          onChange={(event) => change({ [key]: event.target.value })}
        />
      )}
    </Field>
  );
  return (
    <Dialog open title={t(schedule ? "changeSchedule" : "addSchedule")} onClose={onClose} wide>
      <Form
        submit={t("saveSchedule")}
        needs="operate"
        busy={saving.busy}
        problem={saving.problem}
        onSubmit={() => void save()}
      >
        <div className="grid half">
          <div>
            {schedule === null && freeName !== "default" && line("name", t("scheduleNameHint"))}
            <Field label={t("when2")}>
              {(wiring) => (
                <select
                  {...wiring}
                  value={fields.kind}
                  onChange={(event) => change({ kind: event.target.value === "every" ? "every" : "cron" })}
                >
                  <option value="cron">{t("kindCron")}</option>
                  <option value="every">{t("kindEvery")}</option>
                </select>
              )}
            </Field>
            {fields.kind === "cron" ? line("cron", t("cronHint")) : line("every", t("everyHint"))}
            {fields.kind === "cron" && line("timezone", t("timezoneHint"))}
            <datalist id="timezones">
              {Intl.supportedValuesOf("timeZone").map((zone) => (
                <option key={zone} value={zone} />
              ))}
            </datalist>
            <Field label={t("overlap")} hint={t("overlapHint")}>
              {(wiring) => (
                <select
                  {...wiring}
                  value={fields.overlap}
                  onChange={(event) =>
                    change({ overlap: OVERLAPS.find((each) => each === event.target.value) ?? "skip" })
                  }
                >
                  {OVERLAPS.map((overlap) => (
                    <option key={overlap} value={overlap}>
                      {t(`overlap.${overlap}`)}
                    </option>
                  ))}
                </select>
              )}
            </Field>
            {line("catchUp", t("catchUpHint"))}
            <Field
              label={t("input")}
              hint={t("scheduleInputHint")}
              {...(body === null ? { fault: t("notJson") } : fault("input"))}
            >
              {(wiring) => (
                <textarea
                  {...wiring}
                  rows={3}
                  spellCheck={false}
                  value={fields.input}
                  onChange={(event) => change({ input: event.target.value })}
                />
              )}
            </Field>
          </div>
          <div role="status" className="preview">
            <h3>{t("nextTimes")}</h3>
            {preview.times ? <Times times={preview.times} /> : <p className="soft">{t("noPreview")}</p>}
            <p className="soft small">{t("viewerZone", { zone: ZONE })}</p>
          </div>
        </div>
      </Form>
    </Dialog>
  );
}
