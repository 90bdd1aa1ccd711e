"""The list of runs, and a run's page: graph, timeline and steps, live."""

import re
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.browser import check_accessible
from tests.ui.conftest import OpenPage, Server
from tests.waiting import wait_until
from windlass.core.vocabulary import ENDED

ORDER: Final = b"""
id: order
steps:
  check: {kind: noop, with: {value: {ok: true}}}
  route: {kind: switch, needs: [check], with: {cases: [{when: "${{ false }}", then: big}], default: small}}
  big: {kind: noop}
  small: {kind: noop}
  ask: {kind: signal, needs: [small], with: {name: paid}}
  pack:
    kind: map
    needs: [ask]
    with: {over: [a, b, c], step: {kind: noop, with: {value: "${{ item }}"}}}
"""
FAILING: Final = b"""
id: broken
steps:
  reserve: {kind: noop, undo: {kind: noop}}
  ship: {kind: shell, needs: [reserve], with: {argv: [sh, -c, exit 3]}, retry: {attempts: 2, backoff: 10ms}}
"""
GATED: Final = b"""
id: gated
steps:
  gate:
    kind: shell
    with:
      argv: [sh, -c, 'until test -e "$GATE"; do sleep 0.05; done']
      env: {GATE: "${{ inputs.gate }}"}
  after: {kind: noop, needs: [gate]}
"""
MANY: Final = b"""
id: many
steps:
  list: {kind: noop}
  resize:
    kind: map
    needs: [list]
    with: {over: "${{ inputs.files }}", max_parallel: 50, step: {kind: noop, with: {value: "${{ item }}"}}}
  report: {kind: noop, needs: [resize]}
"""
ITEMS: Final = 2_000  # ten thousand steps: test_big_run.py


def apply(server: Server, workflow: str, document: bytes) -> None:
    server.client.apply(workflow, document, "application/yaml")


def ended(server: Server, run: str, *, within_s: float = 60) -> None:
    wait_until(lambda: server.client.run(run)["status"] in ENDED, within_s=within_s)


@pytest.fixture(scope="module")
def kept(server: Server) -> Server:
    """A server with runs in several states: paid (ended), unpaid (open), broken-1 (failed)."""
    apply(server, "order", ORDER)
    apply(server, "broken", FAILING)
    server.client.start("order", run_id="unpaid", labels={"team": "a"})
    server.client.start("order", run_id="paid", labels={"team": "b"})
    server.client.signal("paid", "paid")
    server.client.start("broken", run_id="broken-1")
    ended(server, "paid")
    ended(server, "broken-1")
    return server


@pytest.fixture
def shown(kept: Server, opened: OpenPage) -> Page:
    return opened(kept.url)


def rows(page: Page) -> Locator:
    return page.get_by_role("table", name="Runs").locator("tbody tr")


def ids(page: Page) -> Locator:
    return rows(page).locator("a[href^='/ui/runs/']")


def test_the_list_is_filtered_by_what_the_address_says(shown: Page) -> None:
    shown.goto("/ui/runs")
    expect(ids(shown)).to_have_text(["broken-1", "paid", "unpaid"])
    shown.get_by_label("Status").select_option("Failed")
    expect(ids(shown)).to_have_text(["broken-1"])
    expect(shown).to_have_url("/ui/runs?status=failed")
    shown.get_by_role("button", name="Clear filters").click()
    expect(ids(shown)).to_have_count(3)
    shown.get_by_label("Workflow", exact=True).fill("order")
    expect(ids(shown)).to_have_text(["paid", "unpaid"])
    shown.get_by_label("Label", exact=True).fill("team=b")
    expect(ids(shown)).to_have_text(["paid"])
    shown.reload()
    expect(ids(shown)).to_have_text(["paid"])
    expect(shown.get_by_label("Label", exact=True)).to_have_value("team=b")


def test_half_a_label_is_said_to_be_one(shown: Page) -> None:
    shown.goto("/ui/runs?label=team")
    expect(shown.get_by_text("Write it as name=value")).to_be_visible()
    expect(ids(shown)).to_have_count(3)


def test_runs_are_found_by_when_they_began(shown: Page) -> None:
    shown.goto("/ui/runs?range=hour")
    expect(ids(shown)).to_have_count(3)
    shown.goto("/ui/runs?range=own&until=2020-01-01T00:00:00.000Z")
    expect(shown.get_by_text("No run fits these filters")).to_be_visible()
    check_accessible(shown)


