// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { abilitiesOf } from "./capabilities";
import { connectCommand } from "./command";
import { matching, stateOf } from "./states";
import { runPath } from "./paths";
import { followed, isFirstFree, partsOf } from "./strategy/keys";
import { choiceKey, reasonOf } from "./strategy/reasons";
import type { Choice } from "./strategy/types";
import type { Worker } from "./types";

const worker = (more: Partial<Worker>) =>
  ({ id: "w", node: "n1", host: "", state: "ONLINE", halt: "", capabilities: [], ...more }) as Worker;

test("an operator's word is told before the state, unless the worker is away", () => {
  expect(stateOf(worker({ halt: "draining", state: "BUSY" }))).toBe("draining");
  expect(stateOf(worker({ halt: "paused", state: "OFFLINE" }))).toBe("OFFLINE");
  expect(stateOf(worker({ state: "DEGRADED" }))).toBe("DEGRADED");
});

test("workers are found by name, node, machine and what they offer, and by state", () => {
  const workers = [
    worker({ id: "far", capabilities: ["gpu"] }),
    worker({ id: "near", host: "Rack-7" }),
    worker({ id: "third", halt: "paused", node: "n2" }),
  ];
  const found = (state: "all" | "paused", search: string) =>
    matching(workers, { state, search }).map((each) => each.id);
  expect(found("all", " GPU ")).toEqual(["far"]);
  expect(found("all", "rack-7")).toEqual(["near"]);
  expect(found("all", "n2")).toEqual(["third"]);
  expect(found("paused", "")).toEqual(["third"]);
  expect(found("paused", "far")).toEqual([]);
});

test("capabilities are sorted out: kinds, languages with versions, sandbox, and what the owner gave", () => {
  expect(
    abilitiesOf([
      "code",
      "code/bash",
      "code/python",
      "code/python/3",
      "code/python/3.11",
      "code/python/3.11.2",
      "code/python/3.9",
      "code:limits",
      "gpu",
      "python",
      "sandbox:seccomp",
      "shell",
    ]),
  ).toEqual({
    kinds: ["python", "shell", "code"],
    languages: ["bash", "python 3.11.2, 3.9"],
    sandbox: ["seccomp"],
    own: ["gpu"],
  });
});

test("the command connects to the address of the page, over TLS if the page is, with a token if it takes one", () => {
  const plain = { protocol: "http:", host: "h:8080" };
  expect(connectCommand(plain, false)).toBe("windlass worker --connect ws://h:8080");
  expect(connectCommand({ protocol: "https:", host: "h" }, true)).toBe(
    "WINDLASS_TOKEN=wl_... windlass worker --connect wss://h",
  );
});

test("the parts of a key are named by the strategy that was followed", () => {
  expect(partsOf("locality", [0, 0.12345])).toEqual([
    { name: "part.distance", value: "0", more: "distance.0" },
    { name: "part.load", value: "0.123", more: null },
  ]);
  expect(partsOf("adaptive: round-robin", [7])[0]?.name).toBe("part.turn");
  expect(partsOf("mine:least_used", ["eu", 1]).map((part) => part.name)).toEqual([null, null]);
  expect(followed("adaptive: load-balanced")).toBe("load-balanced");
  expect(isFirstFree("the first free slot")).toBe(true);
});

const choice = (more: Partial<Choice>): Choice => ({
  at: "2026-01-01T00:00:00Z",
  namespace: "default",
  workflow: "flow",
  runId: "r",
  step: "s",
  attempt: 1,
  worker: "w",
  node: "n",
  strategy: "locality",
  source: "cluster",
  followed: "locality",
  key: [0, 0.5],
  known: 5,
  count: 3,
  top: [
    { worker: "w", key: [0, 0.5] },
    { worker: "v", key: [1, 0.5] },
  ],
  ...more,
});

test("the reason of a choice says how many there were, and who was next", () => {
  expect(reasonOf(choice({}))).toEqual({
    word: "reason.bestNext",
    values: { known: 5, count: 3, next: "v" },
  });
  expect(reasonOf(choice({ top: [] })).word).toBe("reason.best");
  expect(reasonOf(choice({ count: 1, top: [] })).word).toBe("reason.only");
  expect(reasonOf(choice({ followed: "random", key: [], top: [] })).word).toBe("reason.lot");
  expect(reasonOf(choice({ followed: "the first free slot", count: 1, key: [] })).word).toBe("firstFree");
  expect(reasonOf(choice({ followed: null, count: null })).word).toBe("reason.unknown");
});

test("affinity tells what it kept together from the first one that was free", () => {
  expect(reasonOf(choice({ followed: "adaptive: affinity", key: [0] })).word).toBe("reason.kept");
  expect(reasonOf(choice({ followed: "affinity", key: [1] })).word).toBe("reason.bestNext");
});

test("two attempts at a step are two choices", () => {
  expect(choiceKey(choice({}))).not.toBe(choiceKey(choice({ attempt: 2 })));
});

test("a run is linked in its namespace, and the usual one is not named", () => {
  expect(runPath("a b", "default")).toBe("/ui/runs/a%20b?namespace=");
  expect(runPath("r", "team")).toBe("/ui/runs/r?namespace=team");
});
