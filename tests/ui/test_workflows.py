"""Workflows: found, read, started by a form, scheduled, changed by one editor at a time, and deleted."""

import re

import msgspec
from playwright.sync_api import Page, expect

from tests.ui.browser import check_accessible, sign_in
from tests.ui.conftest import OpenPage, Server

REPORT = r"""
description: Writes a report of one day.
inputs:
  day: {type: string, required: true, pattern: '\d{4}-\d\d-\d\d', description: Which day}
  count: {type: integer, default: 3, min: 1, max: 10}
  mode: {enum: [fast, full], default: fast}
steps:
  load: {kind: noop, with: {value: "${{ inputs.day }}"}}
  check: {kind: noop, needs: [load], when: inputs.count > 1}
  write: {kind: noop, needs: [load, check], with: {value: "#1: ${{ inputs.mode }}"}}
"""
PLAIN = "steps: {only: {kind: noop}}\n"
TRICKY = r"""
steps:
  odd:
    kind: noop
    with:
      value:
        texts: ["yes", "1e3", "0x1F", "2026-01-01", "null", "", " a", "a: b", "- a", "a #b", "é世界", "~"]
        signs: ["'", '"', '\d "x"', "@x", "!x", "%x", "`"]
        lines: "one\n  two\n\nthree\n"
        ends: ["a\n\n", "a\n", "\n", "a \nb", "\ta\nb", "a\u0085b", "a\u2028b"]
        deep: [[1, [2]], {a: [{b: {}}, []], "x y": null, "on": true}]
        numbers: [1, -2.5, 1.0e+21, 0.1]
"""


def save(server: Server, id: str, rest: str) -> None:
    server.client.apply(id, f"id: {id}\n{rest}".encode(), "application/yaml")


def tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()


def write(page: Page, text: str) -> None:
    """All of the editor's text anew, without what the editor adds to typed brackets."""
    editor = page.get_by_role("textbox", name="Workflow document, YAML")
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def test_workflows_are_found_by_what_is_known_of_them(server: Server, page: Page) -> None:
    save(server, "find-me", "description: Counts the apples.\nschedule: '@daily'\n" + PLAIN)
    save(server, "not-me", PLAIN)
    server.client.start("find-me", run_id="find-me-1")
    page.goto("/ui/workflows")
    expect(page.get_by_role("link", name="not-me")).to_be_visible()
    page.get_by_role("searchbox", name="Search").fill("APPLES")
    expect(page).to_have_url("/ui/workflows?search=APPLES")
    expect(page.get_by_role("link", name="not-me")).to_be_hidden()
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="find-me", exact=True))
    expect(row).to_contain_text("Succeeded")
    expect(row.get_by_role("cell").last.locator("time")).to_be_visible()
    check_accessible(page)
    row.get_by_role("link", name="find-me", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="find-me")).to_be_visible()


def test_workflows_come_page_by_page_with_one_request_for_each(server: Server, page: Page) -> None:
    headers = {"X-Windlass-Namespace": "shelf"}
    for each in range(60):
        document = {"id": f"w-{each:02}", "steps": {"a": {"kind": "noop"}}}
        page.request.post("/api/v1/workflows", data=document, headers=headers)
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/ui/workflows?namespace=shelf")
    table = page.get_by_role("table", name="Workflows")
    expect(table.locator("tbody tr")).to_have_count(50)
    page.get_by_role("button", name="Show more").click()
    expect(table.locator("tbody tr")).to_have_count(60)
    assert not [url for url in asked if "/api/v1/runs" in url or "/api/v1/schedules" in url]
    page.get_by_role("searchbox", name="Search").fill("w-5 nobody")
    expect(page.get_by_text("No workflow has “w-5 nobody”")).to_be_visible()
    page.get_by_role("searchbox", name="Search").fill("w-5")
    expect(table.locator("tbody tr")).to_have_count(10)


