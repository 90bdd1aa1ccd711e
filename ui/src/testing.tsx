import { act, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { onTestFinished } from "vitest";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

/** Draw it for the rest of the test. `again` draws something else in its place. */
export async function draw(
  what: ReactNode,
): Promise<{ place: HTMLElement; again: (next: ReactNode) => Promise<void> }> {
  const place = document.createElement("div");
  document.body.append(place);
  const root = createRoot(place);
  await act(async () => root.render(what));
  onTestFinished(async () => {
    await act(async () => root.unmount());
    place.remove();
  });
  return { place, again: (next) => act(async () => root.render(next)) };
}

export async function press(element: Element | null | undefined): Promise<void> {
  await act(async () => (element as HTMLElement).click());
}

export async function key(element: Element | null | undefined, name: string): Promise<void> {
  await act(async () => element?.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true })));
}
