"""Lists and searches over HTTP among many finished runs: `python -m bench lists --runs 1000000`.

The journal is seeded (`bench.seed_runs`) and served by a `windlass up` of its own; one client asks, one
request at a time. What is shown is the 99th percentile, promised to be under 100 ms among 1,000,000 runs.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Final
from urllib.parse import urlencode

from bench import past
from bench.apart import apart
from bench.effort import Effort
from bench.engine import on_loop, timed
from bench.figures import Figure
from bench.process import Link, up
from bench.seed_runs import seed
from windlass.gateway.parameters import cursor_text

RUNS_MIN: Final = 1_000
RUNS: Final = "/api/v1/runs"
STATUS: Final = f"/api/v1/workflows/{past.HUGE}/status"
RETENTION: Final = f"{past.DAYS + 10}d"  # nothing is purged while we measure
WARM: Final = 5  # requests that do not count
REQUESTS: Final = 200  # of each kind and repeat,
PATIENCE_S: Final = 4.0  # or fewer, if they take longer
ENOUGH: Final = 3
COMMON: Final = "exec_"  # as the ids of all begin,
RARE: Final = 13  # and so many characters are those of a few: ids begin with their time
DAY_S: Final = 86_400.0
TARGET: Final = "under 100 ms"

Ask = Callable[[random.Random], str]  # the path of the next request


@dataclass(frozen=True, slots=True)
class Past:
    """What there is to ask about."""

    began: float
    ended: float
    ids: list[str]

    @property
    def older(self) -> str:
        """What many ids begin with, none of them of the newest."""
        return next(text for n in range(len(COMMON), 20) if (text := min(self.ids)[:n]) != max(self.ids)[:n])

    def moment(self, chance: random.Random) -> float:
        return chance.uniform(self.began, self.ended)


def measure(folder: Path, effort: Effort) -> list[Figure]:
    count = effort.finished_runs
    apart(seed, folder, count)
    found: dict[str, list[list[float]]] = {}
    with up(folder, "--retention", RETENTION) as url:
        for n in range(effort.repeats):
            for name, took in on_loop(_repeat(url, random.Random(n))).items():
                found.setdefault(name, []).append(took)
    return [_figure(f"{name}, of {count:,} runs", repeats) for name, repeats in found.items()]


def _figure(name: str, repeats: list[list[float]]) -> Figure:
    p99 = [quantiles(took, n=100)[98] for took in repeats]
    note = f"p50 {median(median(took) for took in repeats):.1f} ms, {sum(map(len, repeats))} requests"
    return Figure(f"p99 of {name}", "ms", p99, less_is_better=True, target=TARGET, note=note)


async def _repeat(url: str, chance: random.Random) -> dict[str, list[float]]:
    link = await Link.open(url)
    there = await _look(link)
    found = {name: await _timed(link, ask, chance) for name, ask in _asks(there).items()}
    await link.close()
    return found


async def _look(link: Link) -> Past:
    now = time.time()
    began = now - past.PAST_S
    chance, ids = random.Random(0), list[str]()
    for _ in range(20):
        path = _list(after=cursor_text(chance.uniform(began, now), ""), limit=50)
        ids += [item["id"] for item in json.loads(await link.get(path))["items"]]
    return Past(began, now, ids)


async def _timed(link: Link, ask: Ask, chance: random.Random) -> list[float]:
    """Milliseconds of each request. What takes far too long is asked less often."""
    deadline, took = time.monotonic() + PATIENCE_S, list[float]()
    for _ in range(WARM + REQUESTS):
        await timed(partial(link.get, ask(chance)), took)
        if len(took) >= ENOUGH and time.monotonic() > deadline:
            break
    return took[min(WARM, len(took) - ENOUGH) :]


def _asks(there: Past) -> dict[str, Ask]:
    def deep(chance: random.Random) -> str:
        return cursor_text(there.moment(chance), "")

    def day(chance: random.Random) -> dict[str, object]:
        at = there.moment(chance)
        return {"startedAfter": at, "startedBefore": at + DAY_S}

    def customer(chance: random.Random) -> str:
        return f"customer={past.customer(chance.randrange(past.CUSTOMERS))}"

    team = f"team={past.TEAMS[0]}"
    huge = past.HUGE
    return {
        "the first page": lambda chance: _list(),
        "a page far down": lambda chance: _list(after=deep(chance)),
        "a page of 1,000": lambda chance: _list(after=deep(chance), limit=1_000),
        "a huge workflow": lambda chance: _list(workflow=huge, after=deep(chance)),
        "a common status": lambda chance: _list(status="succeeded", after=deep(chance)),
        "a rare status": lambda chance: _list(status="partial_success"),
        "a status nobody has": lambda chance: _list(status="running"),
        "a huge workflow, a rare status": lambda chance: _list(workflow=huge, status="cancelled"),
        "a huge workflow, a status nobody has": lambda chance: _list(workflow=huge, status="partial_success"),
        "a common label": lambda chance: _list(label=team, after=deep(chance)),
        "a rare label": lambda chance: _list(label=customer(chance)),
        "a common label, a rare status": lambda chance: _list(label=team, status="partial_success"),
        "a day": lambda chance: _list(**day(chance)),
        "a day of a huge workflow, a rare status": lambda chance: _list(
            workflow=huge, status="cancelled", **day(chance)
        ),
        "a page far down before a moment": lambda chance: _list(
            startedBefore=there.ended, after=deep(chance)
        ),
        "a search for one id": lambda chance: _list(search=chance.choice(there.ids)),
        "a search for a rare beginning": lambda chance: _list(search=chance.choice(there.ids)[:RARE]),
        "a search for a common beginning": lambda chance: _list(search=COMMON, after=deep(chance)),
        "a search for half of all, the older one": lambda chance: _list(search=there.older),
        "a search for a part of a workflow": lambda chance: _list(search="REPORT"),
        "a search for a part of a huge workflow": lambda chance: _list(search="order", after=deep(chance)),
        "a search for a common beginning, a rare status": lambda chance: _list(
            search=COMMON, status="partial_success"
        ),
        "a search for a part of a workflow, a rare label": lambda chance: _list(
            search="order", label=customer(chance)
        ),
        "a search that finds nothing": lambda chance: _list(search=f"nothing-{chance.random()}"),
        "one run": lambda chance: f"{RUNS}/{chance.choice(there.ids)}",
        "the events of one run": lambda chance: f"{RUNS}/{chance.choice(there.ids)}/events",
        "the status of a huge workflow": lambda chance: STATUS,
    }


def _list(**asked: object) -> str:
    return f"{RUNS}?{urlencode(asked)}"