def test_the_graph_shows_steps_and_what_they_need(server: Server, page: Page) -> None:
    save(server, "graphed", REPORT)
    page.goto("/ui/workflows/graphed")
    graph = page.get_by_role("group", name="Steps, and what needs what")
    expect(graph.locator(".step-box")).to_have_count(3)
    expect(graph.locator(".react-flow__edge")).to_have_count(3)
    graph.get_by_text("write").click()
    expect(page.get_by_role("table").locator("mark")).to_have_text("write")
    expect(page.get_by_role("row", name=re.compile("^check"))).to_contain_text("inputs.count > 1")
    check_accessible(page)


def test_the_graph_leads_from_a_switch_to_what_it_names_and_from_a_step_to_its_fallback(
    server: Server, page: Page
) -> None:
    save(
        server,
        "routed",
        """
steps:
  route: {kind: switch, with: {cases: [{when: "${{ true }}", then: big}], default: [small]}}
  big: {kind: noop, on_failure: {fallback: spare}}
  small: {kind: noop}
  spare: {kind: noop}
""",
    )
    page.goto("/ui/workflows/routed")
    graph = page.get_by_role("group", name="Steps, and what needs what")
    for line in ("route → big", "route → small", "big → spare"):
        expect(graph.get_by_label(line)).to_be_attached()
    expect(graph.locator(".line.fallback")).to_have_count(1)
    expect(page.get_by_role("row", name=re.compile("^small"))).to_contain_text("route")


def test_a_schedule_is_set_paused_triggered_and_deleted(server: Server, page: Page) -> None:
    save(server, "timed", PLAIN)
    page.goto("/ui/workflows/timed?tab=schedule")
    expect(page.get_by_text("It begins only when somebody starts it")).to_be_visible()
    page.get_by_role("button", name="Add a schedule").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Cron expression").fill("99 8 * * *")
    expect(dialog.get_by_role("alert")).to_contain_text("'99' at character 1 is no minute")
    dialog.get_by_label("Cron expression").fill("30 8 * * *")
    dialog.get_by_label("Time zone").fill("UTC")
    expect(dialog.locator("time")).to_have_count(5)
    expect(dialog.locator("time").first).to_contain_text("16:30:00")  # as Shanghai tells it
    check_accessible(page)
    dialog.get_by_role("button", name="Save the schedule").click()
    expect(page.get_by_text("30 8 * * *")).to_be_visible()
    expect(page.locator(".times time")).to_have_count(5)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("it does not begin by itself")).to_be_visible()
    page.get_by_role("button", name="Trigger now").click()
    expect(page.get_by_text(re.compile("Run .* has begun"))).to_be_visible()
    expect(page.get_by_text("1 begun, 0 skipped")).to_be_visible()
    check_accessible(page)
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".times time")).to_have_count(5)
    page.get_by_role("tabpanel").get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("It begins only when somebody starts it")).to_be_visible()


def test_a_backfill_says_which_times_before_it_runs_them(server: Server, page: Page) -> None:
    save(
        server, "filled", "schedule: {cron: '0 12 * * *', timezone: Asia/Shanghai, enabled: false}\n" + PLAIN
    )
    page.goto("/ui/workflows/filled?tab=schedule")
    page.get_by_role("button", name="Backfill").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("From").fill("2026-01-01T00:00")
    dialog.get_by_label("To", exact=True).fill("2026-01-04T00:00")
    dialog.get_by_role("button", name="Show the times").click()
    expect(dialog.locator("time")).to_have_count(3)
    check_accessible(page)
    dialog.get_by_role("button", name="Start 3 runs").click()
    expect(page.get_by_text("3 runs begin")).to_be_visible()
    tab(page, "Runs")
    expect(page.get_by_role("link", name=re.compile("^filled:"))).to_have_count(3)


