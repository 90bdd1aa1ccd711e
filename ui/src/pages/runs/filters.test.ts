// @vitest-environment happy-dom
import { describe, expect, it } from "vitest";
import { FILTERS, fromLocal, isFiltered, NO_FILTER, queryOf, toLocal } from "./filters";
import { readFilters } from "../../router";

const NOON_MS = Date.parse("2026-03-01T12:00:30.500Z");

describe("the filters of the list", () => {
  it("ask for nothing in particular at first", () => {
    expect(readFilters(FILTERS, "")).toEqual(NO_FILTER);
    expect(Object.values(queryOf(NO_FILTER, NOON_MS)).every((value) => value === undefined)).toBe(true);
    expect(isFiltered(NO_FILTER)).toBe(false);
  });

  it("ask the same for as long as a minute lasts", () => {
    const filter = { ...NO_FILTER, range: "hour" as const };
    expect(queryOf(filter, NOON_MS).startedAfter).toBe("2026-03-01T11:00:00.000Z");
    expect(queryOf(filter, NOON_MS + 29_000)).toEqual(queryOf(filter, NOON_MS));
  });

  it("heed a span of one's own only where it is chosen", () => {
    const own = { ...NO_FILTER, from: "2026-03-01T08:00:00.000Z", until: "2026-03-01T09:00:00.000Z" };
    expect(queryOf({ ...own, range: "own" }, NOON_MS)).toMatchObject({
      startedAfter: own.from,
      startedBefore: own.until,
    });
    expect(queryOf({ ...own, range: "day" }, NOON_MS)).toMatchObject({
      startedAfter: "2026-02-28T12:00:00.000Z",
      startedBefore: undefined,
    });
  });

  it("do not ask for half a label", () => {
    expect(queryOf({ ...NO_FILTER, label: "team" }, 0).label).toBeUndefined();
    expect(queryOf({ ...NO_FILTER, label: "team=" }, 0).label).toBe("team=");
  });

  it("ask for runs that wait for somebody, or for one thing", () => {
    const asked = (query: string) => queryOf(readFilters(FILTERS, query), 0).waitingFor;
    expect([asked("?waiting=any"), asked("?waiting=signal")]).toEqual(["any", "signal"]);
    expect(asked("?waiting=godot")).toBeUndefined();
  });

  it("search together with what else is chosen", () => {
    const filter = readFilters(FILTERS, "?search=exec_01&status=failed");
    expect(queryOf(filter, 0)).toMatchObject({ search: "exec_01", status: "failed" });
    expect(isFiltered({ ...NO_FILTER, search: "x" })).toBe(true);
  });

  it("know a status from nonsense", () => {
    expect(readFilters(FILTERS, "?status=failed&range=week").status).toBe("failed");
    expect(readFilters(FILTERS, "?status=great").status).toBe("all");
  });

  it("show moments in the viewer's zone and keep them in UTC", () => {
    expect(fromLocal(toLocal("2026-03-01T08:00:00.000Z"))).toBe("2026-03-01T08:00:00.000Z");
    expect(fromLocal("")).toBe("");
    expect(toLocal("nonsense")).toBe("");
  });
});
