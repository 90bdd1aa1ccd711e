"""The playground: a program is written, run under limits, watched, cancelled; and who may do that."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.ui.browser import check_accessible, sign_in
from tests.ui.conftest import OpenPage, Server, serving
from windlass.core.code_step import PROTECTIONS
from windlass.sdk.client import Client

SUM = "import sys\nprint('sum', sum(int(line) for line in sys.stdin))\nprint('careful', file=sys.stderr)"
LOOKED_FOR_MS = 60_000.0  # languages are found a moment after the server is ready
ENDLESS = "echo here; while :; do sleep 1; done"

Entering = Callable[..., Page]


@pytest.fixture(scope="module")
def coding(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With a login, and languages: in a sandbox where one works."""
    data = tmp_path_factory.mktemp("coding") / "data"
    code = {"WINDLASS_NO_CODE": "false"}
    with serving(data, "--login", "--allow-unsandboxed", env=code) as started:
        yield started


@pytest.fixture(scope="module")
def tokens(coding: Server) -> dict[str, str]:
    return {
        role: coding.token(role, *(() if role == "admin" else ("--namespace", "default")))
        for role in ("admin", "operator", "submit", "read")
    }


@pytest.fixture
def enter(coding: Server, tokens: dict[str, str], opened: OpenPage) -> Entering:
    """The playground as seen with a role, with its editor there."""

    def entered(role: str, **options: object) -> Page:
        page = opened(coding.url, **options)
        page.goto("/ui/tasks")
        sign_in(page, tokens[role])
        expect(page.get_by_role("textbox", name="Program")).to_be_visible(timeout=LOOKED_FOR_MS)
        return page

    return entered


def write(page: Page, language: str, code: str) -> None:
    page.get_by_role("main").get_by_label("Language").first.select_option(language)
    page.get_by_role("textbox", name="Program").click()
    page.keyboard.press(
        "Control+a"
    )  # the editor's own selection: it outlives the words of a language that comes
    page.keyboard.insert_text(code)


def run(page: Page) -> None:
    page.get_by_role("button", name="Run", exact=True).click()


def card(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def test_a_program_is_run_and_its_output_and_what_the_sandbox_held_are_shown(
    coding: Server, tokens: dict[str, str], enter: Entering
) -> None:
    page = enter("operator")
    write(page, "python", SUM)
    page.get_by_label("Input (stdin)").fill("20\n22\n")
    run(page)
    log = page.get_by_role("log", name="Output")
    expect(log).to_contain_text("sum 42")
    expect(log).to_contain_text("stderr careful")
    result = card(page, "Result")
    expect(result.get_by_text("Exit code").locator("xpath=..")).to_have_text("Exit code0")
    check_accessible(page)
    href = result.get_by_role("link", name="Open as a run").get_attribute("href")
    assert href is not None
    with Client(coding.url, token=tokens["read"]) as client:
        task = client.run(href.rpartition("/")[2])["steps"][0]["output"]
    held = card(page, "What the sandbox held")
    if task["tier"] is not None:
        expect(held).to_contain_text(task["tier"])
    told = [line.split()[1] for line in held.get_by_role("listitem").all_inner_texts()]
    assert told == ["yes" if task["protections"][name] else "no" for name in PROTECTIONS]


def test_output_comes_while_the_program_runs_and_it_can_be_cancelled(enter: Entering) -> None:
    page = enter("operator")
    write(page, "bash", ENDLESS)
    run(page)
    expect(page.get_by_role("log", name="Output")).to_contain_text("here")
    expect(card(page, "Output").get_by_text("Running")).to_be_visible()
    check_accessible(page)
    page.get_by_role("button", name="Cancel the task").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Cancel this task?")
    dialog.get_by_role("button", name="Not now").click()
    expect(card(page, "Output").get_by_text("Running")).to_be_visible()
    page.get_by_role("button", name="Cancel the task").click()
    dialog.get_by_role("button", name="Cancel the task").click()
    expect(card(page, "Output").get_by_text("Cancelled")).to_be_visible()
    expect(page.get_by_role("log", name="Output")).to_contain_text("here")
    expect(page.get_by_role("button", name="Cancel the task")).to_be_hidden()


def test_a_program_that_fails_says_how(enter: Entering) -> None:
    page = enter("operator")
    write(page, "bash", "echo once; exit 3")
    page.get_by_role("textbox", name="Program").press("Control+Enter")
    result = card(page, "Result")
    expect(result).to_contain_text("exited with 3")
    expect(result.get_by_text("Exit code").locator("xpath=..")).to_have_text("Exit code3")
    expect(card(page, "Output").get_by_text("Failed")).to_be_visible()


def test_a_limit_that_is_reached_is_named(enter: Entering) -> None:
    page = enter("operator")
    write(page, "bash", ENDLESS)
    page.get_by_text("Limits", exact=True).click()
    page.get_by_label("Time", exact=True).fill("1s")
    run(page)
    expect(card(page, "Result")).to_contain_text("It reached a limit: Time.")
    expect(card(page, "Output").get_by_text("Timed out")).to_be_visible()


def test_a_mistake_in_the_limits_is_shown_at_its_field_with_what_to_do(enter: Entering) -> None:
    page = enter("operator")
    write(page, "bash", "echo x")
    page.get_by_text("Limits", exact=True).click()
    page.get_by_label("Time", exact=True).fill("soon")
    run(page)
    expect(page.get_by_label("Time", exact=True)).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("Change what is named here, and run it again. (42201)")).to_be_visible()
    check_accessible(page)
    page.get_by_label("Time", exact=True).fill("5s")
    run(page)
    expect(page.get_by_role("log", name="Output")).to_contain_text("x")
    expect(page.get_by_text("(42201)")).to_be_hidden()


