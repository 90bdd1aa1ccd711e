"""The overview: how runs go, what needs somebody; all of it live."""

from playwright.sync_api import Page, expect

from tests.ui.browser import check_accessible
from tests.ui.conftest import OpenPage, Server

GOOD = b"id: good\nsteps: {a: {kind: noop}}\n"
BAD = b'id: bad\nsteps: {a: {kind: shell, with: {argv: [sh, -c, "echo nope >&2; exit 3"]}}}\n'
ASKS = b"id: asks\nsteps: {ship: {kind: approval, with: {prompt: 'Ship it?'}}}\n"
PAYS = b"id: pays\nsteps: {paid: {kind: signal}}\n"
RARE = b"id: rare\nsteps: {train: {kind: noop, requires: [gpu]}}\n"
SLOW = b"id: slow\nsteps: {a: {kind: wait, with: {for: 6h}}}\n"


def apply(server: Server, id: str, document: bytes) -> None:
    server.client.apply(id, document, "application/yaml")


def test_a_server_without_runs_says_what_to_do_next(mortal: Server, opened: OpenPage) -> None:
    page = opened(mortal.url)
    page.goto("/")
    expect(page.get_by_text("Nothing runs here yet")).to_be_visible()
    expect(page.get_by_text("windlass apply FILE.yaml")).to_be_visible()
    check_accessible(page)
    page.get_by_role("link", name="Write a workflow").click()
    expect(page).to_have_url("/ui/new-workflow")


def test_it_counts_runs_as_they_come_and_names_those_that_failed(server: Server, page: Page) -> None:
    apply(server, "good", GOOD)
    apply(server, "bad", BAD)
    apply(server, "slow", SLOW)
    server.client.start("good", run_id="good-1")
    page.goto("/")
    rate = page.get_by_role("region", name="Success rate")
    expect(rate).to_contain_text("100%")
    server.client.start("bad", run_id="bad-1")
    server.client.start("slow", run_id="slow-1")
    expect(rate).to_contain_text("50%")  # without a reload
    expect(rate).to_contain_text("1 failed in the last hour")
    expect(page.get_by_role("region", name="Runs per minute")).to_contain_text("3 runs started")
    expect(page.get_by_role("region", name="Latency")).to_contain_text("Of the last 2 runs")
    open_runs = page.get_by_role("region", name="Open runs")
    expect(open_runs.locator(".figure-value")).to_have_text("1")
    server.client.order("slow-1", "pause")  # still open, though nothing runs
    expect(open_runs.locator(".figure-value")).to_have_text("1")
    expect(open_runs.get_by_role("link", name="Paused")).to_have_attribute("href", "/ui/runs?status=paused")
    failed = page.get_by_role("region", name="Failed within a day", exact=True)
    expect(failed).to_contain_text("exited with 3: nope")
    expect(page.get_by_role("region", name="Nodes")).to_contain_text("1 up")
    expect(page.get_by_role("region", name="Workers")).to_contain_text("1 ready")
    check_accessible(page)
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    failed.get_by_role("link", name="bad-1").click()
    expect(page).to_have_url("/ui/runs/bad-1")


def test_a_run_that_waits_for_somebody_appears_and_is_gone_once_it_is_approved(
    mortal: Server, opened: OpenPage
) -> None:
    apply(mortal, "asks", ASKS)
    apply(mortal, "pays", PAYS)
    page = opened(mortal.url)
    page.goto("/")
    waiting = page.get_by_role("region", name="Waits for you", exact=True)
    expect(waiting).to_contain_text("No run waits for an approval, a release or a signal.")
    # When runs begin to wait, they are there without a reload,
    mortal.client.start("asks", run_id="asks-1")
    mortal.client.start("pays", run_id="pays-1")
    expect(waiting.get_by_role("row").filter(has_text="asks-1")).to_contain_text("an approval")
    expect(waiting.get_by_role("row").filter(has_text="pays-1")).to_contain_text("a signal")
    check_accessible(page)
    # also in the list of runs that wait,
    waiting.get_by_role("link", name="Show all").click()
    expect(page).to_have_url("/ui/runs?waiting=any")
    expect(page.get_by_role("combobox", name="Waits for")).to_have_value("any")
    expect(page.get_by_role("link", name="asks-1")).to_be_visible()
    page.get_by_role("combobox", name="Waits for").select_option("An approval")
    expect(page.get_by_role("link", name="pays-1")).to_have_count(0)
    page.go_back()
    # and one click leads to the step where it is answered.
    waiting.get_by_role("link", name="Approve… asks-1").click()
    expect(page).to_have_url("/ui/runs/asks-1?step=ship")
    panel = page.get_by_role("complementary", name="Step ship")
    expect(panel).to_contain_text("Ship it?")
    panel.get_by_role("button", name="Approve").click()
    page.get_by_role("dialog").get_by_role("button", name="Approve").click()
    expect(panel).to_contain_text("Succeeded")
    # Then nobody is asked any more.
    page.get_by_role("link", name="Overview").click()
    expect(waiting.get_by_role("link", name="pays-1", exact=True)).to_be_visible()
    expect(waiting.get_by_role("link", name="asks-1", exact=True)).to_have_count(0)
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_steps_that_no_worker_could_run_appear_and_are_gone_with_their_run(
    mortal: Server, opened: OpenPage
) -> None:
    apply(mortal, "rare", RARE)
    page = opened(mortal.url)
    page.goto("/")
    expect(page.get_by_text("nothing waits in vain")).to_be_visible()
    for number in (1, 2):
        mortal.client.start("rare", run_id=f"rare-{number}")
    unserved = page.get_by_role("region", name="No worker for it", exact=True)
    row = unserved.get_by_role("row").filter(has_text="gpu")
    expect(row).to_contain_text("2")
    expect(page.get_by_text("nothing waits in vain")).to_have_count(0)
    check_accessible(page)
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    # The run says what to do about it.
    row.get_by_role("link", name="rare-1").click()
    expect(page.get_by_text("windlass worker --capabilities gpu").first).to_be_visible()
    for number in (1, 2):
        mortal.client.order(f"rare-{number}", "cancel")
    page.goto("/")
    expect(page.get_by_text("nothing waits in vain")).to_be_visible()
    expect(unserved).to_have_count(0)


def test_it_speaks_chinese(server: Server, opened: OpenPage) -> None:
    page = opened(server.url, locale="zh-CN", color_scheme="dark")
    page.goto("/")
    expect(page.get_by_role("region", name="成功率")).to_be_visible()
    check_accessible(page)
