// @vitest-environment happy-dom
import { expect, test } from "vitest";
import table from "../../../windlass/gateway/answers.py?raw";
import { Problem } from "../api/problem";
import { say, shared } from "../words";
import { problemWords } from "./problemWords";

const chinese = say(shared, "zh");
const titled = (status: number, error: string) => {
  const words = problemWords(new Problem(status, error, "in English"));
  return words && chinese(words.title);
};

test.each([
  [401, "Unauthorized", "未登录或令牌无效"],
  [403, "Forbidden", "没有权限"],
  [404, "Not found", "未找到"],
  [404, "Run not found", "运行不存在"],
  [409, "Conflict", "与当前状态冲突"],
  [409, "Stuck", "已卡住"],
  [412, "Precondition failed", "内容已被他人修改"],
  [422, "Invalid request", "内容有误"],
  [429, "Too many requests", "请求过于频繁"],
  [503, "Unavailable", "暂时不可用"],
])("a refusal with status %i, %s, has a title in Chinese", (status, error, title) => {
  expect(titled(status, error)).toBe(title);
});

test("every line of the server's table of errors has words", () => {
  const lines = [...table.matchAll(/^ {4}\(\w+, (\d{3}), "([^"]+)"\),$/gm)];
  expect(lines.length).toBeGreaterThan(5);
  for (const [, status, error] of lines) expect(titled(Number(status), error ?? ""), error).not.toBeNull();
});

test("what only a proxy says is left to the proxy", () => {
  expect(problemWords(new Problem(502, "HTTP 502", "Bad gateway"))).toBeNull();
});