def test_runs_are_searched_by_the_beginning_of_an_id_or_a_part_of_a_workflow(shown: Page) -> None:
    shown.goto("/ui/runs?search=un")
    expect(ids(shown)).to_have_text(["unpaid"])
    search = shown.get_by_label("Search", exact=True)
    search.fill("RDE")
    expect(ids(shown)).to_have_text(["paid", "unpaid"])
    expect(shown).to_have_url("/ui/runs?search=RDE")
    shown.get_by_label("Label", exact=True).fill("team=a")
    expect(ids(shown)).to_have_text(["unpaid"])
    search.fill("%")
    expect(shown.get_by_text("No run fits these filters")).to_be_visible()
    shown.get_by_role("button", name="Clear filters").last.click()
    expect(ids(shown)).to_have_count(3)
    expect(search).to_have_value("")


def test_the_header_leads_to_the_run_with_that_id_and_else_to_what_is_like_it(shown: Page) -> None:
    shown.goto("/")
    find = shown.get_by_role("searchbox", name="Find a run")
    find.fill("paid")
    find.press("Enter")
    expect(shown).to_have_url("/ui/runs/paid")
    find.fill(" pai ")
    find.press("Enter")
    expect(shown).to_have_url("/ui/runs?search=pai")
    expect(ids(shown)).to_have_text(["paid"])


def test_without_runs_the_list_says_how_to_start_one(server: Server, page: Page) -> None:
    page.goto("/ui/runs?namespace=empty")
    expect(page.get_by_text("No runs yet")).to_be_visible()
    expect(page.get_by_text("windlass apply FILE.yaml --namespace empty")).to_be_visible()
    tiny = {"id": "tiny", "steps": {"a": {"kind": "noop"}}}
    page.request.post("/api/v1/workflows", data=tiny, headers={"X-Windlass-Namespace": "empty"})
    page.reload()
    expect(page.get_by_text("windlass run tiny --namespace empty")).to_be_visible()


def test_a_new_run_comes_to_the_top_of_the_list_by_itself(kept: Server, shown: Page) -> None:
    shown.goto("/ui/runs?workflow=broken")
    expect(ids(shown).first).to_have_text("broken-1")
    kept.client.start("broken", run_id="broken-2")
    expect(ids(shown).first).to_have_text("broken-2")
    kept.client.start("broken", run_id="broken-3")
    expect(ids(shown).first).to_have_text("broken-3")


def test_older_runs_come_page_by_page_and_then_stand_still(server: Server, page: Page) -> None:
    headers = {"X-Windlass-Namespace": "pages"}
    tiny = {"id": "tiny", "steps": {"a": {"kind": "noop"}}}
    page.request.post("/api/v1/workflows", data=tiny, headers=headers)
    runs = [{"workflow": "tiny", "runId": f"r-{each:03}"} for each in range(150)]
    page.request.post("/api/v1/runs:batch", data={"runs": runs}, headers=headers)
    page.goto("/ui/runs?namespace=pages")
    expect(ids(page)).to_have_count(100)
    page.get_by_role("button", name="Show more").click()
    expect(page.get_by_text("150 rows")).to_be_visible()
    expect(page.get_by_text("the list stands still")).to_be_visible()
    page.get_by_role("button", name="To the newest").click()
    expect(page.get_by_text("100 rows")).to_be_visible()


def test_the_graph_shows_the_state_of_each_step_and_the_keyboard_opens_them(shown: Page) -> None:
    shown.goto("/ui/runs/paid")
    graph = shown.get_by_role("group", name="Graph of the steps")
    steps = graph.get_by_role("button")
    expect(steps).to_have_count(6)
    expect(steps.first).to_have_accessible_name(re.compile("check.*Succeeded"))
    expect(graph.get_by_role("button", name=re.compile("^big.*Skipped"))).to_be_visible()
    expect(graph.get_by_role("button", name=re.compile("^pack.*3 of 3"))).to_be_visible()
    steps.first.focus()
    shown.keyboard.press("Tab")
    expect(graph.get_by_role("button", name=re.compile("^route"))).to_be_focused()
    shown.keyboard.press("Enter")
    expect(shown).to_have_url(re.compile(r"step=route"))
    expect(shown.get_by_role("complementary", name="Step route")).to_be_visible()


def test_what_was_taken_back_and_what_failed_is_seen(shown: Page) -> None:
    shown.goto("/ui/runs/broken-1")
    expect(shown.get_by_text("ExitCode in step ship:")).to_be_visible()
    graph = shown.get_by_role("group", name="Graph of the steps")
    expect(graph.get_by_role("button", name=re.compile("takes back reserve.*Succeeded"))).to_be_visible()
    shown.get_by_role("button", name="Show step ship").click()
    expect(shown.get_by_role("complementary", name="Step ship")).to_be_visible()


