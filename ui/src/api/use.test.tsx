// @vitest-environment happy-dom
import { act } from "react";
import { afterEach, expect, test, vi } from "vitest";
import { draw, press } from "../testing";
import { usePages } from "./pages";
import { useAct, useAsk } from "./use";
import { Problem } from "./problem";

afterEach(() => vi.unstubAllGlobals());

type Waiting = {
  url: string;
  signal: AbortSignal;
  answer: (body: unknown, status?: number) => Promise<void>;
};

function server(): Waiting[] {
  const asked: Waiting[] = [];
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    const signal = init.signal ?? new AbortController().signal;
    let resolve: (answer: Response) => void = () => undefined;
    const promise = new Promise<Response>((settle, reject) => {
      resolve = settle;
      signal.addEventListener("abort", () => reject(new DOMException("gone", "AbortError")));
    });
    asked.push({
      url,
      signal,
      answer: (body, status = 200) =>
        act(async () =>
          resolve(
            new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json" } }),
          ),
        ),
    });
    return promise;
  });
  return asked;
}

function List({ status }: { status: string }) {
  const pages = usePages<string>("/api/v1/runs", { query: { status } });
  return (
    <div>
      <p>{pages.known ? pages.items.join(",") : "unknown"}</p>
      {pages.more && <button onClick={pages.more}>more</button>}
    </div>
  );
}

test("pages follow one another by what `next` said", async () => {
  const asked = server();
  const { place } = await draw(<List status="failed" />);
  await asked[0]?.answer({ items: ["a", "b"], next: "cursor" });
  await press(place.querySelector("button"));
  expect(asked[1]?.url).toBe("/api/v1/runs?status=failed&after=cursor");
  await asked[1]?.answer({ items: ["c"], next: null });
  expect(place.textContent).toBe("a,b,c");
});

test("another filter begins anew, and what was asked for before is let go", async () => {
  const asked = server();
  const { place, again } = await draw(<List status="failed" />);
  await again(<List status="running" />);
  expect(asked[0]?.signal.aborted).toBe(true);
  await asked[1]?.answer({ items: ["x"], next: null });
  expect(place.textContent).toBe("x");
});

function One({ path }: { path: string | null }) {
  const { data, problem, again } = useAsk<{ n: number }>(path);
  return (
    <button onClick={again}>
      {data?.n ?? "none"} {problem?.error}
    </button>
  );
}

test("what was read stays while it is read again, also when that fails", async () => {
  const asked = server();
  const { place } = await draw(<One path="/api/v1/x" />);
  await asked[0]?.answer({ n: 1 });
  await press(place.querySelector("button"));
  expect(place.textContent).toBe("1 ");
  await asked[1]?.answer({ error: "Unavailable", message: "later" }, 503);
  expect(place.textContent).toBe("1 Unavailable");
});

test("of another path nothing is shown before it has come", async () => {
  const asked = server();
  const { place, again } = await draw(<One path="/api/v1/x" />);
  await asked[0]?.answer({ n: 1 });
  await again(<One path="/api/v1/y" />);
  expect(place.textContent).toBe("none ");
});

test("a deed is done once, however often it is asked for, and its refusal is kept", async () => {
  const deed = vi.fn(() => Promise.reject(new Problem(409, "Conflict", "too late")));
  function Deed() {
    const doing = useAct();
    return <button onClick={() => [doing.act(deed), doing.act(deed)]}>{doing.problem?.message}</button>;
  }
  const { place } = await draw(<Deed />);
  await press(place.querySelector("button"));
  expect(deed).toHaveBeenCalledOnce();
  expect(place.textContent).toBe("too late");
});
