"""A run is looked into and steered: its log, its events, a step, and everything that can be done to it."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.cli.test_release import POISON, park
from tests.ui.browser import check_accessible, sign_in
from tests.ui.conftest import OpenPage, Server
from tests.waiting import wait_until
from windlass.core.task import Json
from windlass.sdk.client import Client

# Prints what it is told through a pipe, and ends with it.
PARROT = """
while read -r line; do
  case "$line" in !*) echo "$line" >&2;; *) echo "$line";; esac
done < "$0"
"""


def start(client: Client, name: str, steps: Json, input: Json = None, **more: Json) -> str:
    """A workflow and a run of it, both called so."""
    document = json.dumps({"id": name, "steps": steps, **more}).encode()
    client.apply(name, document, "application/json")
    client.start(name, run_id=name, input=input)
    return name


def ended(client: Client, run: str) -> Json:
    wait_until(lambda: client.run(run)["endedAt"])
    return client.run(run)


def step_of(client: Client, run: str, name: str) -> Json:
    return next(step for step in client.run(run)["steps"] if step["id"] == name)


def look(page: Page, run: str, query: str = "") -> None:
    page.goto(f"/ui/runs/{run}{query}")
    expect(page.get_by_role("heading", level=1)).to_contain_text(run)


def dialog(page: Page) -> Locator:
    return page.get_by_role("dialog")


def write(page: Page, label: str, text: str) -> None:
    """Into an editor, in place of what is there."""
    editor = dialog(page).get_by_role("textbox", name=label)
    editor.click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(text)


@contextmanager
def parrot(server: Server, name: str, tmp_path: Path) -> Iterator[int]:
    """A run whose only step prints what is written to the pipe."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    start(server.client, name, {"say": {"kind": "shell", "with": {"argv": ["sh", "-c", PARROT, str(pipe)]}}})
    writer = os.open(pipe, os.O_WRONLY)  # waits for the step
    try:
        yield writer
    finally:
        os.close(writer)


def test_a_log_is_followed_while_a_step_prints_searched_and_paused_by_scrolling_up(
    server: Server, page: Page, tmp_path: Path
) -> None:
    with parrot(server, "log-follow", tmp_path) as pipe:
        os.write(pipe, b"first\n! oh no\n")
        page.set_viewport_size({"width": 1280, "height": 1600})  # all of it is in sight
        look(page, "log-follow", "?tab=logs")
        rows = page.get_by_role("region", name="Lines that the steps printed")
        expect(rows.get_by_text("first")).to_be_visible()
        # What went to stderr says so in a word.
        expect(rows.locator(".log-line", has_text="! oh no").get_by_text("err", exact=True)).to_be_visible()
        check_accessible(page)
        # New lines come by themselves, and the end stays in sight.
        os.write(pipe, b"".join(b"line %d\n" % number for number in range(200)))
        expect(rows.get_by_text("line 199", exact=True)).to_be_in_viewport()
        # Only those in sight are drawn.
        assert rows.locator(".log-line").count() < 120
        # Who scrolls up is left in peace.
        follow = page.get_by_role("button", name="Follow the end")
        rows.hover()
        page.mouse.wheel(0, -1500)
        expect(follow).to_have_attribute("aria-pressed", "false")
        os.write(pipe, b"line 200\n")
        expect(page.get_by_text("203 lines")).to_be_visible()
        expect(rows.get_by_text("line 200", exact=True)).not_to_be_in_viewport()
        follow.click()
        expect(rows.get_by_text("line 200", exact=True)).to_be_in_viewport()
        # The search goes from place to place.
        page.get_by_label("Search", exact=True).fill("LINE 15")
        expect(page.get_by_text("of 11")).to_be_visible()
        page.keyboard.press("Enter")
        expect(page.get_by_text("11 of 11")).to_be_visible()
        expect(rows.get_by_text("line 159", exact=True)).to_be_in_viewport()
        page.keyboard.press("Enter")
        expect(page.get_by_text("1 of 11", exact=True)).to_be_visible()
        expect(rows.get_by_text("line 15", exact=True)).to_be_in_viewport()
    expect(page.locator(".feed-tools").get_by_text("Ended")).to_be_visible()


