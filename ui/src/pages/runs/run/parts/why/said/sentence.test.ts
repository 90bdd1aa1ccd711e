// @vitest-environment happy-dom
import { expect, test } from "vitest";
import kinds from "../../../../../../../../windlass/core/reasons.py?raw";
import { say } from "../../../../../../words";
import type { Reason } from "../explanation";
import { someReason } from "../samples";
import { reasonText, sentenceOf, type Speech } from "./sentence";
import { words } from "./words";

const speech = (language: "en" | "zh"): Speech => ({
  t: say(words, language),
  time: (at) => at.slice(11, 16),
  span: (seconds) => (language === "zh" ? `${seconds} 秒` : `${seconds} s`),
  status: (status) => (language === "zh" ? { failed: "失败" } : { failed: "Failed" })[status] ?? status,
});
const at = (clock: string) => `2026-01-01T${clock}:00Z`;

const SAID: readonly (readonly [Partial<Reason> & { kind: string }, string, string])[] = [
  [
    { kind: "stuck", since: at("10:00"), why: "KeyError: 'x'" },
    "The run is stuck since 10:00: KeyError: 'x'; mend the cause, then free it",
    "运行自 10:00 起卡住：KeyError: 'x'；请先排除原因，再解除卡住状态",
  ],
  [
    { kind: "ended", since: at("10:00"), then: "failed" },
    "The run ended at 10:00: Failed",
    "运行已于 10:00 结束：失败",
  ],
  [{ kind: "paused", since: at("10:00") }, "The run is paused since 10:00", "运行自 10:00 起处于暂停状态"],
  [
    { kind: "parked", step: "a", since: at("10:00"), why: "its worker died with it 3 times" },
    "Step a is parked since 10:00: its worker died with it 3 times",
    "步骤 a 自 10:00 起被搁置：its worker died with it 3 times",
  ],
  [
    {
      kind: "approval",
      step: "ask",
      since: at("10:00"),
      until: at("12:00"),
      then: "reject",
      who: ["ana", "ops"],
      why: "Ship?",
    },
    "Step ask waits since 10:00 for ana or ops to say yes or no: “Ship?”; at 12:00 it counts as rejected",
    "步骤 ask 自 10:00 起等待审批，审批人：ana 或 ops，询问“Ship?”；到 12:00 仍未决定则视为拒绝",
  ],
  [
    { kind: "signal", step: "paid", since: at("10:00"), name: "payment" },
    "Step paid waits since 10:00 for the signal payment",
    "步骤 paid 自 10:00 起等待信号 payment",
  ],
  [
    { kind: "capability", step: "a", requires: ["gpu", "tpu"], workers: { unfit: 2 } },
    "Step a waits for a worker that offers gpu, tpu: none of the 2 connected workers does",
    "步骤 a 需要提供 gpu，tpu 的工作器；已连接的 2 个工作器都不提供",
  ],
  [
    { kind: "capability", step: "a", requires: ["gpu"] },
    "Step a waits for a worker that offers gpu: no worker is connected",
    "步骤 a 需要提供 gpu 的工作器；目前没有工作器连接",
  ],
  [
    { kind: "worker", step: "a", workers: { paused: 1, silent: 2 } },
    "Step a waits for a worker: of the 3 that can run it, 1 is paused, 2 are silent",
    "步骤 a 在等待工作器：能执行它的 3 个中，1 个已暂停，2 个没有响应",
  ],
  [
    { kind: "worker", step: "a", worker: "w1", workers: { draining: 1 } },
    "Step a waits for worker w1, the only one that can run it, which is draining",
    "步骤 a 在等待工作器：唯一能执行它的 w1 正在排空",
  ],
  [
    { kind: "slots", step: "a", held: 8, ahead: 3, workers: { busy: 1, paused: 1 } },
    "Step a waits for a free slot: 1 worker that can run it is busy with 8 tasks; 3 tasks are before it; besides, 1 is paused",
    "步骤 a 在等待空闲槽位：能执行它的 1 个工作器正在执行 8 个任务；前面还有 3 个任务；另有 1 个已暂停",
  ],
  [
    { kind: "permit", since: at("10:00"), name: "api", most: 10, held: 10, waiting: 3 },
    "The run waits since 10:00 for the limit api, which lets 10 run at once; 10 permits are held; 3 wait for one",
    "运行自 10:00 起等待限额 api（最多同时 10 个）；已占用 10 个；3 个在排队",
  ],
  [
    { kind: "permit", step: "a", since: at("10:00"), name: "api", most: 10, perS: 60, held: 0, waiting: 1 },
    "Step a waits since 10:00 for the limit api, which lets 10 begin in 60 s",
    "步骤 a 自 10:00 起等待限额 api（60 秒内最多启动 10 个）",
  ],
  [
    { kind: "retry", step: "a", until: at("10:20"), attempt: 2, attempts: 5, why: "HttpStatus: 503" },
    "Step a failed and is tried again at 10:20 (attempt 2 of 5): HttpStatus: 503",
    "步骤 a 失败，将于 10:20 重试（第 2 次尝试，共 5 次）：HttpStatus: 503",
  ],
  [
    { kind: "retry", step: "a", attempt: 2, attempts: 5 },
    "Step a failed and is tried again when the run is resumed (attempt 2 of 5)",
    "步骤 a 失败，运行恢复后重试（第 2 次尝试，共 5 次）",
  ],
  [
    { kind: "retry", step: "a", attempt: 2, attempts: 5, leftS: 90 },
    "Step a failed and is tried again 90 s after the run is resumed (attempt 2 of 5)",
    "步骤 a 失败，运行恢复 90 秒后重试（第 2 次尝试，共 5 次）",
  ],
  [
    { kind: "turn", step: "p[1]", name: "p", attempt: 2, leftS: 90 },
    "Step p takes turn 2 90 s after the run is resumed",
    "运行恢复 90 秒后，步骤 p 开始第 2 轮",
  ],
  [{ kind: "wait", step: "a", until: at("10:20") }, "Step a waits until 10:20", "步骤 a 等待到 10:20"],
  [
    { kind: "wait", step: "a", leftS: 90 },
    "Step a waits for another 90 s once the run is resumed",
    "运行恢复后，步骤 a 还要等待 90 秒",
  ],
  [{ kind: "timer", step: "a", until: at("10:20") }, "Step a waits until 10:20", "步骤 a 等待到 10:20"],
  [
    { kind: "turn", step: "p[1]", name: "p", attempt: 2, until: at("10:20") },
    "Step p takes turn 2 at 10:20",
    "步骤 p 将于 10:20 开始第 2 轮",
  ],
  [
    { kind: "child", step: "a", since: at("10:00"), name: "r9" },
    "Step a waits since 10:00 for the run r9",
    "步骤 a 自 10:00 起等待运行 r9",
  ],
  [
    { kind: "undo", since: at("10:00"), done: 1, total: 2, then: "failed", why: "no ship" },
    "The run takes back what it did since 10:00: 1 of 2 steps are undone, then it ends as Failed: no ship",
    "运行自 10:00 起撤销已完成的步骤：已撤销 1 / 2，之后以“失败”结束：no ship",
  ],
  [
    { kind: "items", step: "each", done: 3, total: 9, failed: 1 },
    "Step each is at its items: 3 of 9 have ended; 1 of them badly",
    "步骤 each 正在处理元素：已结束 3 / 9；其中 1 个失败",
  ],
  [
    { kind: "items", step: "poll", done: 2, most: 5 },
    "Step poll is in turn 2 of at most 5",
    "步骤 poll 正在执行第 2 轮，最多 5 轮",
  ],
  [
    {
      kind: "running",
      step: "a",
      since: at("10:00"),
      until: at("11:00"),
      worker: "w1",
      attempt: 1,
      name: "b",
      why: "E: no",
    },
    "Step a runs on worker w1 since 10:00 (attempt 1); it may do so until 11:00; then the run fails, because step b failed: E: no",
    "步骤 a 自 10:00 起在工作器 w1 上执行（第 1 次尝试）；最迟到 11:00；之后运行将失败，因为步骤 b 失败：E: no",
  ],
  [{ kind: "running", step: "a" }, "Step a is being handed to a worker", "步骤 a 正在分派给工作器"],
  [
    { kind: "limit", step: "a", count: 2, name: "max_parallel", most: 1 },
    "2 steps are held back by max_parallel: 1 at a time",
    "2 个步骤受 max_parallel 限制：同时最多执行 1 个",
  ],
  [
    { kind: "limit", step: "a", most: 4 },
    "Step a waits for its turn: 4 steps of its namespace, or of who started it, may run at the same time",
    "步骤 a 在排队：同一命名空间或同一启动者最多同时执行 4 个步骤",
  ],
  [{ kind: "parents", step: "z", count: 1 }, "1 step waits for other steps", "1 个步骤在等待前置步骤"],
  [
    { kind: "deadline", until: at("12:00") },
    "The run fails at 12:00 unless it has ended by then",
    "运行若到 12:00 仍未结束，将判为失败",
  ],
];

