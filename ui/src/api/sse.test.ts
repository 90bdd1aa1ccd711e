import { expect, test } from "vitest";
import { SseReader } from "./sse";

test("an event comes whole, however the text was cut", () => {
  const sse = new SseReader();
  const text = 'retry: 1000\n\nid: 7\nevent: StepStarted\ndata: {"a": 1}\n\n: still here\n\n';
  const found = [...text].flatMap((letter) => sse.push(letter));
  expect(found).toEqual([{ id: "7", event: "StepStarted", data: '{"a": 1}' }]);
  expect(sse.retryMs).toBe(1000);
});

test("lines of data are joined, and the id stays for the next event", () => {
  const sse = new SseReader();
  expect(sse.push("id: 1\ndata: a\ndata: b\r\n\r\ndata: c\n\n")).toEqual([
    { id: "1", event: "message", data: "a\nb" },
    { id: "1", event: "message", data: "c" },
  ]);
});

test("an event that was cut off is not told", () => {
  const sse = new SseReader();
  expect(sse.push("event: x\ndata: half")).toEqual([]);
});