def test_the_log_of_one_step_and_attempt_is_shown_alone(server: Server, page: Page, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    again = f'if [ -e "{flag}" ]; then echo better; else touch "{flag}"; echo worse; exit 1; fi'
    steps = {
        "one": {"kind": "shell", "with": {"argv": ["sh", "-c", "echo of one"]}},
        "two": {
            "kind": "shell",
            "with": {"argv": ["sh", "-c", again]},
            "retry": {"attempts": 2, "backoff": "100ms"},
        },
    }
    ended(server.client, start(server.client, "log-step", steps))
    look(page, "log-step", "?tab=logs&step=two")
    rows = page.get_by_role("region", name="Lines that the steps printed")
    expect(rows.get_by_text("worse")).to_be_visible()
    expect(rows.get_by_text("of one")).to_be_hidden()
    page.get_by_label("Attempt", exact=True).select_option("2")
    expect(rows.get_by_text("worse")).to_be_hidden()
    expect(rows.get_by_text("better")).to_be_visible()
    page.get_by_label("Only step two").uncheck()
    expect(rows.get_by_text("of one")).to_be_visible()
    # And the panel tells both attempts, the newest first.
    attempts = page.get_by_role("complementary", name="two").locator(".attempts li")
    expect(attempts).to_have_count(2)
    expect(attempts.nth(0)).to_contain_text("Attempt 2")
    expect(attempts.nth(0)).to_contain_text("Succeeded")
    expect(attempts.nth(1)).to_contain_text("ExitCode")
    check_accessible(page)


def test_events_are_told_in_sentences_as_they_happen_with_their_json(server: Server, page: Page) -> None:
    steps = {
        "paid": {"kind": "signal", "with": {"name": "payment"}},
        "ship": {"kind": "noop", "needs": "paid"},
    }
    start(server.client, "events-live", steps)
    look(page, "events-live", "?tab=events")
    rows = page.get_by_role("region", name="What happened, in order")
    expect(rows.get_by_text("The run began: events-live, version 1")).to_be_visible()
    expect(rows.get_by_text("paid: waits for a signal")).to_be_visible()
    check_accessible(page)
    server.client.signal("events-live", "payment", {"amount": 42})
    signal = page.get_by_text("The signal payment came", exact=True)
    expect(signal).to_be_visible()
    expect(rows.get_by_text("The run ended: Succeeded")).to_be_visible()
    rows.locator(".event-row", has=signal).get_by_role("button").click()
    expect(dialog(page).get_by_text("amount")).to_be_visible()
    check_accessible(page)
    page.keyboard.press("Escape")
    expect(dialog(page)).to_be_hidden()
    page.get_by_label("Filter", exact=True).fill("ship")
    expect(signal).to_be_hidden()
    expect(rows.get_by_text("ship: succeeded")).to_be_visible()


def test_input_output_context_and_labels_are_shown(server: Server, page: Page) -> None:
    client = server.client
    document = {"id": "data", "steps": {"a": {"kind": "noop", "with": {"value": {"total": 1280}}}}}
    client.apply("data", json.dumps(document).encode(), "application/json")
    client.start("data", run_id="data", input={"day": "monday"}, context={"who": "ana"}, labels={"team": "x"})
    ended(client, "data")
    look(page, "data", "?tab=data")
    for name, value in [("Input", "monday"), ("Output", "1280"), ("Context", "ana"), ("Labels", '"x"')]:
        expect(page.get_by_role("group", name=name, exact=True)).to_contain_text(value)
    check_accessible(page)


def test_a_run_is_cancelled_with_a_reason_after_being_asked_once(server: Server, page: Page) -> None:
    start(server.client, "cancel", {"work": {"kind": "wait", "with": {"for": "1h"}}})
    look(page, "cancel")
    page.get_by_role("button", name="Cancel run").click()
    expect(dialog(page).get_by_role("heading", name="Cancel this run?")).to_be_visible()
    check_accessible(page)
    page.keyboard.press("Escape")
    expect(dialog(page)).to_be_hidden()
    assert server.client.run("cancel")["status"] == "running"
    page.get_by_role("button", name="Cancel run").click()
    dialog(page).get_by_label("Reason").fill("not today")
    dialog(page).get_by_role("button", name="Cancel run").click()
    expect(page.get_by_text("Cancelled").first).to_be_visible()
    expect(page.get_by_role("button", name="Cancel run")).to_be_hidden()
    view = ended(server.client, "cancel")
    assert (view["status"], view["error"]["message"]) == ("cancelled", "not today")


def test_a_run_is_paused_and_goes_on(server: Server, page: Page) -> None:
    start(server.client, "pause", {"work": {"kind": "wait", "with": {"for": "1h"}}})
    look(page, "pause")
    page.get_by_role("button", name="Pause", exact=True).click()
    dialog(page).get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Resume", exact=True)).to_be_visible()
    assert server.client.run("pause")["status"] == "paused"
    expect(page.get_by_label("Why is it not moving?")).to_contain_text("paused")
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    assert server.client.run("pause")["status"] == "running"


def test_a_signal_is_sent_with_json(server: Server, page: Page) -> None:
    start(server.client, "signal", {"paid": {"kind": "signal", "with": {"name": "payment"}}})
    look(page, "signal")
    page.get_by_role("button", name="Signal …").click()
    expect(dialog(page).get_by_label("Name")).to_have_value("payment")
    write(page, "Data (JSON)", '{"amount": ')
    dialog(page).get_by_role("button", name="Send").click()
    expect(dialog(page).get_by_role("alert")).to_contain_text("This is no JSON")
    check_accessible(page)
    write(page, "Data (JSON)", '{"amount": 42}')
    dialog(page).get_by_role("button", name="Send").click()
    expect(dialog(page)).to_be_hidden()
    assert ended(server.client, "signal")["output"] == {"paid": {"amount": 42}}


@pytest.mark.parametrize(("answer", "status"), [("Approve", "succeeded"), ("Reject", "failed")])
def test_an_approval_is_answered_with_a_comment(server: Server, page: Page, answer: str, status: str) -> None:
    name = f"ask-{answer.lower()}"
    ask = {"kind": "approval", "with": {"prompt": "Ship 1.4.2?", "timeout": "2d"}}
    start(server.client, name, {"ask": ask, "ship": {"kind": "noop", "needs": "ask"}})
    look(page, name, "?step=ask")
    panel = page.get_by_role("complementary", name="ask")
    expect(panel.get_by_text("Ship 1.4.2?").first).to_be_visible()
    check_accessible(page)
    panel.get_by_role("button", name=answer).click()
    dialog(page).get_by_label("Comment").fill("looked at it")
    check_accessible(page)
    dialog(page).get_by_role("button", name=answer).click()
    expect(dialog(page)).to_be_hidden()
    view = ended(server.client, name)
    assert view["status"] == status
    made = [event for event in server.client.all_events(name) if event["type"] == "DecisionMade"]
    assert [event["comment"] for event in made] == ["looked at it"]
    expect(panel.get_by_role("button", name=answer)).to_be_hidden()


def test_an_undo_that_hangs_is_given_up_and_the_run_ends(server: Server, page: Page) -> None:
    undo = {"kind": "shell", "with": {"argv": ["sleep", "600"]}}
    steps = {"pay": {"kind": "noop", "undo": undo}, "wait": {"kind": "signal", "needs": "pay"}}
    start(server.client, "hangs", steps)
    wait_until(lambda: step_of(server.client, "hangs", "wait")["awaits"])
    look(page, "hangs")
    page.get_by_role("button", name="Cancel run").click()
    expect(dialog(page).get_by_label("Take nothing back")).not_to_be_checked()
    dialog(page).get_by_role("button", name="Cancel run").click()
    page.get_by_role("button", name="Give up undoing").click()
    check_accessible(page)
    dialog(page).get_by_role("button", name="Give up undoing").click()
    view = ended(server.client, "hangs")
    assert (view["status"], step_of(server.client, "hangs", "undo:pay")["status"]) == (
        "cancelled",
        "cancelled",
    )
    assert view["error"]["message"].endswith("not taken back: undo:pay")


def test_why_a_run_is_not_moving_is_told_with_the_command_that_helps(server: Server, page: Page) -> None:
    start(
        server.client,
        "why",
        {"lift": {"kind": "noop", "requires": ["crane"]}, "b": {"kind": "noop", "needs": "lift"}},
    )
    look(page, "why", "?step=lift")
    why = page.get_by_label("Why is it not moving?")
    expect(why.get_by_role("status")).to_contain_text("waits for a worker that offers crane")
    expect(why.get_by_text("windlass worker --capabilities crane").first).to_be_visible()
    why.get_by_text("All reasons").click()
    expect(why.get_by_role("listitem")).to_have_count(2)
    panel = page.get_by_role("complementary", name="lift")
    expect(panel.get_by_role("heading", name="Waits for")).to_be_visible()
    check_accessible(page)


def test_a_parked_step_waits_on_the_overview_shows_its_evidence_and_is_released(
    mortal: Server, opened: OpenPage
) -> None:
    mortal.client.apply("poison", POISON, "application/yaml")
    mortal.client.start("poison", run_id="poison")
    wait_until(lambda: step_of(mortal.client, "poison", "a")["status"] == "queued")
    mortal.kill()
    park(mortal.data, "poison")
    mortal.start()
    page = opened(mortal.url)
    page.goto("/ui/")
    waiting = page.get_by_role("region", name="Waits for you", exact=True)
    expect(waiting.get_by_role("row").filter(has_text="poison")).to_contain_text("a parked step")
    waiting.get_by_role("link", name="Look and release… poison").click()
    panel = page.get_by_role("complementary", name="Step a")
    expect(panel.get_by_text("Worker w7 died.")).to_be_visible()
    check_accessible(page)
    panel.get_by_role("button", name="Release").click()
    dialog(page).get_by_role("button", name="Release").click()
    expect(panel.get_by_text("Worker w7 died.")).to_be_hidden()
    assert step_of(mortal.client, "poison", "a")["attempts"] == 2


def test_the_trace_of_an_error_the_child_run_and_items_are_in_the_panel(server: Server, page: Page) -> None:
    client = server.client
    client.apply("child", b"id: child\nsteps: {a: {kind: noop}}", "application/yaml")
    steps = {
        "below": {"kind": "workflow", "with": {"workflow": "child"}},
        "each": {
            "kind": "map",
            "with": {"over": [1, 2], "step": {"kind": "noop", "with": {"value": "${{ item }}"}}},
        },
        "bad": {
            "kind": "shell",
            "needs": ["below", "each"],
            "with": {"argv": ["sh", "-c", "echo broken >&2; exit 4"]},
        },
    }
    start(client, "panel", steps)
    ended(client, "panel")
    look(page, "panel", "?step=bad&tab=steps")
    panel = page.locator("aside")
    expect(panel.get_by_text("ExitCode").first).to_be_visible()
    expect(panel.locator(".trace pre").first).to_contain_text("broken")
    look(page, "panel", "?step=each[1]&tab=steps")
    expect(panel.get_by_text("item 1 of each")).to_be_visible()
    expect(panel.get_by_role("group", name="Output")).to_contain_text("2")
    panel.get_by_text("item 1 of each").click()
    expect(panel.get_by_text("2 of 2 ended, 0 failed")).to_be_visible()
    look(page, "panel", "?step=below&tab=steps")
    child = step_of(client, "panel", "below")["childRun"]
    panel.get_by_role("link", name=child).first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(child)


def test_a_reader_sees_everything_and_can_press_nothing(locked: Server, opened: OpenPage) -> None:
    operator = locked.token("operator")
    client = Client(locked.url, token=operator)
    start(client, "seen", {"ask": {"kind": "approval", "with": {"prompt": "Ship?"}}})
    page = opened(locked.url)
    page.goto("/ui/runs/seen?step=ask")
    sign_in(page, locked.token("read"))
    panel = page.get_by_role("complementary", name="ask")
    expect(panel.get_by_text("Ship?").first).to_be_visible()
    for name in ("Pause", "Signal …", "Cancel run"):
        expect(page.get_by_role("button", name=name)).to_be_disabled()
    for name in ("Approve", "Reject"):
        expect(panel.get_by_role("button", name=name)).to_be_disabled()
    page.get_by_role("button", name="Cancel run").click(force=True)
    expect(dialog(page)).to_be_hidden()
    check_accessible(page)
    client.close()
    page.context.clear_cookies()
    page.reload()
    sign_in(page, operator)
    panel.get_by_role("button", name="Approve").click()
    dialog(page).get_by_role("button", name="Approve").click()
    expect(panel.get_by_role("heading", name="Waits for approval")).to_be_hidden()


@pytest.mark.parametrize("query", ["?tab=logs", "?tab=events", "?tab=data", "?tab=steps&step=fetch"])
def test_the_parts_are_accessible_in_chinese_in_the_dark_and_fit_a_phone(
    server: Server, opened: OpenPage, query: str
) -> None:
    failing = 'echo "connecting to the shop, which takes its time as it is a long way"; echo no >&2; exit 3'
    client = server.client
    start(client, "phone", {"fetch": {"kind": "shell", "with": {"argv": ["sh", "-c", failing]}}})
    ended(client, "phone")
    page = opened(
        server.url,
        locale="zh-CN",
        color_scheme="dark",
        viewport={"width": 360, "height": 740},
        has_touch=True,
    )
    look(page, "phone", query)
    expect(page.locator(".rows, .grid.half, .step-panel .attempts").first).to_be_visible()
    check_accessible(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