test.each(SAID)("a reason is told in both languages: %j", (given, english, chinese) => {
  expect(reasonText(someReason(given), speech("en"))).toBe(english);
  expect(reasonText(someReason(given), speech("zh"))).toBe(chinese);
});

test("every kind of reason that the engine knows has a sentence, and words for beside another", () => {
  const listed = /ReasonKind = Literal\[([^\]]*)\]/.exec(kinds)?.[1] ?? "";
  const known = [...listed.matchAll(/"(\w+)"/g)].map((found) => found[1] ?? "");
  expect(known.length).toBeGreaterThan(20);
  expect([...new Set(SAID.map(([given]) => given.kind))].sort()).toEqual([...known].sort());
  for (const kind of known) expect(words.zh).toHaveProperty([`besides.${kind}`]);
});

test("everything that keeps a worker from a task has a word", () => {
  const listed = /WorkerBar = Literal\[([^\]]*)\]/.exec(kinds)?.[1] ?? "";
  const known = [...listed.matchAll(/"(\w+)"/g)].map((found) => found[1] ?? "");
  expect(known).toContain("busy");
  for (const bar of known) expect(words.zh).toHaveProperty([`bar.${bar}`]);
});

test("a kind that this page does not know is told as the server does", () => {
  const reason = someReason({ kind: "weather", detail: "It rains" });
  expect(reasonText(reason, speech("zh"))).toBe("It rains");
});

test("the other reasons are counted behind the first", () => {
  const first = someReason({ kind: "paused", since: at("10:00") });
  const told = { sentence: "", reasons: [first], counts: { paused: 1, retry: 2, deadline: 1 } };
  expect(sentenceOf(told, speech("zh"))).toBe(
    "运行自 10:00 起处于暂停状态（另外：2 个等待重试，有截止时间）",
  );
  expect(sentenceOf({ sentence: "", reasons: [], counts: {} }, speech("zh"))).toBe("没有阻碍，运行正在进行");
});