def test_what_could_not_be_taken_back_is_said_first(server: Server, page: Page) -> None:
    document = b"""
id: half-undone
steps:
  pay: {kind: noop, undo: {kind: shell, with: {argv: [sh, -c, exit 4]}}}
  ship: {kind: shell, needs: [pay], with: {argv: [sh, -c, exit 3]}}
"""
    apply(server, "half-undone", document)
    server.client.start("half-undone", run_id="half-undone-1")
    ended(server, "half-undone-1")
    page.goto("/ui/runs/half-undone-1")
    expect(page.get_by_text("1 step was not taken back")).to_be_visible()
    page.get_by_role("button", name="Show step undo:pay").click()
    expect(page.get_by_role("complementary", name="Step undo:pay")).to_contain_text("exited with 4")


@pytest.mark.parametrize("width", [1280, 1024, 768, 390])
def test_long_names_push_no_column_of_the_list_out_of_sight(
    server: Server, opened: OpenPage, width: int
) -> None:
    workflow = "a-workflow-that-somebody-gave-a-name-of-more-than-seventy-characters-one-day"
    apply(server, workflow, f"id: {workflow}\nsteps: {{ask: {{kind: approval}}}}\n".encode())
    run = f"{workflow}-and-a-run-{width}"
    server.client.start(workflow, run_id=run, labels={"a-long-name": "and-a-long-value-of-a-label"})
    page = opened(server.url, viewport={"width": width, "height": 800})
    page.goto(f"/ui/runs?search={run}")
    row = rows(page).first
    expect(row).to_contain_text("waits for an approval")
    expect(row.locator(".workflow-name:visible")).to_have_text(f"{workflow} v1")
    expect(row.locator(".duration:visible")).to_have_count(1)
    frame = page.locator(".table-frame")
    assert frame.evaluate("frame => frame.scrollWidth - frame.clientWidth") == 0


def test_the_timeline_has_a_bar_for_each_attempt(shown: Page) -> None:
    shown.goto("/ui/runs/broken-1?tab=timeline")
    line = shown.get_by_role("region", name="Timeline")
    failed = line.get_by_role("img", name=re.compile("^ship: Failed attempt"))
    expect(failed).to_have_count(2)
    failed.last.focus()
    expect(shown.locator(".timeline-told")).to_contain_text("attempt 2")
    expect(shown.locator(".timeline-told")).to_contain_text("worker local")
    before = failed.first.bounding_box()
    whole = shown.get_by_role("button", name="Whole run")
    marks = shown.locator(".timeline-ruler .tick").all_inner_texts()
    shown.get_by_role("button", name="Zoom in").click()
    expect(whole).to_have_attribute("aria-pressed", "false")
    expect(shown.locator(".timeline-ruler .tick")).not_to_have_text(marks)
    whole.click()
    expect(shown.locator(".timeline-ruler .tick")).to_have_text(marks)
    assert before is not None
    assert failed.first.bounding_box() == before


def test_the_table_of_steps_is_filtered(shown: Page) -> None:
    shown.goto("/ui/runs/paid?tab=steps")
    table = shown.get_by_role("table", name="Steps")
    expect(table.locator("tbody tr")).to_have_count(9)
    shown.get_by_label("Items of").select_option("pack")
    expect(table.locator("tbody tr")).to_have_count(3)
    shown.get_by_label("Items of").select_option("Every step")
    shown.get_by_label("Status").select_option("Skipped")
    expect(table.locator("tbody tr")).to_have_count(1)
    expect(shown).to_have_url(re.compile("stepStatus=skipped"))


@pytest.mark.parametrize(
    ("tab", "scheme"), [("graph", "light"), ("graph", "dark"), ("timeline", "dark"), ("steps", "light")]
)
def test_a_runs_page_is_accessible_and_fits_a_phone(
    kept: Server, opened: OpenPage, tab: str, scheme: str
) -> None:
    page = opened(kept.url, color_scheme=scheme)
    page.goto(f"/ui/runs/broken-1?tab={tab}")
    expect(page.get_by_role("tab", selected=True)).to_have_text(tab.capitalize())
    expect(page.locator("[data-step=ship]").first).to_be_visible()
    check_accessible(page)
    page.set_viewport_size({"width": 360, "height": 740})
    expect(page.locator("[data-step=ship]").first).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    check_accessible(page)


def test_a_run_says_in_chinese_how_it_went(kept: Server, opened: OpenPage) -> None:
    page = opened(kept.url, locale="zh-CN")
    page.goto("/ui/runs/paid")
    expect(page.get_by_role("tab", selected=True)).to_have_text("流程图")
    expect(page.locator("[data-step=check]")).to_contain_text("成功")