def test_mistakes_are_marked_where_they_stand(server: Server, page: Page) -> None:
    page.goto("/ui/new-workflow")
    expect(page.get_by_text("No mistakes")).to_be_visible()
    write(page, "id: broken\nsteps:\n  a: {kind: nop}\n  b: {kind: noop, needs: [zz]}\nbogus: 1\n")
    expect(page.get_by_text("3 mistakes")).to_be_visible()
    faults = page.get_by_role("list", name="Mistakes").get_by_role("listitem")
    expect(faults.nth(0)).to_contain_text("Line 3: expected one of")
    expect(faults.nth(1)).to_contain_text("Line 4: no step is named `zz`")
    expect(faults.nth(2)).to_contain_text("Line 5: unknown key `bogus`")
    marked = page.locator(".cm-lintRange-error")
    expect(marked).to_have_text(["nop", "zz", "1"])
    check_accessible(page)
    page.get_by_role("button", name="Create").click()
    expect(page).to_have_url("/ui/new-workflow")
    write(page, "id: mended\nsteps:\n  a: {kind: noop}\n")
    expect(page.get_by_text("No mistakes")).to_be_visible()
    expect(marked).to_have_count(0)
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", level=1, name="mended")).to_be_visible()
    assert server.client.workflow("mended")["steps"] == {"a": {"kind": "noop"}}


def test_what_is_saved_is_a_version_that_can_be_compared_and_taken_up_again(
    server: Server, page: Page
) -> None:
    save(server, "changed", REPORT)
    page.goto("/ui/workflows/changed?tab=edit")
    expect(page.get_by_text("No mistakes")).to_be_visible()
    write(page, "id: changed\nsteps:\n  load:\n    kind: noop\n  more:\n    kind: noop\n")
    tab(page, "Graph")
    tab(page, "Edit")  # what was written stays
    page.get_by_role("button", name="Save as a new version").click()
    expect(page.get_by_text("Version 2 was saved")).to_be_visible()
    tab(page, "Versions")
    diff = page.get_by_role("region", name="From version 1 to version 2")
    expect(diff.locator("tr.new").filter(has_text="more:")).to_have_count(1)
    gone = diff.locator("tr.gone").filter(has_text="description: Writes a report of one day.")
    expect(gone).to_have_count(1)
    check_accessible(page)
    page.get_by_role("button", name="Changes of version 1").click()
    page.get_by_role("button", name="Edit version 1 anew").click()
    page.get_by_role("button", name="Save as a new version").click()
    expect(page.get_by_text("Version 3 was saved")).to_be_visible()
    third, first = (server.client.workflow("changed", version=version) for version in (3, 1))
    assert third["steps"] == first["steps"]


