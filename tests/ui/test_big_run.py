"""A document of ten thousand steps: its page, and the page of its run while it runs.

What is drawn stays small however much there is, and what is large is not asked for again and again.
"""

import re
from collections import Counter
from typing import Final
from urllib.parse import urlsplit

import msgspec
import pytest
from playwright.sync_api import Page, Request, expect

from tests.ui.browser import check_accessible
from tests.ui.conftest import Server
from tests.waiting import wait_until
from windlass.core.vocabulary import ENDED

LAYERS: Final = 100
WIDE: Final = 100
STEPS: Final = LAYERS * WIDE
DRAWN_MAX: Final = 4_000  # elements of a page, of whatever is shown
WHOLE_RUN_MAX: Final = 12  # readings of a run, which are four megabytes each


def layers() -> dict[str, object]:
    """A gate, and a hundred layers after it, each step of which needs three of the layer before."""

    def needs(layer: int, place: int) -> list[str]:
        if layer == 0:
            return ["gate"]
        return [f"l{layer - 1}-{(place + by) % WIDE}" for by in (0, 1, 7)]

    steps = {
        f"l{layer}-{place}": {"kind": "noop", "needs": needs(layer, place)}
        for layer in range(LAYERS)
        for place in range(WIDE)
    }
    return {"gate": {"kind": "signal", "with": {"name": "go"}}, **steps}


@pytest.fixture(scope="module")
def big(server: Server) -> Server:
    document = msgspec.json.encode({"id": "big", "steps": layers()})
    server.client.apply("big", document, "application/json")
    return server


@pytest.fixture(scope="module")
def ended(big: Server) -> str:
    """The id of a run that has ended."""
    big.client.start("big", run_id="big-ended", labels={"kept": "yes"})
    big.client.signal("big-ended", "go")
    # The list tells it in a few bytes; the run itself would take megabytes each time.
    wait_until(lambda: big.client.runs(label="kept=yes")["items"][0]["status"] in ENDED, within_s=120)
    return "big-ended"


def asked_by(page: Page) -> Counter[str]:
    """How often the page has asked for each path, from now on."""
    asked: Counter[str] = Counter()

    def count(request: Request) -> None:
        asked[urlsplit(request.url).path] += 1

    page.on("request", count)
    return asked


def drawn(page: Page) -> int:
    found: int = page.evaluate("() => document.querySelectorAll('*').length")
    return found


def test_a_document_of_ten_thousand_steps_is_drawn_in_groups_and_can_be_edited(
    big: Server, page: Page
) -> None:
    page.goto("/ui/workflows/big")
    expect(page.get_by_text("10,000 steps are drawn as 101 boxes")).to_be_visible()
    first = page.locator(".step-box.group").first
    expect(first).to_contain_text("100 steps")
    first.click()
    members = page.get_by_role("table", name="l…: 100 steps")
    members.get_by_role("button", name="l0-99", exact=True).click()
    expect(members.locator("mark")).to_have_text("l0-99")
    assert drawn(page) < DRAWN_MAX
    check_accessible(page)
    page.get_by_role("tab", name="Edit").click()
    expect(page.get_by_text("No mistakes")).to_be_visible()
    page.get_by_role("tab", name="Versions").click()
    expect(page.get_by_role("button", name=re.compile("Show more of [0-9]+ further lines"))).to_be_visible()
    assert drawn(page) < DRAWN_MAX


def test_ten_thousand_steps_are_watched_while_they_run(big: Server, page: Page) -> None:
    big.client.start("big", run_id="big-watched")
    asked = asked_by(page)
    page.goto("/ui/runs/big-watched")
    groups = page.locator(".step-box.group")
    expect(groups).to_have_count(LAYERS)
    expect(groups.last).to_contain_text("0 of 100")
    expect(page.locator(".lead")).to_contain_text("Live")
    groups.last.press("Enter")  # it is far to the right, and comes into sight
    last = page.get_by_role("table", name="l…: 100 steps").locator("tbody tr").first
    expect(last).to_contain_text("Waiting")
    big.client.signal("big-watched", "go")
    expect(groups.last).to_contain_text("100 of 100", timeout=120_000)
    expect(last).to_contain_text("Succeeded")
    expect(page.locator(".lead")).to_contain_text("Succeeded")
    assert drawn(page) < DRAWN_MAX
    assert asked["/api/v1/runs/big-watched"] < WHOLE_RUN_MAX


def test_the_timeline_of_ten_thousand_steps_draws_what_is_in_sight_and_is_read_once(
    ended: str, page: Page
) -> None:
    asked = asked_by(page)
    page.goto(f"/ui/runs/{ended}?tab=timeline")
    line = page.get_by_role("region", name="Timeline")
    expect(line.locator("[data-step=gate]")).to_be_visible()
    line.evaluate("frame => frame.scrollTo(0, frame.scrollHeight)")
    expect(line.locator("[data-step=l99-99]")).to_be_visible()
    expect(line.get_by_role("img", name=re.compile("^l99-99: "))).not_to_have_count(0)
    assert drawn(page) < DRAWN_MAX
    page.get_by_role("tab", name="Steps").click()
    expect(page.get_by_text(f"{STEPS + 1} rows")).to_be_visible()
    page.get_by_role("tab", name="Timeline").click()
    expect(line.get_by_role("img", name=re.compile("^gate: "))).not_to_have_count(0)
    assert asked[f"/api/v1/runs/{ended}/stream"] == 1
    assert asked[f"/api/v1/runs/{ended}"] == 1


def test_the_table_of_ten_thousand_steps_is_searched_and_scrolled_to_its_end(ended: str, page: Page) -> None:
    page.goto(f"/ui/runs/{ended}?tab=steps")
    table = page.get_by_role("group", name="Steps", exact=True)
    expect(page.get_by_text(f"{STEPS + 1} rows")).to_be_visible()
    table.evaluate("frame => frame.scrollTo(0, frame.scrollHeight)")
    expect(table.get_by_role("button", name="l99-99", exact=True)).to_be_visible()
    assert drawn(page) < DRAWN_MAX
    page.get_by_label("Name holds").fill("l42-7")
    expect(page.locator("table tbody tr")).to_have_count(11)
    page.get_by_role("button", name="l42-7", exact=True).click()
    panel = page.get_by_role("complementary", name="Step l42-7")
    expect(panel).to_contain_text("Succeeded")


def test_the_events_of_ten_thousand_steps_are_the_newest_and_those_in_sight(ended: str, page: Page) -> None:
    asked = asked_by(page)
    page.goto(f"/ui/runs/{ended}?tab=events")
    feed = page.locator(".rows.events")
    expect(feed.get_by_text("The run", exact=False).last).to_be_visible()
    assert drawn(page) < DRAWN_MAX
    page.get_by_role("button", name="Show earlier events").click()
    expect(page.get_by_text(re.compile(r"1,?[45]\d\d events"))).to_be_visible()
    assert asked[f"/api/v1/runs/{ended}"] == 1
