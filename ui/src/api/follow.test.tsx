// @vitest-environment happy-dom
import { act } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { navigate } from "../router";
import { draw, press } from "../testing";
import { fakeServer, json, type FakeServer } from "./fake-server";
import { usePages } from "./pages";
import { useAsk } from "./use";

let server: FakeServer;
const settle = (ms = 50) => act(() => vi.advanceTimersByTimeAsync(ms));
const newest = () => server.streams.at(-1);

beforeEach(() => {
  vi.useFakeTimers();
  server = fakeServer(settle);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function One({ path }: { path: string | null }) {
  const { data, problem, loading, again } = useAsk<{ n: number }>(path, { live: true });
  return (
    <button onClick={again}>
      {[loading ? "reads" : "has", data?.n ?? "none", problem?.error ?? ""].join(" ").trim()}
    </button>
  );
}

test("what is followed changes with the server, and is let go with its component", async () => {
  const { place, again } = await draw(<One path="/api/v1/x" />);
  expect(place.textContent).toBe("reads none");
  await settle();
  await newest()?.answer("/api/v1/x", { n: 1 });
  expect(place.textContent).toBe("has 1");
  await newest()?.answer("/api/v1/x", { n: 2 });
  await newest()?.answer("/api/v1/x", { error: "Forbidden" }, 403);
  expect(place.textContent).toBe("has 2 Forbidden");
  await press(place.querySelector("button"));
  expect(place.textContent).toBe("reads 2 Forbidden");
  await settle();
  await newest()?.answer("/api/v1/x", { n: 2 });
  expect(place.textContent).toBe("has 2");
  await again(<One path="/api/v1/y" />);
  expect(place.textContent).toBe("reads none");
  await settle();
  expect(newest()?.reads).toEqual(["/api/v1/y"]);
  await again(<One path={null} />);
  await settle();
  expect(place.textContent).toBe("has none");
  expect(server.streams.every((stream) => stream.signal.aborted)).toBe(true);
  expect(server.asked).toEqual([]);
});

test("another namespace is another read", async () => {
  const { place, again } = await draw(<One path="/api/v1/x?limit=1" />);
  await settle();
  await newest()?.answer("/api/v1/x?limit=1", { n: 1 });
  await act(async () => navigate("/ui/runs?namespace=team"));
  expect(place.textContent).toBe("reads none");
  await settle();
  expect(newest()?.reads).toEqual(["/api/v1/x?limit=1&namespace=team"]);
  await act(async () => navigate("/ui/runs?namespace="));
  await again(<One path={null} />);
  await settle();
});

function List() {
  const pages = usePages<string>("/api/v1/runs", { live: true });
  return (
    <div>
      <p>{pages.known ? pages.items.join(",") : "unknown"}</p>
      {pages.more && (
        <button className="more" onClick={pages.more}>
          more
        </button>
      )}
      {pages.older && (
        <button className="again" onClick={pages.again}>
          again
        </button>
      )}
    </div>
  );
}

test("the first page is followed until somebody reads on, and again when they ask for it", async () => {
  const { place } = await draw(<List />);
  const shown = () => place.querySelector("p")?.textContent;
  await settle();
  await newest()?.answer("/api/v1/runs", { items: ["b", "a"], next: "cursor" });
  await newest()?.answer("/api/v1/runs", { items: ["c", "b"], next: "cursor" });
  expect(shown()).toBe("c,b");
  server.plain = () => json({ items: ["a"], next: null });
  await press(place.querySelector(".more"));
  await settle();
  expect(server.asked).toEqual(["/api/v1/runs?after=cursor"]);
  expect(shown()).toBe("c,b,a");
  expect(newest()?.signal.aborted).toBe(true); // what is read stays where it is
  await press(place.querySelector(".again"));
  await settle();
  await newest()?.answer("/api/v1/runs", { items: ["d", "c"], next: "cursor" });
  expect(shown()).toBe("d,c");
  expect(place.querySelector(".again")).toBeNull();
});
