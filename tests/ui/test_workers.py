"""Workers as operators meet them: one connects, runs, is paused and drained; and how they are chosen."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.cli.engines import environment, windlass
from tests.ui.browser import WITHIN_MS, check_accessible, sign_in
from tests.ui.conftest import OpenPage, Server
from windlass.sdk.client import Client

LONG = {
    "id": "long",
    "steps": {"hold": {"kind": "shell", "with": {"command": "sleep 600"}, "requires": ["gpu"]}},
}
RARE = {
    "id": "rare",
    "steps": {
        "once": {
            "kind": "shell",
            "with": {"command": "true"},
            "requires": ["rare"],
            "assign": {"strategy": "load-balanced"},
        }
    },
}
SHORT = {"id": "short", "steps": {"once": {"kind": "noop", "with": {"value": 1}}}}
STOP_S = 30.0


@contextmanager
def a_worker(
    server: Server, name: str, folder: Path, *options: str, token: str = ""
) -> Iterator[subprocess.Popen[bytes]]:
    words = [*windlass(), "worker", "--connect", server.url, "--name", name, "--data", str(folder / name)]
    process = subprocess.Popen(
        [*words, "--slots", "2", *options],
        env=environment({"WINDLASS_TOKEN": token} if token else {}),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(STOP_S)


def start(server: Server, document: Mapping[str, object], run: str) -> None:
    name = str(document["id"])
    server.client.apply(name, json.dumps(document).encode(), "application/json")
    server.client.start(name, run_id=run)


def row(page: Page, worker: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("button", name=f"Details of {worker}"))


def tell(page: Page, order: str, worker: str) -> None:
    """Press the button, and say yes."""
    page.get_by_role("region", name=worker, exact=True).get_by_role("button", name=order).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"{order} {worker}?")
    dialog.get_by_role("button", name=order).click()
    expect(dialog).to_be_hidden()


def test_a_worker_comes_runs_something_is_paused_and_drained(
    server: Server, page: Page, tmp_path: Path
) -> None:
    page.goto("/ui/workers")
    host = server.url.partition("://")[2]
    expect(page.get_by_text(f"windlass worker --connect ws://{host}")).to_be_visible()
    with a_worker(server, "far", tmp_path, "--capabilities", "gpu,eu") as process:
        expect(row(page, "far")).to_contain_text("Online", timeout=WITHIN_MS * 2)
        start(server, LONG, "held")
        expect(row(page, "far").get_by_role("link", name="held · hold")).to_be_visible(timeout=WITHIN_MS)
        expect(row(page, "far")).to_contain_text("1 of 2 slots")
        page.get_by_role("button", name="Details of far").click()
        expect(page).to_have_url(re.compile(r"worker=far"))
        details = page.get_by_role("region", name="far", exact=True)
        expect(details).to_contain_text("eu · gpu")
        check_accessible(page)
        server.client.order("held", "cancel")
        expect(row(page, "far")).to_contain_text("0 of 2 slots", timeout=WITHIN_MS * 2)
        tell(page, "Pause", "far")
        expect(row(page, "far")).to_contain_text("Paused")
        tell(page, "Resume", "far")
        expect(row(page, "far")).to_contain_text("Online")
        tell(page, "Drain", "far")
        assert process.wait(STOP_S) == 0
    expect(
        page.get_by_text("There is no worker far any more.").or_(row(page, "far").get_by_text("Away"))
    ).to_be_visible(timeout=WITHIN_MS)


def test_a_worker_that_is_kicked_is_cut_off(server: Server, page: Page, tmp_path: Path) -> None:
    with a_worker(server, "bad", tmp_path) as process:
        page.goto("/ui/workers?worker=bad")
        expect(row(page, "bad")).to_contain_text("Online", timeout=WITHIN_MS * 2)
        tell(page, "Kick", "bad")
        assert process.wait(STOP_S) == 7


def test_who_is_chosen_far_down_comes_into_sight(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 300})
    page.goto("/ui/workers")
    button = page.get_by_role("button", name="Details of local")
    button.evaluate("button => (button.closest('td').style.height = '2000px')")  # as in a long list
    button.scroll_into_view_if_needed()
    button.click()
    expect(page.get_by_role("heading", level=2, name="local")).to_be_in_viewport()


def test_the_filters_are_in_the_address(page: Page) -> None:
    page.goto("/ui/workers?search=no-such-thing")
    expect(page.get_by_text("No worker is like that")).to_be_visible()
    page.get_by_label("Find", exact=True).fill("local")
    expect(row(page, "local")).to_be_visible()
    expect(page).to_have_url(re.compile(r"search=local"))
    page.get_by_label("State", exact=True).select_option("Paused")
    expect(page).to_have_url(re.compile(r"state=paused"))
    expect(row(page, "local")).to_be_hidden()


def test_the_strategy_is_changed_after_a_question_and_set_back(server: Server, page: Page) -> None:
    page.goto("/ui/workers")
    page.get_by_role("link", name="Strategy").click()
    expect(page.get_by_role("heading", level=1, name="Strategy")).to_be_focused()
    page.get_by_label("load-balanced The least busy one.").check()
    page.get_by_role("button", name="Change").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Choose workers by load-balanced from now on?")
    dialog.get_by_role("button", name="Not now").click()
    assert server.client.assignment()["strategy"] == "locality"
    page.get_by_role("button", name="Change").click()
    dialog.get_by_role("button", name="Change").click()
    now = page.get_by_role("region", name="Now", exact=True)
    expect(now).to_contain_text("load-balanced")
    assert server.client.assignment()["strategy"] == "load-balanced"
    check_accessible(page)
    page.get_by_role("button", name="As configured").click()
    dialog.get_by_role("button", name="As configured").click()
    expect(now).not_to_contain_text("load-balanced")
    assert server.client.assignment()["setBy"] is None


def test_a_strategy_that_does_not_exist_is_refused_with_the_reason(page: Page) -> None:
    page.goto("/ui/workers/strategy")
    page.get_by_role("radio", name=re.compile("module:function")).check()
    page.get_by_role("textbox", name="module:function").fill("nothing:here")
    page.get_by_role("button", name="Change").click()
    page.get_by_role("dialog").get_by_role("button", name="Change").click()
    expect(page.get_by_role("alert").first).to_contain_text("nothing")


def test_recent_choices_say_who_was_chosen_and_why(server: Server, page: Page) -> None:
    start(server, SHORT, "chosen-1")
    page.goto("/ui/workers/strategy")
    choices = page.get_by_role("region", name="Recent choices", exact=True)
    line = choices.get_by_role("row").filter(has_text="chosen-1")
    expect(line).to_contain_text("local")
    expect(line).to_contain_text("distance 0 (same node)")
    expect(line).to_contain_text("set for the cluster")
    expect(line).to_contain_text("The only one of 1 worker that could have it.")
    line.get_by_role("button", name="Why once went to local").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Why once went to local")
    expect(dialog).to_contain_text("locality")
    check_accessible(page)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    line.get_by_role("link", name="chosen-1").click()
    expect(page).to_have_url(re.compile("/ui/runs/chosen-1"))


def test_choices_come_as_they_are_made_and_are_found_by_worker_and_workflow(
    server: Server, page: Page, tmp_path: Path
) -> None:
    page.goto("/ui/workers/strategy")
    choices = page.get_by_role("region", name="Recent choices", exact=True)
    expect(choices).to_be_visible()
    with a_worker(server, "picked", tmp_path, "--capabilities", "rare"):
        start(server, RARE, "chosen-2")
        line = choices.get_by_role("row").filter(has_text="chosen-2")
        expect(line).to_contain_text("load-balanced", timeout=WITHIN_MS * 2)
        expect(line).to_contain_text("named by the step")
        expect(line).to_contain_text("The only one of 2 workers that could have it.")
        choices.get_by_label("Workflow").fill("no-such-workflow")
        expect(choices.get_by_text("No choice of late is like that.")).to_be_visible()
        expect(page).to_have_url("/ui/workers/strategy?workflow=no-such-workflow")
        choices.get_by_label("Workflow").fill("rare")
        choices.get_by_label("Worker").fill("picked")
        expect(page).to_have_url("/ui/workers/strategy?workflow=rare&worker=picked")
        line.get_by_role("link", name="picked").click()
        expect(page).to_have_url("/ui/workers?worker=picked")
        details = page.get_by_role("region", name="picked", exact=True)
        expect(details.get_by_role("row").filter(has_text="chosen-2")).to_contain_text("once")
        check_accessible(page)


def test_who_is_of_one_namespace_sees_the_choices_of_its_own_runs(locked: Server, opened: OpenPage) -> None:
    for space in ("ours", "theirs"):
        with Client(locked.url, token=locked.token("operator", "--namespace", space)) as client:
            client.apply("short", json.dumps(SHORT).encode(), "application/json")
            client.start("short", run_id=f"of-{space}")
    page = opened(locked.url)
    page.goto("/ui/workers/strategy")
    sign_in(page, locked.token("read", "--namespace", "ours"))
    expect(page.get_by_role("row").filter(has_text="of-ours")).to_be_visible()
    expect(page.get_by_text("of-theirs")).to_have_count(0)


@pytest.mark.parametrize("role", ["operator", "read"])
def test_who_is_no_admin_sees_workers_and_is_told_what_orders_take(
    locked: Server, opened: OpenPage, role: str, tmp_path: Path
) -> None:
    page = opened(locked.url)
    page.goto("/ui/workers")
    sign_in(page, locked.token(role, "--namespace", "*"))
    expect(page.get_by_text("windlass token create --role worker")).to_be_visible()
    token = locked.token("worker", "--namespace", "*")
    with a_worker(locked, f"of-{role}", tmp_path, token=token):
        page.get_by_role("button", name=f"Details of of-{role}").click(timeout=WITHIN_MS * 2)
        button = page.get_by_role("button", name="Drain")
        expect(button).to_have_attribute("aria-disabled", "true")
        expect(button).to_have_accessible_description(f"This needs the role admin; yours is {role}.")
    page.get_by_role("link", name="Strategy").click()
    expect(page.get_by_role("region", name="Now", exact=True)).to_contain_text("locality")
    expect(page.get_by_role("button", name="Change")).to_have_attribute("aria-disabled", "true")
    check_accessible(page)


def test_a_token_of_one_namespace_is_told_that_the_strategy_is_of_all(
    locked: Server, opened: OpenPage
) -> None:
    page = opened(locked.url)
    page.goto("/ui/workers/strategy")
    sign_in(page, locked.token("read", "--namespace", "reports"))
    expect(page.get_by_text("This is about all namespaces")).to_be_visible()
    expect(page.get_by_text("Nothing was given out yet")).to_be_visible()


def test_workers_in_chinese_fit_a_phone(server: Server, opened: OpenPage) -> None:
    page = opened(server.url, locale="zh-CN", viewport={"width": 360, "height": 740}, color_scheme="dark")
    page.goto("/ui/workers?worker=local")
    expect(page.get_by_role("heading", level=1, name="工作器")).to_be_visible()
    expect(page.get_by_text("请改为排空节点")).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    check_accessible(page)
    page.goto("/ui/workers/strategy")
    expect(page.get_by_role("heading", level=1, name="策略")).to_be_visible()
    expect(page.get_by_role("button", name="更改")).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    check_accessible(page)


def test_the_worker_inside_a_node_shows_how_it_does_and_takes_no_orders(server: Server, page: Page) -> None:
    start(server, SHORT, "own-1")
    page.goto("/ui/workers?worker=local")
    own = page.get_by_role("region", name="local", exact=True)
    expect(own).to_contain_text("100 % of")
    expect(own).to_contain_text("takes no orders of its own")
    for order in ("Pause", "Drain", "Kick"):
        expect(own.get_by_role("button", name=order)).to_have_count(0)
    check_accessible(page)
    own.get_by_role("link", name="To the nodes").click()
    expect(page).to_have_url("/ui/cluster")
