// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { problemOf } from "../../api/problem";
import { sizeOf, percentOf } from "../sizes";
import { draftOf, keepDraft } from "./draft";
import { adviceOf } from "./errors";
import { chosenOf, newestFirst, offered } from "./languages";
import { append, NOTHING, type Line } from "./lines";
import { say } from "../../words";
import { failureText } from "./failure";
import { bodyOf, curlOf, NO_WISHES } from "./request";
import { sampleOf } from "./samples";
import { words } from "./words";

const worker = (...capabilities: string[]) => ({ capabilities, connected: true });
const program = { language: "python", version: "", code: "print(1)", stdin: "" };

test("the languages are those that connected workers offer, with whole versions, the newest first", () => {
  const offers = offered([
    worker("code", "code/python", "code/python/3", "code/python/3.9", "code/python/3.9.18", "sandbox:cpu"),
    worker("code", "code/python", "code/python/3", "code/python/3.11", "code/python/3.11.2", "code/bash"),
    { ...worker("code/cobol", "code/cobol/1"), connected: false },
  ]);
  expect(offers).toEqual([
    { language: "bash", versions: [], protections: [] },
    { language: "python", versions: ["3.11.2", "3.9.18"], protections: ["cpu"] },
  ]);
});

test("versions are compared by number, not by letter", () => {
  expect(["3.9", "3.11", "3.11.2", "4"].sort(newestFirst)).toEqual(["4", "3.11.2", "3.11", "3.9"]);
});

test("a language that nobody runs gives way to python, then to any", () => {
  const offers = offered([worker("code/bash"), worker("code/python")]);
  expect(chosenOf(offers, "bash")?.language).toBe("bash");
  expect(chosenOf(offers, "cobol")?.language).toBe("python");
  expect(chosenOf(offered([worker("code/lua")]), "cobol")?.language).toBe("lua");
  expect(chosenOf([], "python")).toBeNull();
});

test("only what was said is sent", () => {
  expect(bodyOf(program, NO_WISHES)).toEqual({ language: "python", code: "print(1)" });
  expect(
    bodyOf(
      { ...program, version: "3.11", stdin: "a" },
      { ...NO_WISHES, timeout: " 5s ", processes: "8", network: true, protections: ["seccomp"] },
    ),
  ).toEqual({
    language: "python",
    version: "3.11",
    code: "print(1)",
    stdin: "a",
    resourceLimit: { timeout: "5s", processes: 8, network: true },
    protections: ["seccomp"],
  });
});

test("a number that is none is sent as it stands, so that the server can say what is wrong", () => {
  expect(bodyOf(program, { ...NO_WISHES, processes: "many" })["resourceLimit"]).toEqual({
    processes: "many",
  });
});

test("the command can be pasted into a shell whatever the program holds", () => {
  const server = { origin: "http://h:1", login: false, namespace: null };
  const command = curlOf(bodyOf({ ...program, code: "print('x')" }, NO_WISHES), server);
  expect(command).toBe(
    `curl -s 'http://h:1/api/v1/tasks?wait=30s' -H 'Content-Type: application/json' -d '{"language":"python","code":"print('\\''x'\\'')"}'`,
  );
});

test("the command shows a token where there is a login, and names the namespace of the page", () => {
  const server = { origin: "http://h:1", login: true, namespace: "team-b" };
  expect(curlOf({}, server)).toContain(
    `-H "Authorization: Bearer $WINDLASS_TOKEN" -H 'X-Windlass-Namespace: team-b' -d '{}'`,
  );
  expect(curlOf({}, { ...server, namespace: "x'; reboot; '" })).not.toContain("reboot");
});

test("why a task failed is said by its type in the reader's language, with the server's words", () => {
  const failure = { type: "MemoryLimit", message: "used more than 64MiB of memory" };
  const english = say(words, "en");
  expect(failureText(failure, english)).toBe("Beyond its memory: used more than 64MiB of memory");
  expect(failureText(failure, say(words, "zh"))).toBe("超过内存限制：used more than 64MiB of memory");
  expect(failureText({ type: "Odd", message: "x" }, english)).toBe("Odd: x");
});

const line = (n: number): Line => ({ n, stream: "stdout", text: String(n), attempt: 1 });

test("lines that come again are not shown twice, and only the last ones are shown", () => {
  const first = append(NOTHING, [line(1), line(2)]);
  expect(append(first, [line(1), line(2)])).toBe(first);
  const all = append(first, [line(2), line(3), line(4)], 3);
  expect(all.lines.map((each) => each.n)).toEqual([2, 3, 4]);
  expect(all.dropped).toBe(1);
  expect(append(all, [line(5)], 3).dropped).toBe(2);
});

test("a refusal of a task keeps its code, what was wrong and what to do", async () => {
  const body = {
    code: 42201,
    message: "Invalid request",
    detail: "the request has 1 fault",
    errors: [{ pointer: "/resourceLimit/timeout", message: "'x' is no duration" }],
    requestId: "r-1",
  };
  const problem = await problemOf(new Response(JSON.stringify(body), { status: 422 }));
  expect([problem.error, problem.message, problem.code]).toEqual([
    "Invalid request",
    "the request has 1 fault",
    42201,
  ]);
  expect(problem.faults[0]?.pointer).toBe("/resourceLimit/timeout");
  expect(adviceOf(problem)).toBe("error.42201");
});

test("other refusals have no code, and no advice", async () => {
  const problem = await problemOf(new Response('{"error":"Not found","message":"no"}', { status: 404 }));
  expect(problem.code).toBeNull();
  expect(adviceOf(problem)).toBeNull();
});

test("a draft is kept for each language until it is the example again", () => {
  expect(draftOf("lua")).toBe(sampleOf("lua"));
  keepDraft("lua", "print(1)");
  expect(draftOf("lua")).toBe("print(1)");
  keepDraft("lua", sampleOf("lua"));
  expect(localStorage.getItem("windlass.draft.lua")).toBeNull();
  expect(draftOf("tcl")).toBe("");
});

test("sizes and shares are written for people", () => {
  expect([0, 1023, 3760128, 268435456, 1024 ** 4].map(sizeOf)).toEqual([
    "0 B",
    "1023 B",
    "3.6 MiB",
    "256 MiB",
    "1 TiB",
  ]);
  expect(sizeOf(Number.NaN)).toBe("–");
  expect(percentOf(0.474)).toBe("47 %");
});
