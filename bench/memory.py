"""What open runs cost in memory: awake, asleep on disk, and how soon an engine with many of them is ready.

Memory is that of a new process which opens the journal, less that of one which opens an empty journal: so
neither garbage nor the writer's cache of the process that made the runs is counted. It varies by some
hundred kB from process to process; what is near that is nothing.
"""

from __future__ import annotations

import asyncio
import gc
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from bench.apart import apart
from bench.effort import Effort
from bench.engine import Engine, engine, in_flight, on_loop
from bench.figures import Figure
from bench.machine import rss_bytes
from windlass.config import Config
from windlass.core.commands import PauseRun
from windlass.core.names import Key
from windlass.core.task import Json

# Nobody has the capability: the run is open, and its step is queued for as long as we like.
WAITING: Final[dict[str, Json]] = {
    "id": "waiting",
    "steps": {"only": {"kind": "noop", "requires": ["what nobody has"]}},
}
PER: Final = 10_000
AT_ONCE_IDLE: Final = Config(idle_s=0.0)
ASLEEP_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Opened:
    """What an engine that has just opened its journal takes."""

    bytes: int
    took_s: float
    live: int


def measure(folder: Path, effort: Effort) -> list[Figure]:
    count = effort.open_runs
    apart(_make, folder / "awake", count, "awake")
    apart(_make, folder / "asleep", count, "asleep")
    repeats = range(effort.repeats)
    empty = [apart(_open, folder / "empty") for _ in repeats]
    per = PER / count
    figures: list[Figure] = []
    for name in ("awake", "asleep"):
        opened = [apart(_open, folder / name) for _ in repeats]
        live = {one.live for one in opened}
        assert live == ({0} if name == "asleep" else {count}), f"{name}: {live} runs in memory"
        pairs = list(zip(opened, empty, strict=True))
        growth = [(one.bytes - bare.bytes) * per / 2**20 for one, bare in pairs]
        figures.append(Figure(f"memory of 10,000 open runs, {name}", "MiB", growth, less_is_better=True))
        took = [one.took_s for one in opened]
        note = f"an empty journal: {median(one.took_s for one in empty):.2f} s"
        what = f"opening a journal of {count:,} open runs, {name}"
        figures.append(Figure(what, "s", took, less_is_better=True, note=note))
    return figures


def _make(data: Path, count: int, state: str) -> None:
    on_loop(_making(data, count, state))


async def _making(data: Path, count: int, state: str) -> None:
    config = AT_ONCE_IDLE if state == "asleep" else Config()
    async with engine(data, config) as here:
        workflow = await here.define(WAITING)

        async def open_one() -> None:
            key = await here.start(workflow)
            if state == "asleep":
                await _pause(here, key)

        await in_flight(count, open_one)
        if state == "asleep":
            await _all_asleep(here)


async def _pause(here: Engine, key: Key) -> None:
    await here.node.router.send(key, PauseRun(id="pause", at=here.node.clock.now()))


async def _all_asleep(here: Engine) -> None:
    async with asyncio.timeout(ASLEEP_S):
        while _live(here):
            for shard in here.node.router.shards():
                shard.sweep()
            await asyncio.sleep(0.05)


def _live(here: Engine) -> int:
    return sum(shard.live_count for shard in here.node.router.shards())


def _open(data: Path) -> Opened:
    return on_loop(_opening(data))


async def _opening(data: Path) -> Opened:
    began = time.perf_counter()
    async with engine(data) as here:
        took_s = time.perf_counter() - began
        gc.collect()
        return Opened(rss_bytes(), took_s, _live(here))
