// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { fakeServer, json, type FakeServer } from "./fake-server";
import { Hub, type Told } from "./hub";

const RUNS = "/api/v1/runs";
const WORKERS = "/api/v1/workers";

let server: FakeServer;
let hub: Hub;
let leave: (() => void)[];

const settle = (ms = 50) => vi.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  vi.useFakeTimers();
  server = fakeServer(settle);
  hub = new Hub();
  leave = [];
});

afterEach(async () => {
  for (const each of leave) each();
  await settle();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** What somebody who watches this was told, in order. */
function watch(read: string): { heard: Told[]; stop: () => void } {
  const heard: Told[] = [];
  const stop = hub.watch(read, (told) => heard.push(told));
  leave.push(stop);
  return { heard, stop };
}

function show(seen: boolean): Promise<unknown> {
  vi.spyOn(document, "visibilityState", "get").mockReturnValue(seen ? "visible" : "hidden");
  document.dispatchEvent(new Event("visibilitychange"));
  return settle();
}

const newest = () => server.streams.at(-1);
const open = () => server.streams.filter((stream) => !stream.signal.aborted);

test("all that is wanted comes over one stream, each to who wants it", async () => {
  const runs = watch(RUNS);
  const workers = watch(WORKERS);
  await settle();
  expect(server.streams.map((stream) => stream.reads)).toEqual([[RUNS, WORKERS]]);
  await newest()?.answer(RUNS, { items: [1] });
  await newest()?.answer(WORKERS, { items: [2] });
  await newest()?.answer(RUNS, { items: [3] });
  expect(runs.heard.map((told) => told.data)).toEqual([{ items: [1] }, { items: [3] }]);
  expect(workers.heard).toEqual([{ data: { items: [2] }, problem: null }]);
  expect(server.asked).toEqual([]);
});

test("reads name their namespace themselves, whatever the address says", async () => {
  watch(`${RUNS}?namespace=team`);
  await settle();
  expect(newest()?.reads).toEqual([`${RUNS}?namespace=team`]);
  expect(newest()?.headers.get("X-Windlass-Namespace")).toBeNull();
});

test("another set of reads is another stream, and none is none", async () => {
  const runs = watch(RUNS);
  await settle();
  const workers = watch(WORKERS);
  await settle();
  expect(open().map((stream) => stream.reads)).toEqual([[RUNS, WORKERS]]);
  runs.stop();
  await settle();
  expect(open().map((stream) => stream.reads)).toEqual([[WORKERS]]);
  workers.stop();
  await settle();
  expect(open()).toEqual([]);
  expect(server.streams).toHaveLength(3);
});

test("who wants what somebody has already is told at once, without another stream", async () => {
  const first = watch(RUNS);
  await settle();
  await newest()?.answer(RUNS, 1);
  const second = watch(RUNS);
  expect(second.heard).toEqual(first.heard);
  first.stop();
  await settle();
  await newest()?.answer(RUNS, 2);
  expect(second.heard.map((told) => told.data)).toEqual([1, 2]);
  expect(first.heard).toHaveLength(1);
  expect(server.streams).toHaveLength(1);
});

test("who goes and comes again at once finds all as it was", async () => {
  watch(RUNS);
  await settle();
  await newest()?.answer(RUNS, 1);
  leave.pop()?.();
  const back = watch(RUNS);
  await settle();
  expect(back.heard).toEqual([{ data: 1, problem: null }]);
  expect(server.streams).toHaveLength(1);
});

test("while the tab is hidden nothing is followed; when it is seen, all is told anew", async () => {
  const runs = watch(RUNS);
  await settle();
  await newest()?.answer(RUNS, 1);
  await show(false);
  expect(open()).toEqual([]);
  await settle(60_000);
  expect(server.streams).toHaveLength(1);
  await show(true);
  await newest()?.answer(RUNS, 2);
  expect(runs.heard.map((told) => told.data)).toEqual([1, 2]);
  expect(server.streams).toHaveLength(2);
});

test("a stream that breaks is opened again, and what it says is taken as before", async () => {
  const runs = watch(RUNS);
  await settle();
  await newest()?.answer(RUNS, 1);
  expect(hub.state.get()).toBe("open");
  await newest()?.end();
  expect(hub.state.get()).toBe("lost");
  await settle(2_000);
  expect(hub.state.get()).toBe("open");
  expect(newest()?.reads).toEqual([RUNS]);
  await newest()?.answer(RUNS, 1);
  await newest()?.answer(RUNS, 2);
  expect(runs.heard.map((told) => told.data)).toEqual([1, 1, 2]);
});

test("what is refused is told to who asked for it; what it showed stays, and others go on", async () => {
  const runs = watch(RUNS);
  const workers = watch(WORKERS);
  await settle();
  await newest()?.answer(RUNS, 1);
  await newest()?.answer(RUNS, { error: "Forbidden", message: "not yours", requestId: "r" }, 403);
  await newest()?.answer(WORKERS, 2);
  const last = runs.heard.at(-1);
  expect(last).toMatchObject({ data: 1, problem: { status: 403, message: "not yours", requestId: "r" } });
  expect(workers.heard).toEqual([{ data: 2, problem: null }]);
  await newest()?.answer(RUNS, 3);
  expect(runs.heard.at(-1)).toEqual({ data: 3, problem: null });
  expect(server.streams).toHaveLength(1);
});

test("to read again at once is to open the stream anew, once for all who want it", async () => {
  const runs = watch(RUNS);
  await settle();
  await newest()?.answer(RUNS, 1);
  hub.again();
  hub.again();
  await settle();
  expect(open()).toHaveLength(1);
  expect(server.streams).toHaveLength(2);
  await newest()?.answer(RUNS, 1);
  expect(runs.heard).toHaveLength(2); // who waits for it hears that it is the same
});

test("what is more than a stream takes is read plainly, now and then", async () => {
  const reads = Array.from({ length: 18 }, (_, n) => `${RUNS}?limit=${n + 1}`);
  const all = reads.map(watch);
  await settle();
  expect(newest()?.reads).toEqual(reads.slice(0, 16));
  expect(server.asked).toEqual(reads.slice(16));
  expect(all[17]?.heard).toEqual([{ data: { plain: true }, problem: null }]);
  await settle(10_000);
  expect(server.asked).toHaveLength(6);
  await show(false);
  await settle(60_000);
  expect(server.asked).toHaveLength(6);
  await show(true);
  all[0]?.stop();
  all[1]?.stop();
  await settle();
  expect(newest()?.reads).toEqual(reads.slice(2));
  const before = server.asked.length;
  await settle(10_000);
  expect(server.asked).toHaveLength(before);
});

test("an address that would be too long is made shorter", async () => {
  const reads = Array.from({ length: 8 }, (_, n) => `${RUNS}?search=${n}${"x".repeat(1_000)}`);
  reads.forEach(watch);
  await settle();
  expect(newest()?.url.length).toBeLessThan(6_100);
  expect([...(newest()?.reads ?? []), ...server.asked]).toEqual(reads);
});

test("where there is no stream all is read plainly", async () => {
  server.refuse = 404;
  server.plain = (url) => (url === WORKERS ? json({ error: "no", message: "none" }, 503) : json(1));
  const runs = watch(RUNS);
  const workers = watch(WORKERS);
  await settle();
  expect(runs.heard).toEqual([{ data: 1, problem: null }]);
  expect(workers.heard).toMatchObject([{ data: null, problem: { status: 503 } }]);
  await settle(5_000);
  expect(server.asked).toEqual([RUNS, WORKERS, RUNS, WORKERS]);
  expect(hub.state.get()).toBe("refused");
});

test("a server with too many streams is read plainly until it has room", async () => {
  server.refuse = 429;
  const runs = watch(RUNS);
  await settle();
  expect(runs.heard).toHaveLength(1);
  server.refuse = null;
  await settle(2_000);
  expect(open()).toHaveLength(1);
  const asked = server.asked.length;
  await settle(20_000);
  expect(server.asked).toHaveLength(asked);
});
