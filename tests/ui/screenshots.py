"""Pictures of every page: light and dark, English and Chinese, wide and narrow. `make screenshots`.

A page is added with one line in PICTURES. The pictures are in build/screenshots. `make screenshots ONLY="run
overview"` takes those anew, and leaves the others as they are.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, expect

from tests.tools import FOR_PICTURES, install, say
from tests.ui import browser as browsers
from tests.ui.conftest import serving
from tests.ui.seed import seed, seed_tasks, traffic
from tests.ui.stage import stage
from windlass.sdk.client import Client

FOLDER: Final = browsers.REPOSITORY / "build" / "screenshots"
LANGUAGES: Final = {"en": "en-GB", "zh": "zh-CN"}
THEMES: Final = ("light", "dark")
LOADING: Final = re.compile("^(Loading …|加载中…)$")
SIZES: Final = {"desktop": (1280, 800), "phone": (360, 740)}


@dataclass(frozen=True)
class Picture:
    name: str
    path: str
    shows: str = "main h1"  # what has to be there before the picture is taken
    press: str | None = None  # a button or tab to press then, as a selector
    whole: bool = True  # not only what is seen without scrolling


PICTURES: Final = (
    Picture("workflows", "/ui/workflows", shows=".last-run"),
    Picture("workflow", "/ui/workflows/fulfil-order", shows=".step-box"),
    Picture("workflow-start", "/ui/workflows/nightly-report?tab=start"),
    Picture("workflow-runs", "/ui/workflows/nightly-report?tab=runs", shows=".table"),
    Picture("workflow-schedule", "/ui/workflows/fulfil-order?tab=schedule", shows=".times"),
    Picture("workflow-versions", "/ui/workflows/nightly-report?tab=versions", shows=".diff"),
    Picture("workflow-edit", "/ui/workflows/nightly-report?tab=edit", shows=".cm-content"),
    Picture("runs", "/ui/runs", shows=".table"),
    Picture("run", "/ui/runs/order-4711", shows=".step-box"),
    Picture("run-timeline", "/ui/runs/order-4711?tab=timeline", shows=".timeline-line"),
    Picture("run-steps", "/ui/runs/import-7?tab=steps&step=fetch", shows=".run-panel .attempts"),
    Picture("run-logs", "/ui/runs/order-4711?tab=logs", shows=".log-line"),
    Picture("run-events", "/ui/runs/order-4711?tab=events", shows=".event-row"),
    Picture("run-data", "/ui/runs/report-01?tab=data", shows=".json"),
    Picture("run-step", "/ui/runs/order-4711?step=ask-manager", shows=".run-views:has(.step-box) .step-asks"),
    Picture("run-why", "/ui/runs/train-9?tab=steps", shows=".why", press=".why summary"),
    Picture("run-paused", "/ui/runs/watch-2", shows=".run-views:has(.step-box)"),
    Picture(
        "run-rerun",
        "/ui/runs/import-7?tab=steps",
        shows=".run-steps td",
        press="main .actions .button",
        whole=False,
    ),
    Picture("run-absent", "/ui/runs/nobody", shows=".note.bad"),
    Picture("tasks", "/ui/tasks", shows=".page:has(.table) .cm-content"),
    Picture("workers", "/ui/workers?worker=press-1", shows=".orders"),
    Picture("strategy", "/ui/workers/strategy", shows=".radios"),
    Picture("cluster", "/ui/cluster", shows=".shard-map"),
    Picture("settings", "/ui/settings"),
    Picture("settings-secrets", "/ui/settings?tab=secrets"),
    Picture("settings-namespaces", "/ui/settings?tab=namespaces"),
    Picture("settings-audit", "/ui/settings?tab=audit"),
    # The last: by now its charts have something to draw.
    Picture("overview", "/", shows=".figure"),
)
LOGIN: Final = Picture("login", "/")


def take(browser: Browser, url: str, pictures: tuple[Picture, ...], folder: Path) -> int:
    taken = 0
    for language, locale in LANGUAGES.items():
        for theme in THEMES:
            for size, (width, height) in SIZES.items():
                page = browsers.open_page(
                    browser,
                    url,
                    locale=locale,
                    color_scheme=theme,
                    viewport={"width": width, "height": height},
                    reduced_motion="reduce",
                )
                for picture in pictures:
                    page.goto(picture.path)
                    expect(page.locator(picture.shows).first).to_be_visible()
                    if picture.press is not None:
                        page.locator(picture.press).first.click()
                    # Streams never end, so that silence is no sign: lists say themselves whether they load.
                    expect(page.locator("[aria-busy=true]")).to_have_count(0)
                    expect(page.locator("main").get_by_text(LOADING)).to_have_count(0)
                    name = f"{picture.name}.{language}.{theme}.{size}.png"
                    page.screenshot(path=folder / name, full_page=picture.whole)
                    taken += 1
                page.context.close()
    return taken


def main(only: Sequence[str] = ()) -> int:
    install(FOR_PICTURES)
    missing = browsers.lacking()
    if missing is not None:
        say(missing)
        return 1
    unknown = set(only) - {picture.name for picture in (*PICTURES, LOGIN)}
    if unknown:
        say(f"there is no picture {', '.join(sorted(unknown))}; tests/ui/screenshots.py lists them")
        return 1
    wanted = tuple(picture for picture in PICTURES if not only or picture.name in only)
    if not only:
        shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    taken = 0
    with tempfile.TemporaryDirectory() as place, browsers.browsing() as browser:
        if wanted:
            with stage(Path(place)) as url, Client(url) as client:
                seed(client)
                seed_tasks(url)
                with traffic(client):
                    taken += take(browser, url, wanted, FOLDER)
        if not only or LOGIN.name in only:
            with serving(Path(place) / "locked", "--login") as server:
                taken += take(browser, server.url, (LOGIN,), FOLDER)
    say(f"{taken} pictures are in {FOLDER.relative_to(browsers.REPOSITORY)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