def test_a_run_is_watched_to_its_end(server: Server, page: Page, tmp_path: Path) -> None:
    apply(server, "gated", GATED)
    gate = tmp_path / "gate"
    server.client.start("gated", run_id="watched", input={"gate": str(gate)})
    page.goto("/ui/runs/watched")
    step = page.locator("[data-step=gate]")
    expect(step).to_contain_text("Running")
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
    expect(page.get_by_label("What is it doing?")).to_contain_text("Step gate runs on worker local")
    gate.touch()
    expect(step).to_contain_text("Succeeded")
    expect(page.locator("[data-step=after]")).to_contain_text("Succeeded")
    expect(page.locator(".lead")).to_contain_text("Succeeded")
    expect(page.locator(".lead")).not_to_contain_text("Live")


def test_a_run_is_watched_through_a_crash_of_the_server(
    mortal: Server, opened: OpenPage, tmp_path: Path
) -> None:
    apply(mortal, "gated", GATED)
    gate = tmp_path / "gate"
    mortal.client.start("gated", run_id="survivor", input={"gate": str(gate)})
    page = opened(mortal.url)
    page.goto("/ui/runs/survivor?tab=timeline")
    lead = page.locator(".lead")
    expect(lead).to_contain_text("Live")
    expect(page.locator("[data-step=gate]").first).to_be_visible()
    mortal.kill()
    expect(page.get_by_text("The server does not answer")).to_be_visible()
    expect(lead).to_contain_text("Not live")
    expect(page.locator("[data-step=gate]").first).to_be_visible()
    mortal.start()
    expect(page.get_by_text("The server does not answer")).to_be_hidden()
    gate.touch()
    expect(lead).to_contain_text("Succeeded")
    expect(lead).not_to_contain_text("Live")
    expect(page.get_by_role("img", name=re.compile("^gate: Lost attempt"))).to_be_visible()
    page.get_by_role("tab", name="Graph").click()
    expect(page.locator("[data-step=after]")).to_contain_text("Succeeded")


def test_a_run_of_thousands_of_items_answers_to_every_click(server: Server, page: Page) -> None:
    apply(server, "many", MANY)
    server.client.start("many", run_id="thousands", input={"files": [f"f{n}" for n in range(ITEMS)]})
    page.goto("/ui/runs/thousands")
    resize = page.locator(".step-box[data-step=resize]")
    expect(resize).to_contain_text("of 2,000")
    page.get_by_role("tab", name="Steps").click()
    expect(page.get_by_role("table", name="Steps")).to_be_visible()
    page.get_by_role("tab", name="Graph").click()
    ended(server, "thousands", within_s=120)
    expect(resize).to_contain_text("2,000 of 2,000")
    expect(page.locator(".lead")).to_contain_text("Succeeded")
    page.get_by_role("tab", name="Timeline").click()
    unfold = page.get_by_role("button", name=re.compile("Show the 2,?000 items of resize"))
    unfold.click(timeout=60_000)  # all events are read first
    frame = page.get_by_role("region", name="Timeline")
    frame.evaluate("frame => frame.scrollTo(0, frame.scrollHeight)")
    expect(frame.locator("[data-step='resize[1999]']")).to_be_visible()
    assert frame.locator(".timeline-line").count() < 200
    page.get_by_role("tab", name="Steps").click()
    page.get_by_label("Items of").select_option("resize")
    expect(page.get_by_text("500 rows")).to_be_visible()
    page.get_by_role("button", name="Show more").click()
    expect(page.get_by_text("1000 rows")).to_be_visible()
    check_accessible(page)


def test_a_document_of_many_steps_is_drawn_in_groups(server: Server, page: Page) -> None:
    loads = {f"load_{n}": {"kind": "noop", "needs": ["begin"]} for n in range(400)}
    page.request.post("/api/v1/workflows", data={"id": "wide", "steps": {"begin": {"kind": "noop"}, **loads}})
    server.client.start("wide", run_id="wide-1")
    ended(server, "wide-1")
    page.goto("/ui/runs/wide-1")
    expect(page.get_by_text("400 steps are drawn as 2 boxes")).to_be_visible()
    page.get_by_role("button", name=re.compile("^load.*400 of 400")).click()
    members = page.get_by_role("table", name="load…: 400 steps")
    members.get_by_role("button", name="load_3", exact=True).click()
    expect(page.get_by_role("complementary", name="Step load_3")).to_be_visible()
