import { parseJson } from "../../../api/exact";
import type { JsonValue } from "../../../components";
import type { Overlap, Schedule } from "../types";

/** What stands in the fields of a schedule. */
export interface Fields {
  readonly name: string;
  readonly kind: "cron" | "every";
  readonly cron: string;
  readonly every: string;
  readonly timezone: string;
  readonly overlap: Overlap;
  readonly catchUp: string;
  readonly input: string;
}

export function fieldsOf(schedule: Schedule | null, zone: string, name = "default"): Fields {
  return {
    name: schedule?.name ?? name,
    kind: schedule?.every ? "every" : "cron",
    cron: schedule?.cron ?? "0 2 * * *",
    every: schedule?.every ?? "1h",
    timezone: schedule?.timezone ?? zone,
    overlap: schedule?.overlap ?? "skip",
    catchUp: schedule?.catchUp ?? "1h",
    input: schedule === null || schedule.input === null ? "" : JSON.stringify(schedule.input, null, 2),
  };
}

/** The body for the server: all of the schedule, since PUT says all. Null: the input is no JSON. */
export function bodyOf(fields: Fields, before: Schedule | null): Record<string, JsonValue> | null {
  let input: JsonValue = null;
  if (fields.input.trim()) {
    try {
      input = parseJson<JsonValue>(fields.input);
    } catch {
      return null;
    }
  }
  return {
    ...(fields.kind === "cron" ? { cron: fields.cron } : { every: fields.every }),
    timezone: fields.timezone,
    overlap: fields.overlap,
    catchUp: fields.catchUp,
    input,
    ...(before === null
      ? {}
      : {
          start: before.start,
          end: before.end,
          labels: before.labels as JsonValue,
          enabled: !before.paused,
        }),
  };
}

/** Where a schedule is in the API; the one called default needs no name. */
export function pathOf(schedule: { readonly name: string }, deed = ""): string {
  const tail = deed ? `/${deed}` : "";
  return schedule.name === "default"
    ? `/schedules/:workflow${tail}`
    : `/schedules/:workflow/${encodeURIComponent(schedule.name)}${tail}`;
}

/** A name that no schedule has. */
export function freeName(taken: readonly string[]): string {
  if (!taken.includes("default")) return "default";
  for (let number = 2; ; number++) if (!taken.includes(`schedule-${number}`)) return `schedule-${number}`;
}

/** What a field for date and time shows, as a moment; null: nothing is there. It is in the viewer's zone. */
export function momentOf(local: string): string | null {
  const moment = new Date(local);
  return Number.isNaN(moment.getTime()) ? null : moment.toISOString();
}
