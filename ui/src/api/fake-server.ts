import { vi } from "vitest";

/** A live stream that was opened, in the hands of a test. */
export interface Opened {
  readonly url: string;
  readonly reads: readonly string[];
  readonly signal: AbortSignal;
  readonly headers: Headers;
  answer(read: string, body: unknown, status?: number): Promise<void>;
  end(): Promise<void>;
}

export interface FakeServer {
  readonly streams: Opened[];
  readonly asked: string[]; // plainly
  refuse: number | null; // streams, with this status
  plain: (url: string) => Response;
}

export const json = (body: unknown, status = 200): Response =>
  new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json" } });

/** For the rest of the test, in place of `fetch`. `settle` lets time pass until what was caused has happened. */
export function fakeServer(settle: () => Promise<unknown>): FakeServer {
  const server: FakeServer = { streams: [], asked: [], refuse: null, plain: () => json({ plain: true }) };
  vi.stubGlobal("fetch", (url: string, init: RequestInit = {}) => {
    const signal = init.signal ?? new AbortController().signal;
    if (!url.startsWith("/api/v1/live?")) {
      server.asked.push(url);
      return Promise.resolve(server.plain(url));
    }
    if (server.refuse !== null) return Promise.resolve(json({ error: "no", message: "no" }, server.refuse));
    let control: ReadableStreamDefaultController<Uint8Array> | null = null;
    const body = new ReadableStream<Uint8Array>({
      start(given) {
        control = given;
        signal.addEventListener("abort", () => given.error(new DOMException("gone", "AbortError")));
      },
    });
    const write = (text: string) => control?.enqueue(new TextEncoder().encode(text));
    server.streams.push({
      url,
      reads: new URLSearchParams(url.split("?")[1]).getAll("read"),
      signal,
      headers: new Headers(init.headers),
      async answer(read, body, status = 200) {
        write(`event: answer\ndata: ${JSON.stringify({ read, status, body })}\n\n`);
        await settle();
      },
      async end() {
        control?.close();
        await settle();
      },
    });
    return Promise.resolve(new Response(body, { headers: { "Content-Type": "text/event-stream" } }));
  });
  return server;
}
