import { describe, expect, it } from "vitest";
import { awaitedStep } from "./awaited";
import { aStep, moment } from "./samples";
import type { StepView } from "./types";

const waiting = (id: string, what: "approval" | "signal", since = 0): StepView =>
  aStep(id, {
    status: "running",
    startedAt: moment(since),
    awaits: { what, prompt: null, who: [], signal: null, until: null, then: null },
  });

describe("the step at which somebody is waited for", () => {
  it("is the approval that was asked for first, whatever signals wait", () => {
    const steps = [
      waiting("paid", "signal"),
      waiting("second", "approval", 9),
      waiting("first", "approval", 3),
    ];
    expect(awaitedStep(steps)).toBe("first");
  });

  it("is a signal where no approval is asked for", () => {
    expect(awaitedStep([aStep("a"), waiting("paid", "signal")])).toBe("paid");
  });

  it("is one that is parked before any signal, and after an approval", () => {
    const parked = { reason: "", since: moment(0), losses: 3, deaths: 3, evidence: [] };
    const step = aStep("killer", { parked });
    expect(awaitedStep([waiting("paid", "signal"), step])).toBe("killer");
    expect(awaitedStep([step, waiting("ask", "approval")])).toBe("ask");
  });

  it("is none once everything is answered", () => {
    expect(awaitedStep([aStep("a", { status: "succeeded" }), aStep("b")])).toBeNull();
  });
});
