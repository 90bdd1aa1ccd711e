// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from "vitest";
import { placeOf } from "./find";

afterEach(() => vi.unstubAllGlobals());

function answering(status: number): ReturnType<typeof vi.fn> {
  const fetched = vi.fn(() =>
    Promise.resolve(
      new Response(JSON.stringify({ items: [], next: null }), {
        status,
        headers: { "Content-Type": "application/json" },
      }),
    ),
  );
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

test("the id of a run leads to it", async () => {
  const fetched = answering(200);
  expect(await placeOf("a:b")).toBe("/ui/runs/a%3Ab");
  expect(fetched).toHaveBeenCalledOnce();
  expect(String(fetched.mock.calls[0]?.[0])).toBe("/api/v1/runs/a%3Ab/events?limit=1");
});

test("anything else is searched for", async () => {
  answering(404);
  expect(await placeOf("night & day")).toBe("/ui/runs?search=night+%26+day");
});
