// @vitest-environment happy-dom
import { afterEach, expect, test } from "vitest";
import { draw } from "../../../../testing";
import { say, setLanguage } from "../../../../words";
import { aRun, aStep } from "../samples";
import { skipText, words } from "./skipped";
import { Parked } from "./step/Parked";

afterEach(() => setLanguage("en"));

test("why a step was skipped is said in the reader's language, and in the server's where only it knows", () => {
  const step = {
    skipped: "route chose otherwise",
    skip: { cause: "chosen", step: "route", when: null } as const,
  };
  expect(skipText(step, say(words, "en"))).toBe(step.skipped);
  expect(skipText(step, say(words, "zh"))).toBe("route 选择了其他分支");
  const when = { cause: "when", step: null, when: "inputs.n > 3" } as const;
  expect(skipText({ skipped: "not so: inputs.n > 3", skip: when }, say(words, "zh"))).toBe(
    "条件不成立：inputs.n > 3",
  );
  expect(skipText({ ...step, skip: null }, say(words, "zh"))).toBe(step.skipped);
});

test("why a step is parked is said in the reader's language, with the server's words beside it", async () => {
  const reason = "its worker died with it 3 times, the last time: killed";
  const parked = { reason, since: "2026-01-01T10:00:00Z", losses: 3, deaths: 3, evidence: ["Worker w died"] };
  const step = aStep("a", { parked });
  const { place, again } = await draw(<Parked run={aRun([step])} step={step} />);
  expect(place.textContent).toContain(`It is not tried again by itself: ${reason}`);
  setLanguage("zh");
  await again(<Parked run={aRun([step])} step={step} />);
  expect(place.textContent).toContain("不会自动重试：执行它的工作器崩溃了 3 次");
  expect([...place.querySelectorAll("[lang=en]")].map((part) => part.textContent)).toEqual([
    reason,
    "Worker w died",
  ]);
});
