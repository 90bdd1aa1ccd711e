import { expect, test } from "vitest";
import { failoversOf, reasonOf, sortOf, tookSeconds } from "./events";
import { brief, follow, followAll, NO_RATES, rowsPerCommit, sharesOf } from "./figures";
import { cells, entityOf, legend, marks, step } from "./map";
import { drainBar, isAlone, notesOf } from "./nodes";
import type { ClusterEvent, ClusterNode, NodeFigures, Shard } from "./types";

const node = (name: string, change: Partial<ClusterNode> = {}): ClusterNode => ({
  id: `id-${name}`,
  name,
  address: `${name}:1`,
  state: "up",
  roles: ["engine", "gateway"],
  shards: 0,
  entities: 0,
  load: {
    cpu: 0,
    memory: 0,
    memoryBytes: 0,
    live: 0,
    inbox: 0,
    slots: 0,
    free: 0,
    overloaded: false,
    short: false,
  },
  startedAt: null,
  beatAgeSeconds: null,
  version: "1",
  self: false,
  ...change,
});
const shard = (shardId: string, location: string | null, movingTo: string | null = null): Shard => ({
  shardId,
  location,
  entityCount: 1,
  epoch: 1,
  movingTo,
  movedAt: null,
  movedFrom: null,
});
const NOW = Date.parse("2026-01-01T00:00:05Z");
const event = (change: Partial<ClusterEvent>): ClusterEvent => ({
  number: 1,
  type: "failover",
  at: "2026-01-01T00:00:02Z",
  startedAt: null,
  reason: "",
  node: null,
  source: null,
  target: null,
  shard: null,
  status: null,
  entities: 0,
  listed: [],
  downtimeSeconds: null,
  ...change,
});

test("every engine has a letter and a hue of its own; a gateway owns nothing and has none", () => {
  const found = marks([node("b"), node("a"), node("door", { roles: ["gateway"] })]);
  expect([...found].map(([name, mark]) => [name, mark.letter])).toEqual([
    ["a", "A"],
    ["b", "B"],
  ]);
  expect(new Set([...found.values()].map((mark) => mark.hue)).size).toBe(2);
});

test("more nodes than letters are still told apart", () => {
  const many = Array.from({ length: 60 }, (_, index) => node(`n${String(index).padStart(2, "0")}`));
  expect(new Set([...marks(many).values()].map((mark) => mark.letter)).size).toBe(60);
});

test("a cell knows its owner, and a shard of the dead or of nobody has none", () => {
  const nodes = [node("a"), node("b", { state: "dead" })];
  const drawn = cells([shard("0", "a:1"), shard("1", "b:1"), shard("2", null)], nodes, NOW);
  expect(drawn.map((cell) => cell.owner?.name ?? null)).toEqual(["a", null, null]);
});

test("a node that was started again elsewhere does not own what its dead life's address had", () => {
  const drawn = cells(
    [shard("0", "x:1")],
    [node("a", { address: "x:1" }), node("b", { address: "x:1", state: "dead" })],
    NOW,
  );
  expect(drawn[0]?.owner?.name).toBe("a");
});

test("the legend counts what each has and what leaves it, and names shards of nobody", () => {
  const nodes = [node("a"), node("b"), node("gone", { state: "dead" })];
  const came = { ...shard("1", "a:1"), movedAt: "2026-01-01T00:00:00Z", movedFrom: "gone" };
  const lines = legend(cells([shard("0", "a:1", "b"), came, shard("2", null)], nodes, NOW), nodes);
  expect(lines.map(({ name, shards, moving, come }) => [name, shards, moving, come])).toEqual([
    ["a", 2, 1, 1],
    ["b", 0, 0, 0],
    [null, 1, 0, 0],
  ]);
});

test("what came from another node is told, for a while as just now", () => {
  const moved = (movedAt: string | null, movedFrom: string | null) =>
    cells([{ ...shard("0", "a:1"), movedAt, movedFrom }], [node("a")], NOW)[0]?.moved;
  expect(moved("2026-01-01T00:00:00Z", "b")).toEqual({ from: "b", at: "2026-01-01T00:00:00Z", lately: true });
  expect(moved("2025-12-31T23:59:00Z", "b")?.lately).toBe(false);
  expect(moved("2026-01-01T00:00:00Z", "a")).toBeNull(); // a new life of the same node
  expect(moved("2026-01-01T00:00:00Z", null)).toBeNull();
  expect(moved(null, null)).toBeNull();
});

test("arrows go through the map and stop at its edges", () => {
  expect(step("ArrowRight", 0, 10, 5)).toBe(1);
  expect(step("ArrowDown", 2, 10, 5)).toBe(7);
  expect(step("ArrowDown", 7, 10, 5)).toBe(7);
  expect(step("ArrowUp", 2, 10, 5)).toBe(2);
  expect(step("End", 2, 10, 5)).toBe(9);
  expect(step("x", 2, 10, 5)).toBeNull();
});