def test_recent_tasks_are_filtered_by_the_address_and_lead_to_their_page(enter: Entering) -> None:
    page = enter("operator")
    write(page, "bash", "echo to be found; exit 4")
    run(page)
    expect(card(page, "Result")).to_contain_text("exited with 4")
    recent = card(page, "Recent tasks")
    search = recent.get_by_role("searchbox", name="Id begins with")
    search.fill("nothing-begins-so")
    expect(page).to_have_url(re.compile("search=nothing-begins-so"))
    expect(recent.get_by_text("No task is like that")).to_be_visible()
    search.fill("task_")
    expect(recent.get_by_role("row").filter(has_text="exited with 4").first).to_be_visible()
    search.fill("")
    expect(page).not_to_have_url(re.compile("search="))
    recent.get_by_label("Status").select_option("Failed")
    recent.get_by_label("Language").select_option("bash")
    expect(page).to_have_url(re.compile(r"status=failed&of=bash"))
    page.reload()
    row = recent.get_by_role("row").filter(has_text="exited with 4").first
    expect(recent.get_by_label("Status")).to_have_value("failed")
    expect(row).to_be_visible()
    expect(recent.get_by_role("cell", name="Completed")).to_have_count(0)
    row.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Task task_")
    expect(page.get_by_role("log", name="Output")).to_contain_text("to be found")
    check_accessible(page)
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_what_was_written_is_there_again_after_a_reload_until_it_is_thrown_away(enter: Entering) -> None:
    page = enter("operator")
    write(page, "lua" if page.get_by_role("option", name="lua").count() else "bash", "# mine")
    page.reload()
    expect(page.get_by_role("textbox", name="Program")).to_have_text("# mine")
    page.get_by_role("button", name="Start over").click()
    page.get_by_role("dialog").get_by_role("button", name="Throw it away").click()
    expect(page.get_by_role("textbox", name="Program")).not_to_contain_text("mine")


def test_who_may_only_look_is_told_what_running_takes(enter: Entering) -> None:
    page = enter("read")
    button = page.get_by_role("button", name="Run", exact=True)
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(button).to_have_accessible_description("This needs the role submit; yours is read.")
    expect(page.locator(".note")).to_have_text("This needs the role submit; yours is read.")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method))
    page.get_by_role("textbox", name="Program").click()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_have_count(0)
    check_accessible(page)
    assert "POST" not in sent


def test_who_may_start_but_not_operate_cannot_cancel(
    coding: Server, tokens: dict[str, str], enter: Entering
) -> None:
    page = enter("submit")
    write(page, "bash", ENDLESS)
    run(page)
    expect(page.get_by_role("log", name="Output")).to_contain_text("here")
    button = page.get_by_role("button", name="Cancel the task")
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(button).to_have_accessible_description("This needs the role operator; yours is submit.")
    with Client(coding.url, token=tokens["operator"]) as client:
        client.order(client.runs()["items"][0]["id"], "cancel")
    expect(card(page, "Output").get_by_text("Cancelled")).to_be_visible()


def test_the_playground_speaks_chinese_in_the_dark(enter: Entering) -> None:
    page = enter("operator", color_scheme="dark")
    page.get_by_role("banner").get_by_label("Language").select_option("中文")
    expect(page.get_by_role("button", name="运行", exact=True)).to_be_visible()
    expect(page.get_by_role("textbox", name="程序")).to_be_visible()
    check_accessible(page)


def test_where_nobody_runs_programs_the_page_says_what_to_do(page: Page, server: Server) -> None:
    page.goto("/ui/tasks")
    expect(page.get_by_text("No worker runs programs here yet")).to_be_visible()
    expect(page.get_by_text("windlass doctor")).to_be_visible()
    expect(
        page.get_by_text(f"windlass worker --connect ws://{server.url.partition('://')[2]}")
    ).to_be_visible()
    check_accessible(page)