def test_what_is_written_stays_while_other_pages_are_looked_at(server: Server, page: Page) -> None:
    save(server, "unsaved", PLAIN)
    page.goto("/ui/workflows/unsaved?tab=edit")
    write(page, f"id: unsaved\ndescription: half of it\n{PLAIN}")
    expect(page.get_by_text("not saved yet")).to_be_visible()
    page.get_by_role("link", name="Runs", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Runs")).to_be_visible()
    asks = "() => !window.dispatchEvent(new Event('beforeunload', {cancelable: true}))"
    assert page.evaluate(asks), "the browser would close the page without a word"
    page.go_back()
    editor = page.get_by_role("textbox", name="Workflow document, YAML")
    expect(editor).to_contain_text("half of it")
    page.get_by_role("button", name="Cancel").click()
    expect(editor).not_to_contain_text("half of it")
    assert not page.evaluate(asks)
    page.get_by_role("link", name="Workflows", exact=True).first.click()
    page.get_by_role("button", name="New workflow").click()
    write(page, "id: begun\n")
    page.get_by_role("link", name="Overview").click()
    expect(page.get_by_role("heading", level=1, name="Overview")).to_be_visible()
    page.go_back()
    expect(editor).to_contain_text("id: begun")


def test_two_editors_do_not_overwrite_each_other(server: Server, page: Page) -> None:
    save(server, "shared", "description: one\n" + PLAIN)
    page.goto("/ui/workflows/shared?tab=edit")
    expect(page.get_by_text("No mistakes")).to_be_visible()
    save(server, "shared", "description: theirs\n" + PLAIN)
    write(page, "id: shared\ndescription: mine\n" + PLAIN)
    page.get_by_role("button", name="Save as a new version").click()
    conflict = page.get_by_role("alert").filter(has_text="Somebody else has saved meanwhile.")
    expect(conflict.locator("tr.gone")).to_contain_text("description: theirs")
    expect(conflict.locator("tr.new")).to_contain_text("description: mine")
    check_accessible(page)
    assert server.client.workflow("shared")["description"] == "theirs"
    conflict.get_by_role("button", name="Save mine over version 2").click()
    expect(page.get_by_text("Version 3 was saved")).to_be_visible()
    assert server.client.workflow("shared")["description"] == "mine"


def test_a_document_comes_out_of_the_editor_as_it_went_in(server: Server, page: Page) -> None:
    save(server, "tricky-text", TRICKY)
    before = server.client.workflow("tricky-text")["steps"]
    as_json = msgspec.json.encode({"id": "tricky", "steps": before})
    server.client.apply("tricky", as_json, "application/json")  # so that the page has to write it
    page.goto("/ui/workflows/tricky?tab=edit")
    expect(page.get_by_text("No mistakes")).to_be_visible()
    editor = page.get_by_role("textbox", name="Workflow document, YAML")
    editor.click()
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text("description: the same\n")
    page.keyboard.press("Control+s")
    expect(page.get_by_text("Version 2 was saved")).to_be_visible()
    assert server.client.workflow("tricky")["steps"] == before


def test_comments_are_still_there_when_the_editor_is_opened_again(server: Server, page: Page) -> None:
    save(server, "told", "# who to ask: the night shift\n" + PLAIN)
    page.goto("/ui/workflows/told?tab=edit")
    editor = page.get_by_role("textbox", name="Workflow document, YAML")
    expect(editor).to_contain_text("# who to ask: the night shift")
    editor.click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("# nothing to do yet\n")
    page.keyboard.press("Control+s")
    expect(page.get_by_text("Version 2 was saved")).to_be_visible()
    page.reload()
    expect(editor).to_contain_text("# nothing to do yet")
    tab(page, "Versions")
    diff = page.get_by_role("region", name="From version 1 to version 2")
    expect(diff.locator("tr.new")).to_contain_text("# nothing to do yet")


def test_a_workflow_is_deleted_after_it_was_asked_once(server: Server, page: Page) -> None:
    save(server, "doomed", PLAIN)
    page.goto("/ui/workflows/doomed")
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog", name="Delete the workflow doomed?")
    check_accessible(page)
    dialog.get_by_role("button", name="Delete").click()
    expect(page).to_have_url("/ui/workflows")
    expect(page.get_by_role("link", name="doomed")).to_be_hidden()


def test_who_may_only_read_is_told_why_nothing_can_be_changed(locked: Server, opened: OpenPage) -> None:
    page = opened(locked.url)
    page.goto("/ui/workflows")
    sign_in(page, locked.token("read"))
    expect(page.get_by_text("There is no workflow yet")).to_be_visible()
    button = page.get_by_role("button", name="New workflow")
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(button).to_have_attribute("title", re.compile("needs the role operator"))


def test_every_part_fits_a_phone_and_speaks_chinese(server: Server, opened: OpenPage) -> None:
    save(server, "narrow", "schedule: {cron: '@daily', input: {day: 2026-01-31}}\n" + REPORT)
    page = opened(server.url, locale="zh-CN", color_scheme="dark", viewport={"width": 360, "height": 740})
    page.goto("/ui/workflows/narrow")
    expect(page.get_by_role("tab")).to_have_count(6)
    expect(page.get_by_role("tab", name="版本")).to_be_visible()
    for chosen in page.get_by_role("tab").all():
        chosen.click()
        expect(page.get_by_role("tabpanel").locator("> *").first).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        check_accessible(page)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360, chosen.inner_text()
