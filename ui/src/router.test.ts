// @vitest-environment happy-dom
import { beforeEach, expect, test } from "vitest";
import {
  choice,
  flag,
  list,
  match,
  navigate,
  pathTo,
  readFilters,
  text,
  whole,
  withNamespace,
  writeFilters,
} from "./router";

const FILTERS = {
  status: choice(["all", "failed"], "all"),
  search: text(),
  failed: flag(),
  page: whole(1),
  tags: list(),
};

beforeEach(() => navigate("/?namespace=", { replace: true }));

test("a pattern names the parts of a path, unescaped", () => {
  expect(match("/ui/runs/:run", "/ui/runs/a%2Fb")).toEqual({ run: "a/b" });
  expect(match("/ui/runs/:run", "/ui/runs/a/")).toEqual({ run: "a" });
});

test("another path does not fit", () => {
  expect(match("/ui/runs/:run", "/ui/runs")).toBeNull();
  expect(match("/ui/runs/:run", "/ui/runs/")).toBeNull();
  expect(match("/ui/runs/:run", "/ui/runs/%E0%A4%A")).toBeNull();
});

test("parts are escaped on their way into a path", () => {
  expect(pathTo("/ui/runs/:run", { run: "each[3]/x" })).toBe("/ui/runs/each%5B3%5D%2Fx");
});

test("what filters write they read again", () => {
  const query = writeFilters(FILTERS, "?other=1", {
    status: "failed",
    search: "a b",
    failed: true,
    page: 3,
    tags: ["x", "y"],
  });
  expect(query).toContain("other=1");
  expect(readFilters(FILTERS, query)).toEqual({
    status: "failed",
    search: "a b",
    failed: true,
    page: 3,
    tags: ["x", "y"],
  });
});

test("what is as usual is not written", () => {
  expect(
    writeFilters(FILTERS, "?status=failed", { status: "all", search: "", failed: false, page: 1, tags: [] }),
  ).toBe("");
});

test("nonsense in the address is as if nothing stood there", () => {
  expect(readFilters(FILTERS, "?status=odd&page=-1&failed=maybe")).toMatchObject({
    status: "all",
    page: 1,
    failed: false,
  });
});

test("the namespace goes along unless another one is named", () => {
  navigate("/ui/runs?namespace=reports");
  expect(withNamespace("/ui/workers")).toBe("/ui/workers?namespace=reports");
  expect(withNamespace("/ui/workers?namespace=b")).toBe("/ui/workers?namespace=b");
  expect(withNamespace("/ui/workers?namespace=")).toBe("/ui/workers");
});
