"""A run is started by the form that is made from the inputs of its workflow."""

import re

from playwright.sync_api import Page, expect

from tests.ui.browser import check_accessible
from tests.ui.conftest import Server
from tests.ui.test_workflows import PLAIN, REPORT, save


def test_the_first_mistake_of_a_form_has_the_keyboard(server: Server, page: Page) -> None:
    many = "".join(f"  more-{each}: {{type: string, default: x}}\n" for each in range(30))
    save(server, "long-form", f"inputs:\n  day: {{type: string, required: true}}\n{many}{PLAIN}")
    page.goto("/ui/workflows/long-form?tab=start")
    form = page.get_by_role("tabpanel")
    start = form.get_by_role("button", name="Start a run")
    start.click()
    day = form.get_by_label("day", exact=False).first
    expect(day).to_be_focused()
    expect(day).to_be_in_viewport()
    plain, wrong = (
        field.evaluate("field => getComputedStyle(field).borderColor")
        for field in (form.get_by_label("more-0"), day)
    )
    assert plain != wrong
    day.fill("today")
    form.get_by_text("Run id and labels").click()
    form.get_by_label("Labels").fill("none")
    form.get_by_text("Run id and labels").click()
    expect(form.get_by_label("Labels")).to_be_hidden()
    start.click()
    expect(form.get_by_label("Labels")).to_be_focused()  # what was folded away is open again


def test_texts_of_many_lines_and_numbers_of_many_digits_reach_the_run_as_they_are(
    server: Server, page: Page
) -> None:
    save(
        server,
        "exact",
        r"""
inputs:
  note: {type: string, default: "one\ntwo"}
  more: {type: string}
  order: {type: integer, required: true}
  list: {type: list}
steps:
  a: {kind: noop, with: {value: "${{ inputs.order }}"}}
""",
    )
    page.goto("/ui/workflows/exact?tab=start")
    form = page.get_by_role("tabpanel")
    expect(form.get_by_label("note")).to_have_value("one\ntwo")
    form.get_by_label("more").evaluate(
        """field => {
          const data = new DataTransfer();
          data.setData("text/plain", "three\\nfour");
          const paste = {clipboardData: data, bubbles: true, cancelable: true};
          field.dispatchEvent(new ClipboardEvent("paste", paste));
        }"""
    )
    expect(form.get_by_label("more")).to_have_value("three\nfour")
    expect(form.get_by_label("more")).to_be_focused()
    form.get_by_label("order").fill("1234567890123456789")
    form.get_by_label("list").fill("[9007199254740993, 0.5]")
    form.get_by_text("Run id and labels").click()
    form.get_by_label("Run id").fill("exact-1")
    form.get_by_role("button", name="Start a run").click()
    expect(page).to_have_url("/ui/runs/exact-1")
    assert server.client.run("exact-1")["input"] == {
        "note": "one\ntwo",
        "more": "three\nfour",
        "order": 1234567890123456789,
        "list": [9007199254740993, 0.5],
    }
    page.goto("/ui/runs/exact-1?tab=data")
    data = page.get_by_role("tabpanel")
    expect(data.get_by_text("1234567890123456789")).to_have_count(2)  # given, and what came of it
    expect(data.get_by_text("9007199254740993")).to_be_visible()


def test_a_field_that_is_emptied_says_what_holds_then(server: Server, page: Page) -> None:
    save(
        server,
        "presets",
        "inputs: {who: {type: string, default: world}, how: {enum: [a, b], default: b}}\n" + PLAIN,
    )
    page.goto("/ui/workflows/presets?tab=start")
    form = page.get_by_role("tabpanel")
    form.get_by_label("who").fill("")
    expect(form.get_by_label("who")).to_have_attribute("placeholder", "world")
    expect(form.get_by_label("how").locator("option").first).to_have_text("not given: b")


def test_a_run_is_started_by_the_form_once_its_fields_fit(server: Server, page: Page) -> None:
    save(server, "formed", REPORT)
    page.goto("/ui/workflows/formed?tab=start")
    form = page.get_by_role("tabpanel")
    day = form.get_by_label("day", exact=False).first
    start = form.get_by_role("button", name="Start a run")
    start.click()
    expect(form.get_by_role("alert")).to_have_text("This is needed.")
    day.fill("tomorrow")
    expect(form.get_by_role("alert")).to_contain_text("Has to match")
    day.fill("2026-01-02")
    form.get_by_label("count").fill("11")
    expect(form.get_by_role("alert")).to_have_text("At most 10.")
    check_accessible(page)
    form.get_by_label("count").fill("5")
    form.get_by_label("mode").select_option("full")
    form.get_by_text("Run id and labels").click()
    form.get_by_label("Run id").fill("formed 1")
    form.get_by_label("Labels").fill("team=apples")
    start.click()
    expect(form.locator("p.fault")).to_contain_text("letters, digits")  # the server's word, at its field
    form.get_by_label("Run id").fill("formed-1")
    start.click()
    expect(page).to_have_url("/ui/runs/formed-1")
    run = server.client.run("formed-1")
    assert run["input"] == {"day": "2026-01-02", "count": 5, "mode": "full"}
    assert run["labels"] == {"team": "apples"}


def test_a_workflow_without_inputs_takes_any_json(server: Server, page: Page) -> None:
    save(server, "anything", PLAIN)
    page.goto("/ui/workflows/anything?tab=start")
    editor = page.get_by_role("textbox", name="Input")
    editor.click()
    page.keyboard.insert_text("{broken")
    start = page.get_by_role("tabpanel").get_by_role("button", name="Start a run")
    start.click()
    expect(page.get_by_role("alert")).to_have_text("This is no JSON.")
    check_accessible(page)
    page.keyboard.press("Shift+Tab")
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text('{"a": [1, 2]}')
    start.click()
    expect(page).to_have_url(re.compile("/ui/runs/"))
    run = server.client.run(page.url.rpartition("/")[2])
    assert run["input"] == {"a": [1, 2]}
