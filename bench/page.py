"""The list of runs in a browser, among few and many finished runs: `python -m bench page --runs 1000000`.

Both journals are seeded (`bench.seed_runs`) and served at the same time; the system's Chromium opens the page
of each by turns, and does what people do. What is timed ends when the rows that were asked for are seen:
drawing counts, and so does the way between us and the browser (some 10 ms). Whether many runs slow the page
is what the ratio to a thousand says, which stands beside each figure.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console

from bench import past
from bench.apart import apart
from bench.effort import Effort
from bench.figures import Figure, number
from bench.lists import COMMON, RARE, RETENTION
from bench.process import up
from bench.seed_runs import seed
from windlass.gateway import ui

FEW: Final = 1_000
FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--enable-precise-memory-info",
)
WITHIN_MS: Final = 30_000
PAGES_DOWN: Final = 20
ROUNDS: Final = 5  # of each repeat
TARGET: Final = "as fast as among 1,000"

# Rows are marked before something else is asked: those that are seen then are new ones.
MARK: Final = """() => {
  for (const row of document.querySelectorAll("tbody tr")) row.dataset.before = "";
}"""
SEEN: Final = """([cell, wanted]) => {
  const rows = [...document.querySelectorAll("tbody tr:not([aria-hidden])")];
  const fits = (row) => row.dataset.before === undefined && row.cells[cell].innerText.includes(wanted);
  return rows.length > 0 && rows.every(fits);
}"""
EMPTY: Final = """() => document.querySelector("main .empty") !== null"""
COUNTED: Final = """(wanted) => {
  const foot = document.querySelector(".table-foot");
  return foot !== null && foot.innerText.replace(/\\D/g, "") === wanted;
}"""
WORKFLOW: Final = "invoices"  # which fills a page even among a thousand
STATUS_CELL, RUN_CELL, WORKFLOW_CELL, LABELS_CELL = range(4)


@dataclass(slots=True)
class Seen:
    """What was measured at one journal, by what was done; and what the page held at its end."""

    ms: dict[str, list[float]] = field(default_factory=dict)
    rows_drawn: int = 0
    rows_held: int = 0
    heap_mib: float = 0.0

    def took(self, name: str, began: float) -> None:
        self.ms.setdefault(name, []).append((time.perf_counter() - began) * 1000)


def measure(folder: Path, effort: Effort) -> list[Figure]:
    missing = lacking()
    if missing is not None:
        Console().print(f"[yellow]page is not measured:[/] {missing}")
        return []
    few, many = Seen(), Seen()
    for count in (FEW, effort.finished_runs):
        apart(seed, folder / str(count), count)
    with ExitStack() as stack:
        browser = stack.enter_context(_browsing())
        pages = [
            (stack.enter_context(_opened(browser, folder / str(count))), seen)
            for count, seen in ((FEW, few), (effort.finished_runs, many))
        ]
        for _ in range(effort.repeats * ROUNDS):  # by turns: what else the machine does is shared by both
            for page, seen in pages:
                _round(page, seen)
        for page, seen in pages:
            _go_down(page, seen)
            _weigh(page, seen)
    of = f"of {effort.finished_runs:,} runs"
    figures = [_figure(f"the page, {name}, {of}", few.ms[name], ms) for name, ms in many.ms.items()]
    note = f"{many.rows_held:,} runs held, {many.rows_drawn} rows drawn"
    return [*figures, Figure(f"the page's memory, {of}", "MiB", [many.heap_mib], note=note)]


def lacking() -> str | None:
    if _chromium() is None:
        return "there is no chromium; on Debian: sudo apt-get install chromium"
    if not (ui.BUILT / ui.INDEX).exists():
        return "the web page is not built: make env, with Node.js 20.19 or newer at hand"
    return None


def _chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


def _figure(name: str, few: list[float], many: list[float]) -> Figure:
    ratio = median(many) / median(few)
    note = f"{ratio:.2f} times that of {FEW:,} ({number(median(few))} ms)"
    return Figure(name, "ms", many, less_is_better=True, target=TARGET, note=note)


@contextmanager
def _browsing() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_chromium(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def _opened(browser: Browser, data: Path) -> Iterator[Page]:
    with up(data, "--retention", RETENTION) as url:
        context = browser.new_context(base_url=url, locale="en-GB")
        context.set_default_timeout(WITHIN_MS)
        yield context.new_page()


def _round(page: Page, seen: Seen) -> None:
    """Everything once, each from the list as it is without filters."""
    began = time.perf_counter()
    page.goto("/ui/runs")
    _wait(page, SEEN, [RUN_CELL, COMMON])
    seen.took("the first rows", began)
    newest = page.locator("tbody tr a").first.inner_text()
    status = page.get_by_label("Status")
    _timed(
        page, seen, "by status", lambda: status.select_option("succeeded"), SEEN, [STATUS_CELL, "Succeeded"]
    )
    for name, label, text, ask, wanted in (
        ("by workflow", "Workflow", WORKFLOW, SEEN, [WORKFLOW_CELL, WORKFLOW]),
        ("by a label", "Label", f"team={past.TEAMS[0]}", SEEN, [LABELS_CELL, past.TEAMS[0]]),
        ("a search for an id", "Search", newest, SEEN, [RUN_CELL, newest]),
        ("a search for a rare beginning", "Search", newest[:RARE], SEEN, [RUN_CELL, newest[:RARE]]),
        ("a search for a part of a workflow", "Search", "NVOI", SEEN, [WORKFLOW_CELL, WORKFLOW]),
    ):
        _clear(page)
        box = page.get_by_label(label, exact=True)
        box.fill(text)
        _timed(page, seen, name, partial(box.press, "Enter"), ask, wanted)
    _clear(page)
    box = page.get_by_label("Search", exact=True)
    box.fill("nothing like it")
    _timed(page, seen, "a search that finds nothing", partial(box.press, "Enter"), EMPTY, None)
    box.fill(COMMON)
    _timed(
        page, seen, "a search for a common beginning", partial(box.press, "Enter"), SEEN, [RUN_CELL, COMMON]
    )


def _timed(page: Page, seen: Seen, name: str, act: Callable[[], object], ask: str, wanted: Any) -> None:
    page.evaluate(MARK)
    began = time.perf_counter()
    act()
    _wait(page, ask, wanted)
    seen.took(name, began)


def _clear(page: Page) -> None:
    page.get_by_role("button", name="Clear filters").first.click()
    page.wait_for_url("**/ui/runs")
    _wait(page, COUNTED, "100")


def _go_down(page: Page, seen: Seen) -> None:
    """Page after page by the cursor, as far as there are any."""
    page.goto("/ui/runs")
    _wait(page, COUNTED, "100")
    more = page.get_by_role("button", name="Show more")
    for n in range(2, PAGES_DOWN + 2):
        if more.count() == 0:
            return
        _timed(page, seen, "the next page", more.click, COUNTED, str(100 * n))


def _weigh(page: Page, seen: Seen) -> None:
    asked = page.context.new_cdp_session(page)
    asked.send("HeapProfiler.collectGarbage")
    seen.rows_drawn = page.locator("tbody tr:not([aria-hidden])").count()
    seen.rows_held = int("".join(filter(str.isdigit, page.locator(".table-foot").inner_text())))
    seen.heap_mib = page.evaluate("() => performance.memory.usedJSHeapSize") / 2**20


def _wait(page: Page, ask: str, wanted: Any) -> None:
    page.wait_for_function(ask, arg=wanted, polling="raf")
