import { choice, text } from "../../router";
import type { RunStatus } from "./run/types";

export const STATUSES: readonly RunStatus[] = [
  "running",
  "queued",
  "paused",
  "failed",
  "stuck",
  "succeeded",
  "partial_success",
  "cancelled",
];
export const RANGES = ["all", "hour", "day", "week", "own"] as const;
export type Range = (typeof RANGES)[number];

export const WAITING = ["all", "any", "approval", "release", "signal"] as const;
export type Waiting = (typeof WAITING)[number];

export const FILTERS = {
  status: choice<RunStatus | "all">(["all", ...STATUSES], "all"),
  waiting: choice<Waiting>(WAITING, "all"),
  workflow: text(),
  label: text(),
  range: choice<Range>(RANGES, "all"),
  from: text(), // with `own`: UTC, ISO 8601
  until: text(),
  search: text(),
};

export interface Filter {
  readonly status: RunStatus | "all";
  readonly waiting: Waiting;
  readonly workflow: string;
  readonly label: string;
  readonly range: Range;
  readonly from: string;
  readonly until: string;
  readonly search: string;
}

export const NO_FILTER: Filter = {
  status: "all",
  waiting: "all",
  workflow: "",
  label: "",
  range: "all",
  from: "",
  until: "",
  search: "",
};

const SPANS_MS: Readonly<Partial<Record<Range, number>>> = {
  hour: 3_600_000,
  day: 86_400_000,
  week: 7 * 86_400_000,
};
const MINUTE_MS = 60_000;

/** What the list asks the server for. Spans that end now begin at a whole minute, so that it asks the same for a while. */
export function queryOf(filter: Filter, nowMs: number): Record<string, string | undefined> {
  const span = SPANS_MS[filter.range];
  const since = span === undefined ? undefined : Math.floor((nowMs - span) / MINUTE_MS) * MINUTE_MS;
  const own = filter.range === "own";
  return {
    search: filter.search || undefined,
    status: filter.status === "all" ? undefined : filter.status,
    waitingFor: filter.waiting === "all" ? undefined : filter.waiting,
    workflow: filter.workflow || undefined,
    label: isLabel(filter.label) ? filter.label : undefined,
    startedAfter:
      since !== undefined ? new Date(since).toISOString() : own ? filter.from || undefined : undefined,
    startedBefore: own ? filter.until || undefined : undefined,
  };
}

export const isLabel = (text: string): boolean => /^[^=]+=/.test(text);

export function isFiltered(filter: Filter): boolean {
  return Object.values(queryOf(filter, 0)).some((value) => value !== undefined);
}

/** What an input of type datetime-local shows for a moment in UTC, in the viewer's zone; and back. */
export function toLocal(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16);
}

export function fromLocal(local: string): string {
  const at = new Date(local);
  return local === "" || Number.isNaN(at.getTime()) ? "" : at.toISOString();
}
