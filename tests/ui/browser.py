"""The system's Chromium, held by playwright: for tests, and for pictures."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

REPOSITORY = Path(__file__).resolve().parents[2]
AXE = REPOSITORY / "ui" / "node_modules" / "axe-core" / "axe.min.js"
BUILT = REPOSITORY / "windlass" / "gateway" / "page" / "ui"
# It asks nobody outside for anything, and needs no sandbox of its own for pages of ours.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WITHIN_MS = 30_000.0  # for whatever is waited for: several of these may share two processors
expect.set_options(timeout=WITHIN_MS)
# What axe calls the levels of WCAG that pages have to reach, and its own good advice.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


def lacking() -> str | None:
    """Why no page can be tested here; None: it can."""
    if chromium() is None:
        return "there is no chromium; on Debian: sudo apt-get install chromium"
    if not (BUILT / "index.html").exists():
        return "the web page is not built: make env, with Node.js 20.19 or newer at hand"
    return None


@contextmanager
def browsing() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def open_page(browser: Browser, url: str, **options: Any) -> Page:
    """A page of its own, with no cookies and nothing remembered; relative addresses go to the server.

    `options` as playwright has them: viewport, color_scheme, locale, timezone_id …
    """
    context = browser.new_context(
        base_url=url, **{"locale": "en-GB", "timezone_id": "Asia/Shanghai", **options}
    )
    context.set_default_timeout(WITHIN_MS)
    return context.new_page()


def sign_in(page: Page, token: str) -> None:
    """At the login page."""
    page.get_by_label("Token", exact=True).fill(token)
    page.get_by_role("button", name="Sign in").click()


def check_accessible(page: Page) -> None:
    """axe finds nothing to complain of in what is shown now."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE.read_text())  # not as a script element: the policy of the page forbids those
    found = page.evaluate("(rules) => axe.run(document, {runOnly: {type: 'tag', values: rules}})", RULES)
    told = [
        f"{each['id']} ({each['impact']}): {each['help']}: "
        + json.dumps(
            [[node["target"], node["failureSummary"]] for node in each["nodes"][:5]], ensure_ascii=False
        )
        for each in found["violations"]
    ]
    assert not told, "\n".join(told)
