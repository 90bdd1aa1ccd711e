// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { follow, type LiveState } from "./live";

function stream(...chunks: string[]): Response {
  const body = new ReadableStream<Uint8Array>({
    start(control) {
      for (const chunk of chunks) control.enqueue(new TextEncoder().encode(chunk));
      control.close();
    },
  });
  return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
}

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

async function play(answers: (() => Promise<Response>)[], after?: number) {
  const asked: (string | null)[] = [];
  const heard: string[] = [];
  const states: LiveState[] = [];
  vi.stubGlobal("fetch", (_: string, init: RequestInit) => {
    asked.push(new Headers(init.headers).get("Last-Event-ID"));
    return (answers.shift() ?? (() => Promise.resolve(new Response("", { status: 503 }))))();
  });
  const stop = follow("/api/v1/runs/r/stream", {
    after,
    onMessage: (message) => heard.push(`${message.event}:${message.data}`),
    onState: (state) => states.push(state),
  });
  const over = () => states.includes("ended") || states.includes("refused");
  for (let turn = 0; turn < 20 && !over(); turn++) await vi.advanceTimersByTimeAsync(2_000);
  stop();
  vi.unstubAllGlobals();
  return { asked, heard, states };
}

test("a stream that breaks goes on after the last event that was heard", async () => {
  const { asked, heard, states } = await play([
    () =>
      Promise.resolve(
        stream("id: 1\nevent: a\ndata: 1\n\n", "id: 2\nevent: b\ndata: 2\n\nid: 3\nevent: c\nda"),
      ),
    () => Promise.resolve(stream("id: 3\nevent: c\ndata: 3\n\nevent: end\ndata: {}\n\n")),
  ]);
  expect(asked).toEqual([null, "2"]);
  expect(heard).toEqual(["a:1", "b:2", "c:3", "end:{}"]);
  expect(states).toEqual(["connecting", "open", "lost", "open", "ended"]);
});

test("a server that is not ready is asked again", async () => {
  const { asked, states } = await play(
    [
      () => Promise.resolve(new Response("{}", { status: 503 })),
      () => Promise.resolve(new Response("{}", { status: 429 })),
      () => Promise.resolve(stream("event: end\ndata: {}\n\n")),
    ],
    5,
  );
  expect(asked).toEqual(["5", "5", "5"]);
  expect(states).toEqual(["connecting", "lost", "lost", "open", "ended"]);
});

test("what is not there is not asked for again", async () => {
  const { asked, states } = await play([
    () => Promise.resolve(new Response('{"error": "Not found"}', { status: 404 })),
  ]);
  expect(asked).toHaveLength(1);
  expect(states).toEqual(["connecting", "refused"]);
});

test("while the tab is hidden nothing is followed, and it goes on where it was when it is seen", async () => {
  const hide = (hidden: boolean) => {
    vi.spyOn(document, "visibilityState", "get").mockReturnValue(hidden ? "hidden" : "visible");
    document.dispatchEvent(new Event("visibilitychange"));
  };
  const asked: (string | null)[] = [];
  const signals: AbortSignal[] = [];
  const states: LiveState[] = [];
  vi.stubGlobal("fetch", (_: string, init: RequestInit) => {
    asked.push(new Headers(init.headers).get("Last-Event-ID"));
    const { signal } = init;
    if (signal) signals.push(signal);
    const body = new ReadableStream<Uint8Array>({
      start(control) {
        control.enqueue(new TextEncoder().encode(`id: ${asked.length}\nevent: a\ndata: 1\n\n`));
        signal?.addEventListener("abort", () => control.error(new DOMException("gone", "AbortError")));
      },
    });
    return Promise.resolve(new Response(body));
  });
  const stop = follow("/api/v1/runs/r/stream", {
    onMessage: () => undefined,
    onState: (state) => states.push(state),
  });
  await vi.advanceTimersByTimeAsync(100);
  hide(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked).toEqual([null]);
  expect(signals[0]?.aborted).toBe(true);
  hide(false);
  await vi.advanceTimersByTimeAsync(100);
  expect(asked).toEqual([null, "1"]);
  expect(states).toEqual(["connecting", "open", "open"]);
  stop();
  vi.unstubAllGlobals();
});
