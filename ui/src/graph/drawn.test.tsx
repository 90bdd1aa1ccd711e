// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { draw, press } from "../testing";
import type { Box } from "./drawing";
import type { Face } from "./face";
import FlowGraph from "./FlowGraph";
import type { Drawable } from "./shape";

// happy-dom has no sizes: what measures itself gets one.
beforeEach(() => {
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe() {}
      unobserve() {}
      disconnect() {}
    },
  );
});
afterEach(() => vi.unstubAllGlobals());

const face = (box: Box<Drawable>): Face => ({
  step: box.steps.length > 1 ? null : box.name,
  name: box.name,
  title: box.name,
  detail: "",
  status: box.steps.some((step) => step.status === "failed") ? "failed" : "succeeded",
  tone: "plain",
  undo: false,
  share: null,
});
const columns = [{ key: "id", head: "Step", cell: (step: Drawable) => step.id }];
const graphOf = (steps: readonly Drawable[], onChoose = (_: string) => {}) => (
  <FlowGraph label="Graph" steps={steps} chosen="" onChoose={onChoose} face={face} columns={columns} />
);

test("a step is chosen, a group is opened with what failed first, and closed", async () => {
  const chosen: string[] = [];
  const alike = Array.from({ length: 400 }, (_, n): Drawable => ({
    id: `load-${n}`,
    needs: ["begin"],
    status: n === 300 ? "failed" : "succeeded",
  }));
  const { place } = await draw(
    graphOf([{ id: "begin", needs: [] }, ...alike], (step) => void chosen.push(step)),
  );
  expect(place.textContent).toContain("400 steps are drawn as 2 boxes");
  const boxes = [...place.querySelectorAll(".step-box")];
  expect(boxes.map((box) => box.getAttribute("data-step"))).toEqual(["begin", null]);
  await press(boxes[0]);
  expect(chosen).toEqual(["begin"]);
  await press(boxes[1]);
  expect(place.querySelector("tbody tr")?.textContent).toBe("load-300");
  expect(place.querySelectorAll("tbody tr").length).toBeLessThan(100);
  await press(place.querySelectorAll(".step-box")[1]);
  expect(place.querySelector("tbody")).toBeNull();
});

test("a box that looks as before is not drawn anew", async () => {
  const steps = (last: string): Drawable[] => [
    { id: "a", needs: [], status: "succeeded" },
    { id: "b", needs: ["a"], status: last },
  ];
  const { place, again } = await draw(graphOf(steps("succeeded"), choose));
  const changed: Node[] = [];
  const watch = new MutationObserver((changes) => changed.push(...changes.map((change) => change.target)));
  watch.observe(place, { subtree: true, childList: true, characterData: true, attributes: true });
  await again(graphOf(steps("failed"), choose));
  const boxOf = (node: Node) => (node instanceof Element ? node : node.parentElement)?.closest(".step-box");
  expect(new Set(changed.map((node) => boxOf(node)?.getAttribute("data-step")))).toEqual(new Set(["b"]));
});

const choose = () => {};
