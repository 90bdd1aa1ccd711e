"""Pages follow their server over one stream: nothing is asked again and again."""

from collections import Counter
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, Request, expect

from tests.ui.conftest import OpenPage, Server

GOOD = b"id: good\nsteps: {a: {kind: noop}}\n"
SLOW = b"id: slow\nsteps: {a: {kind: wait, with: {for: 6h}}}\n"
STREAM = "/api/v1/live"


class Asked:
    """What a page asks its server for."""

    def __init__(self, page: Page) -> None:
        self.paths: list[str] = []
        self.streams: list[list[str]] = []  # what each of them follows
        page.on("request", self._note)

    def _note(self, request: Request) -> None:
        url = urlsplit(request.url)
        if url.path == STREAM:
            self.streams.append(parse_qs(url.query)["read"])
        elif url.path.startswith(("/api/", "/health")):
            self.paths.append(url.path)

    def clear(self) -> None:
        self.paths.clear()
        self.streams.clear()


def test_the_overview_follows_runs_that_are_started_elsewhere(mortal: Server, opened: OpenPage) -> None:
    mortal.client.apply("good", GOOD, "application/yaml")
    mortal.client.apply("slow", SLOW, "application/yaml")
    page = opened(mortal.url)
    asked = Asked(page)
    page.goto("/")
    started = page.get_by_role("region", name="Runs per minute")
    expect(started).to_contain_text("0 runs started")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    expect(page.get_by_role("region", name="Workers")).to_contain_text("1 ready")
    assert any("/api/v1/overview" in reads for reads in asked.streams)
    assert all(count == 1 for count in Counter(asked.paths).values()), asked.paths
    asked.clear()
    for number in range(1, 6):
        mortal.client.start("good", run_id=f"good-{number}")
        expect(started).to_contain_text(f"{number} run")
    assert asked.paths == []
    assert len(asked.streams) <= 1, asked.streams  # what is open for an hour is another list each minute


def test_the_list_is_live_again_after_its_server_was_killed(mortal: Server, opened: OpenPage) -> None:
    mortal.client.apply("slow", SLOW, "application/yaml")
    mortal.client.start("slow", run_id="before")
    page = opened(mortal.url)
    asked = Asked(page)
    page.goto("/ui/runs")
    expect(page.get_by_role("link", name="before")).to_be_visible()
    asked.clear()
    mortal.client.start("slow", run_id="meanwhile")
    expect(page.get_by_role("link", name="meanwhile")).to_be_visible()
    assert (asked.paths, asked.streams) == ([], [])
    mortal.kill()
    banner = page.get_by_text("The server does not answer")
    expect(banner).to_be_visible()
    mortal.start()
    expect(banner).to_be_hidden(timeout=15_000)
    asked.clear()
    mortal.client.start("slow", run_id="after")
    expect(page.get_by_role("link", name="after", exact=True)).to_be_visible(timeout=10_000)
    assert [path for path in asked.paths if path == "/api/v1/runs"] == []


def test_a_hidden_tab_leaves_its_connection_to_others(server: Server, page: Page) -> None:
    asked = Asked(page)
    page.goto("/ui/runs")
    expect(page.get_by_text("No runs yet")).to_be_visible()
    asked.clear()
    with page.expect_event("requestfailed", lambda request: STREAM in request.url):
        _show(page, "hidden")
    server.client.apply("good", GOOD, "application/yaml")
    server.client.start("good", run_id="unseen")
    assert asked.streams == []
    with page.expect_request(lambda request: STREAM in request.url):
        _show(page, "visible")
    expect(page.get_by_role("link", name="unseen")).to_be_visible()


def _show(page: Page, state: str) -> None:
    page.evaluate(
        """(state) => {
          Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        state,
    )
