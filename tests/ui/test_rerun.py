"""A run is run again: from a step, with another input, with results that somebody gives."""

from playwright.sync_api import Page, expect

from tests.ui.browser import check_accessible
from tests.ui.conftest import Server
from tests.ui.test_run_actions import dialog, ended, look, start, write


def test_a_run_is_rerun_from_a_step_with_an_edited_input(server: Server, page: Page) -> None:
    steps = {
        "first": {"kind": "noop", "with": {"value": "${{ inputs.day }}"}},
        "second": {"kind": "noop", "needs": "first", "with": {"value": "${{ inputs.day }}"}},
    }
    inputs = {"day": {"type": "string", "required": True}, "much": {"type": "integer", "default": 3}}
    start(server.client, "rerun", steps, {"day": "monday"}, inputs=inputs)
    ended(server.client, "rerun")
    look(page, "rerun")
    page.get_by_role("button", name="Rerun …").click()
    dialog(page).get_by_label("From steps that I choose").check()
    dialog(page).get_by_role("button", name="Run again").click()
    expect(dialog(page).get_by_role("alert")).to_contain_text("Choose at least one step")
    dialog(page).get_by_role("group", name="Steps to run from").get_by_label("second").check()
    expect(dialog(page).get_by_text("1 of 2 steps run again")).to_be_visible()
    dialog(page).get_by_label("Another one").check()
    dialog(page).get_by_label("day").fill("tuesday")
    check_accessible(page)
    dialog(page).get_by_role("button", name="Run again").click()
    expect(page.get_by_role("heading", level=1)).not_to_have_text("rerun")
    new = page.url.rpartition("/")[2].partition("?")[0]
    view = ended(server.client, new)
    assert (view["rerunOf"], view["input"]) == ("rerun", {"day": "tuesday", "much": 3})
    by_name = {step["id"]: step for step in view["steps"]}
    assert (by_name["first"]["kept"], by_name["first"]["output"]) == ("run", "monday")
    assert (by_name["second"]["kept"], by_name["second"]["output"]) == (None, "tuesday")


def test_everything_runs_again_where_a_step_has_a_fallback(server: Server, page: Page) -> None:
    steps = {
        "try": {
            "kind": "shell",
            "with": {"argv": ["sh", "-c", "exit 3"]},
            "on_failure": {"fallback": "spare"},
        },
        "spare": {"kind": "noop", "with": {"value": 9}},
        "after": {"kind": "noop", "needs": "try"},
    }
    start(server.client, "spared", steps)
    ended(server.client, "spared")
    look(page, "spared", "?step=try")
    graph = page.get_by_role("group", name="Graph of the steps")
    expect(graph.get_by_label("try → spare")).to_be_attached()
    panel = page.get_by_role("complementary", name="Step try")
    expect(panel.get_by_role("button", name="spare", exact=True)).to_be_visible()
    page.get_by_role("button", name="Rerun …").click()
    dialog(page).get_by_label("From steps that I choose").check()
    expect(dialog(page).get_by_role("group", name="Steps to run from").get_by_role("listitem")).to_have_count(
        2
    )
    dialog(page).get_by_label("Everything").check()
    dialog(page).get_by_role("button", name="Run again").click()
    expect(page.get_by_role("heading", level=1)).not_to_have_text("spared")
    new = page.url.rpartition("/")[2].partition("?")[0]
    assert ended(server.client, new)["rerunOf"] == "spared"


def test_a_rerun_takes_an_input_as_json_and_a_result_that_somebody_gives(server: Server, page: Page) -> None:
    steps = {
        "fetch": {"kind": "shell", "with": {"argv": ["sh", "-c", "exit 3"]}},
        "store": {"kind": "noop", "needs": "fetch", "with": {"value": "${{ steps.fetch.output }}"}},
    }
    start(server.client, "patch", steps, {"n": 1})
    ended(server.client, "patch")
    look(page, "patch")
    page.get_by_role("button", name="Rerun …").click()
    dialog(page).get_by_label("Another one").check()
    write(page, "Input as JSON", '{"n": 2}')
    dialog(page).get_by_text("Replace or skip results").click()
    dialog(page).get_by_role("button", name="Replace a result").click()
    dialog(page).get_by_label("Step", exact=True).select_option("fetch")
    dialog(page).get_by_label("Its result (JSON)").fill('{"rows": 7}')
    dialog(page).get_by_role("button", name="Run again").click()
    expect(dialog(page)).to_be_hidden()
    expect(page).not_to_have_url("/ui/runs/patch")
    view = ended(server.client, page.url.rpartition("/")[2].partition("?")[0])
    assert (view["status"], view["input"], view["output"]) == ("succeeded", {"n": 2}, {"store": {"rows": 7}})
