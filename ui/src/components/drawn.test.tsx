// @vitest-environment happy-dom
import { expect, test, vi } from "vitest";
import { session, type Role } from "../api/session-store";
import { Problem } from "../api/problem";
import { setLanguage } from "../words";
import { draw, key, press } from "../testing";
import { Button } from "./Button";
import { navigate } from "../router";
import { Field } from "./Field";
import { faultAt, Form } from "./Form";
import { Json } from "./Json";
import { Page } from "./Page";
import { ProblemNote } from "./ProblemNote";
import { Status } from "./Status";
import { Table, type Column } from "./Table";
import { Tabs } from "./Tabs";

const as = (role: Role, namespace = "*") =>
  session.set({ state: "in", me: { login: true, who: "me", role, namespace } });

setLanguage("en");

test("who may do it can press", async () => {
  as("operator");
  const deed = vi.fn();
  const { place } = await draw(
    <Button needs="operate" onClick={deed}>
      Cancel run
    </Button>,
  );
  await press(place.querySelector("button"));
  expect(deed).toHaveBeenCalledOnce();
});

test("who may not is told why, and nothing happens", async () => {
  as("read");
  const deed = vi.fn();
  const { place } = await draw(
    <Button needs="operate" onClick={deed}>
      Cancel run
    </Button>,
  );
  const button = place.querySelector("button");
  await press(button);
  expect(deed).not.toHaveBeenCalled();
  expect(button?.getAttribute("aria-disabled")).toBe("true");
  expect(place.textContent).toContain("This needs the role operator; yours is read.");
});

test("what is about all namespaces needs a token of all of them", async () => {
  as("operator", "reports");
  const { place } = await draw(
    <Button needs="see" everywhere>
      Cluster
    </Button>,
  );
  expect(place.textContent).toContain("needs a token of all of them");
});

test("without a login anybody may do anything", async () => {
  session.set({ state: "in", me: { login: false, who: "anyone", role: "admin", namespace: "*" } });
  const { place } = await draw(<Button needs="administer">Drain</Button>);
  expect(place.querySelector("button")?.hasAttribute("aria-disabled")).toBe(false);
});

test("arrows go from tab to tab, round and round", async () => {
  const chosen: string[] = [];
  const tabs = [
    { key: "a", label: "A" },
    { key: "b", label: "B" },
    { key: "c", label: "C" },
  ] as const;
  const { place } = await draw(
    <Tabs label="Parts" tabs={tabs} chosen="a" onChoose={(tab) => chosen.push(tab)}>
      inside
    </Tabs>,
  );
  const list = place.querySelector("[role=tablist]");
  for (const name of ["ArrowRight", "ArrowLeft", "End", "Home", "x"]) await key(list, name);
  expect(chosen).toEqual(["b", "c", "c", "a"]);
  expect([...place.querySelectorAll("[role=tab]")].map((tab) => tab.getAttribute("tabindex"))).toEqual([
    "0",
    "-1",
    "-1",
  ]);
});

const COLUMNS: Column<number>[] = [{ key: "n", head: "Number", cell: (row) => `row ${row}` }];

test("few rows are all drawn, and the next page can be asked for", async () => {
  const more = vi.fn();
  const { place } = await draw(
    <Table label="Numbers" columns={COLUMNS} rows={[1, 2, 3]} rowKey={String} more={more} />,
  );
  expect(place.querySelectorAll("tbody tr")).toHaveLength(3);
  await press(place.querySelector(".table-foot button"));
  expect(more).toHaveBeenCalledOnce();
});

test("of many rows only some are drawn, and all are counted", async () => {
  const rows = Array.from({ length: 10_000 }, (_, index) => index);
  const { place } = await draw(<Table label="Numbers" columns={COLUMNS} rows={rows} rowKey={String} />);
  expect(place.querySelectorAll("tbody tr").length).toBeLessThan(100);
  expect(place.querySelector("table")?.getAttribute("aria-rowcount")).toBe("10001");
});

test("a table without rows says what it is told to, once they have come", async () => {
  const none = (
    <Table label="Numbers" columns={COLUMNS} rows={[]} rowKey={String} loading empty={<p>Nothing yet</p>} />
  );
  const { place, again } = await draw(none);
  expect(place.textContent).not.toContain("Nothing yet");
  await again(
    <Table label="Numbers" columns={COLUMNS} rows={[]} rowKey={String} empty={<p>Nothing yet</p>} />,
  );
  expect(place.textContent).toContain("Nothing yet");
});

test("a large list in JSON is drawn piece by piece", async () => {
  const { place } = await draw(
    <Json label="Output" value={{ rows: Array.from({ length: 1_000 }, (_, n) => n) }} />,
  );
  expect(place.querySelectorAll(".json-line")).toHaveLength(100);
  await press([...place.querySelectorAll(".json-inside button")].at(-1));
  expect(place.querySelectorAll(".json-line")).toHaveLength(1_000);
});

test("a state has a sign and a word, also one that we do not know", async () => {
  const { place } = await draw([<Status key="1" value="failed" />, <Status key="2" value="odd" />]);
  expect(place.textContent).toBe("✕Failed○odd");
});

test("a refusal is told with each fault and its place", async () => {
  const problem = new Problem(
    422,
    "Invalid request",
    "two faults",
    [{ pointer: "/a", message: "no number" }],
    "r-1",
  );
  const { place } = await draw(<ProblemNote problem={problem} />);
  expect(place.querySelector("[role=alert]")?.textContent).toBe(
    "Invalid request: Mend what is listed, and try again.two faults/a no numberRequest r-1",
  );
  expect(faultAt(problem, "/a")).toBe("no number");
});

test("a field is wired to its label, its hint and its fault", async () => {
  const { place } = await draw(
    <Field label="Name" hint="Short" fault="Too long">
      {(wiring) => <input {...wiring} />}
    </Field>,
  );
  const input = place.querySelector("input");
  expect(place.querySelector("label")?.htmlFor).toBe(input?.id);
  const told = input
    ?.getAttribute("aria-describedby")
    ?.split(" ")
    .map((id) => document.getElementById(id)?.textContent);
  expect(told).toEqual(["Short", "Too long"]);
  expect(input?.getAttribute("aria-invalid")).toBe("true");
});

test("a page that is come to has the keyboard, but takes it from nobody who writes", async () => {
  const { place: above } = await draw(<input aria-label="search" />);
  const search = above.querySelector("input") as HTMLInputElement;
  navigate("/ui/runs");
  const { place } = await draw(<Page title="Runs">…</Page>);
  expect(document.activeElement).toBe(place.querySelector("h1"));
  search.focus();
  search.value = "pai";
  navigate("/ui/workflows");
  await draw(<Page title="Workflows">…</Page>);
  expect(document.activeElement).toBe(search);
});

test("the first field with a mistake has the keyboard, also where it is folded away", async () => {
  as("operator");
  const field = (fault?: string) => (
    <Field label="Labels" {...(fault ? { fault } : {})}>
      {(wiring) => <input {...wiring} />}
    </Field>
  );
  const form = (fault?: string) => (
    <Form submit="Start" onSubmit={() => undefined}>
      {field()}
      <details>{field(fault)}</details>
    </Form>
  );
  const { place, again } = await draw(form("no"));
  expect(place.querySelector("details")?.open).toBe(false);
  await press(place.querySelector("button"));
  expect(place.querySelector("details")?.open).toBe(true);
  expect(document.activeElement).toBe(place.querySelectorAll("input")[1]);
  place.querySelectorAll("input")[0]?.focus();
  await again(form());
  expect(document.activeElement).toBe(place.querySelectorAll("input")[0]);
});
