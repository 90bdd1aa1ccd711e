"""Everything by keyboard alone: what has the focus is seen, nothing holds it, and dialogs give it back."""

import re
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from tests.ui.conftest import Server

WAITS: Final = b"id: waits\nsteps: {build: {kind: noop}, ask: {kind: approval, needs: [build]}}\n"
STOPS_MAX: Final = 250
# Where the focus is: a number of its own, a name, and whether one can see it.
FOCUSED: Final = """() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return null;
  const marks = (window.stops ??= new Map());
  if (!marks.has(element)) marks.set(element, marks.size);
  // An editor shows it around itself, not around its text.
  const style = getComputedStyle(element.closest(".cm-editor") ?? element);
  const place = element.getBoundingClientRect();
  return {
    stop: marks.get(element),
    name: `${element.tagName} ${element.getAttribute("aria-label") ?? element.textContent}`.slice(0, 80),
    parts: element.type === "datetime-local",
    seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 && place.bottom > 0
      && place.top < innerHeight && place.right > 0 && place.left < innerWidth,
  };
}"""


@pytest.fixture(scope="module")
def waiting(server: Server) -> Server:
    server.client.apply("waits", WAITS, "application/yaml")
    for run in ("waits-1", "waits-2"):
        server.client.start("waits", run_id=run)
    return server


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/ui/workflows",
        "/ui/workflows/waits",
        "/ui/workflows/waits?tab=edit",
        "/ui/runs",
        "/ui/runs/waits-1",
        "/ui/runs/waits-1?tab=timeline",
        "/ui/runs/waits-1?tab=events",
        "/ui/tasks",
        "/ui/workers?worker=local",
        "/ui/workers/strategy",
        "/ui/cluster",
        "/ui/settings",
        "/ui/settings?tab=audit",
    ],
)
def test_tab_goes_through_the_whole_page_and_is_seen_everywhere(
    waiting: Server, page: Page, path: str
) -> None:
    page.goto(path)
    expect(page.locator("main h1")).to_be_visible()
    expect(page.locator("main").get_by_text("Loading …", exact=True)).to_have_count(0)
    seen: list[int] = []
    for _ in range(STOPS_MAX):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused is None:
            break
        # A date is several stops within one field, and shows itself where it is.
        assert focused["seen"] or focused["parts"], (
            f"the focus is at {focused['name']!r}, and nobody can see it"
        )
        assert focused["parts"] or focused["stop"] not in seen, f"{focused['name']!r} does not let go"
        seen.append(focused["stop"])
    else:
        pytest.fail(f"{path} has no end")
    assert len(seen) > 12


def test_a_step_of_the_graph_is_opened_and_left_by_keyboard(waiting: Server, page: Page) -> None:
    page.goto("/ui/runs/waits-1")
    page.get_by_role("button", name=re.compile("^ask")).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="ask", exact=True)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name=re.compile("^ask"))).to_be_focused()


def test_a_dialog_that_is_left_gives_the_keyboard_back(waiting: Server, page: Page) -> None:
    page.goto("/ui/runs/waits-1")
    button = page.get_by_role("button", name="Cancel run")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(button).to_be_focused()


def test_when_the_button_goes_with_what_it_did_the_heading_has_the_keyboard(
    waiting: Server, page: Page
) -> None:
    page.goto("/ui/runs/waits-2")
    page.get_by_role("button", name="Cancel run").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Cancel run").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="waits-2", exact=True)).to_be_focused()
