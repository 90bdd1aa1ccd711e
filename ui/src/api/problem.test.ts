// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { problemOf } from "./problem";

test("a refusal of the server is told with its faults", async () => {
  const body = {
    error: "Invalid request",
    message: "one fault",
    details: [{ pointer: "/a", message: "no" }],
    requestId: "r1",
  };
  const problem = await problemOf(
    new Response(JSON.stringify(body), { status: 422, headers: { "Retry-After": "3" } }),
  );
  expect(problem).toMatchObject({
    status: 422,
    error: "Invalid request",
    message: "one fault",
    requestId: "r1",
    retryAfterS: 3,
  });
  expect(problem.faults).toEqual([{ pointer: "/a", message: "no" }]);
});

test("what a proxy made up is a problem, too", async () => {
  const problem = await problemOf(new Response("<html>Bad gateway</html>", { status: 502 }));
  expect(problem).toMatchObject({
    status: 502,
    error: "HTTP 502",
    message: "<html>Bad gateway</html>",
    faults: [],
  });
});
