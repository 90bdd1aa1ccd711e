"""Reading a run back: a long history must cost no more than the state it led to.

Three runs: a short history, a long one of the same small state (it was paused and resumed over and over), and
as many events that led to a large state (a fan-out). What is timed is what an engine does to have the run
back in memory: read its newest snapshot and the events after it, and fold them.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.apart import apart
from bench.effort import Effort
from bench.engine import Engine, engine, on_loop
from bench.figures import Figure
from windlass.config import JOURNAL
from windlass.core import document, sharding
from windlass.core.commands import PauseRun, ResumeRun
from windlass.core.names import Key
from windlass.core.task import Json
from windlass.engine.live import fold_run
from windlass.journal.sqlite import SqliteStore

REST: Final[dict[str, Json]] = {"kind": "noop", "requires": ["what nobody has"]}  # it keeps the run open
SMALL: Final[dict[str, Json]] = {"id": "small", "steps": {"rest": REST}}
SHORT: Final = 1_000
AT_ONCE: Final = 200  # pairs of commands in the inbox at a time
READS: Final = 5
PATIENCE_S, LOOK_S = 60.0, 0.05


@dataclass(frozen=True, slots=True)
class Back:
    """A run that was read back."""

    took_ms: list[float]
    events: int
    folded: int  # events after the snapshot


def measure(folder: Path, effort: Effort) -> list[Figure]:
    found: dict[str, Back] = {}
    for name, events in (("short", SHORT), ("long", effort.events), ("wide", effort.events)):
        written = _wide(events // 2) if name == "wide" else SMALL
        key = apart(_make, folder / name, written, events)
        found[name] = apart(_read, folder / name, key, written)
    figures: list[Figure] = []
    for name, words in (
        ("short", "of one step"),
        ("long", "of one step"),
        ("wide", f"of {effort.events // 2:,} steps"),
    ):
        back = found[name]
        figures.append(
            Figure(
                f"reading back {back.events:,} events {words}",
                "ms",
                back.took_ms,
                less_is_better=True,
                note=f"a snapshot and {back.folded} events",
            )
        )
    ratio = figures[1].value / figures[0].value
    name = f"reading back {found['long'].events:,} to {found['short'].events:,} events"
    figures.append(Figure(name, "times", [ratio], less_is_better=True, target="bounded: near 1"))
    return figures


def _make(data: Path, written: dict[str, Json], events: int) -> Key:
    return on_loop(_making(data, written, events))


async def _making(data: Path, written: dict[str, Json], events: int) -> Key:
    """An open run with at least so many events."""
    async with engine(data) as here:
        key = await here.start(await here.define(written))
        if written == SMALL:
            await _pause_and_resume(here, key, times=events // 3)
        for _ in range(round(PATIENCE_S / LOOK_S)):
            if await here.node.router.events(key, after=events - 1, limit=1):
                return key
            await asyncio.sleep(LOOK_S)
        raise TimeoutError(f"the run has not come to {events} events within {PATIENCE_S:g} s")


async def _pause_and_resume(here: Engine, key: Key, times: int) -> None:
    """Three events each time: paused, resumed, and the step queued again."""
    for first in range(0, times + 1, AT_ONCE):
        async with asyncio.TaskGroup() as group:
            for n in range(first, first + AT_ONCE):
                now = here.node.clock.now()
                group.create_task(here.node.router.send(key, PauseRun(id=f"pause {n}", at=now)))
                group.create_task(here.node.router.send(key, ResumeRun(id=f"resume {n}", at=now)))


def _read(data: Path, key: Key, written: dict[str, Json]) -> Back:
    return on_loop(_reading(data, key, written))


async def _reading(data: Path, key: Key, written: dict[str, Json]) -> Back:
    shard = sharding.of(key.id, 100)
    definition = document.read(written)
    took: list[float] = []
    for _ in range(READS):
        store = await SqliteStore.open(data / JOURNAL)
        try:
            began = time.perf_counter()
            (stored,) = await store.load(shard, [key])
            live = fold_run(stored, definition)
            took.append((time.perf_counter() - began) * 1e3)
        finally:
            await store.close()
    return Back(took, live.seq, len(stored.facts))


def _wide(steps: int) -> dict[str, Json]:
    return {"id": "wide", "steps": {"rest": REST, **{f"s{n}": {"kind": "noop"} for n in range(steps)}}}