test("what lives in a shard leads to its page, in its namespace", () => {
  expect(entityOf("run/default/a b").to).toBe("/ui/runs/a%20b?namespace=");
  expect(entityOf("workflow/team/x/y").to).toBe("/ui/workflows/x%2Fy?namespace=team");
  expect(entityOf("limit/default/x").to).toBeNull();
});

test("the last engine cannot be drained, and neither who is leaving already", () => {
  const [one, two] = [node("a"), node("b")];
  expect(drainBar(one, [one, two])).toBeNull();
  expect(drainBar(one, [one, node("door", { roles: ["gateway"] })])).toBe("last");
  expect(drainBar(one, [one, node("b", { state: "leaving" })])).toBe("last");
  expect(drainBar(node("c", { state: "leaving" }), [one])).toBe("leaving");
  expect(isAlone([one, node("b", { state: "dead" })])).toBe(true);
  expect(isAlone([one, two])).toBe(false);
});

test("the dead are not called overloaded", () => {
  const load = { ...node("a").load, overloaded: true };
  expect(notesOf(node("a", { load }))).toEqual(["overloaded"]);
  expect(notesOf(node("a", { load, state: "dead" }))).toEqual([]);
});

test("failovers tell their downtimes, the newest first", () => {
  const all = [
    event({ downtimeSeconds: 0.8 }),
    event({ downtimeSeconds: 3.1 }),
    event({ type: "member", status: "dead" }),
  ];
  expect(failoversOf(all)).toEqual({ count: 2, longest: 3.1, last: 0.8 });
  expect(failoversOf([])).toEqual({ count: 0, longest: null, last: null });
});

test("an event is named by its type, and by its status where that says more", () => {
  expect(sortOf(event({ type: "member", status: "joined" }))).toBe("member.joined");
  expect(sortOf(event({ type: "migration", status: null }))).toBe("migration");
});

test("reasons of the engine have words, and others stay as they are", () => {
  expect(reasonOf("a node is leaving").word).toBe("reason.leaving");
  expect(reasonOf("drift: 20 shards")).toEqual({ word: "reason.drift", address: "", shards: 20 });
  expect(reasonOf("it came up at h:1")).toEqual({ word: "reason.cameUp", address: "h:1", shards: null });
  expect(reasonOf("something else").word).toBeNull();
});

test("what an event took is known where it says when it began", () => {
  expect(tookSeconds(event({ startedAt: "2026-01-01T00:00:00Z" }))).toBe(2);
  expect(tookSeconds(event({}))).toBeNull();
});

const figures = (count: number, asOf: string, name = "a"): NodeFigures => ({
  node: name,
  leaseFresh: true,
  journalWritable: true,
  journalTrouble: null,
  commits: {
    count,
    rows: count * 3,
    refused: 0,
    unknown: 0,
    seconds: { count, mean: null, p50: null, p95: null, p99: null },
  },
  events: 0,
  snapshots: 0,
  entitiesLive: 0,
  inbox: 0,
  timers: 0,
  runsStarted: 0,
  runsEnded: 0,
  runsRecovered: 0,
  entityRestarts: 0,
  tasksWaiting: 0,
  tasksRunning: 0,
  tasksLost: 0,
  routing: { count: 0, mean: null, p50: null, p95: null, p99: null },
  asOf,
});

test("commits a second come from two readings; a node that started again begins anew", () => {
  let rates = follow(NO_RATES, figures(10, "2026-01-01T00:00:00Z"));
  expect(rates.commits).toEqual([]);
  rates = follow(rates, figures(30, "2026-01-01T00:00:02Z"));
  expect(rates.commits).toEqual([10]);
  rates = follow(rates, figures(30, "2026-01-01T00:00:02Z"));
  expect(rates.commits).toEqual([10]);
  expect(follow(rates, figures(2, "2026-01-01T00:00:04Z")).commits).toEqual([]);
  expect(follow(rates, figures(40, "2026-01-01T00:00:04Z", "b")).commits).toEqual([]);
});

test("each node has its own rate, and who is gone has none", () => {
  const first = followAll(new Map(), [
    figures(0, "2026-01-01T00:00:00Z", "a"),
    figures(0, "2026-01-01T00:00:00Z", "b"),
  ]);
  const then = followAll(first, [figures(4, "2026-01-01T00:00:02Z", "b")]);
  expect([...then].map(([name, rates]) => [name, rates.commits])).toEqual([["b", [2]]]);
});

test("a spread is told by its shares", () => {
  const none = { count: 0, mean: null, p50: null, p95: null, p99: null };
  expect(sharesOf(none)).toBe("–");
  expect(sharesOf({ ...none, count: 3, p50: 0.001, p95: 0.002, p99: 0.003 })).toBe(
    "1\u00a0ms · 2\u00a0ms · 3\u00a0ms",
  );
});

test("figures are short, and nothing measured is a dash", () => {
  expect([0.00085, 0.00123, 0.25, 3.44, null].map(brief)).toEqual([
    "850\u00a0µs",
    "1.2\u00a0ms",
    "250\u00a0ms",
    "3.4\u00a0s",
    "–",
  ]);
  expect(rowsPerCommit(figures(0, ""))).toBeNull();
  expect(rowsPerCommit(figures(4, ""))).toBe(3);
});
