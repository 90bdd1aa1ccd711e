"""A limit that many runs wait for: what a permit costs, with few and with many in the line."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from bench.engine import ONE_STEP, Engine, engine, in_flight, on_loop
from bench.figures import Figure
from windlass.core import limit_key
from windlass.core.commands import AskPermit, ReturnPermit
from windlass.core.limit_key import LimitKey
from windlass.core.names import limit_key as key_of
from windlass.core.task import Json
from windlass.engine.live import Live, entity_row
from windlass.wire import codec, versions

LINES: Final = (100, 1_000, 10_000)
ONE_AT_A_TIME: Final[dict[str, Json]] = {
    "id": "one-at-a-time",
    "concurrency": 1,
    "steps": {"only": {"kind": "noop"}},
}


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one run."""

    clock_ms: float
    work_ms: float
    commits: float


def measure(folder: Path, repeats: int, runs: int, lines: Sequence[int] = LINES) -> list[Figure]:
    found: dict[int, list[float]] = {line: [] for line in lines}
    alone: list[Cost] = []
    limited: list[Cost] = []
    for n in range(repeats):
        for line, times in found.items():
            times.append(grant_us(line))
        on_loop(_handed_over(folder / f"permits-{n}", runs, alone, limited))
    few, many = found[min(lines)], found[max(lines)]
    costs = list(zip(limited, alone, strict=True))
    commits = f"{limited[0].commits:.1f} commits, one after the other, to {alone[0].commits:.1f}"
    return [
        Figure(
            f"work a permit, {max(lines):,} in line to {min(lines)}, in the core",
            "times",
            [one / other for one, other in zip(many, few, strict=True)],
            less_is_better=True,
            note=f"{median(many):.0f} to {median(few):.0f} µs",
        ),
        Figure(
            f"handover of a permit, {runs:,} runs in line",
            "runs/s",
            [1e3 / cost.clock_ms for cost in limited],
            note=f"{commits} of plain runs, one after the other",
        ),
        Figure(
            "time of a run behind a limit of one, to plain runs one after the other",
            "times",
            [one.clock_ms / other.clock_ms for one, other in costs],
            less_is_better=True,
            note=f"work {median(one.work_ms / other.work_ms for one, other in costs):.1f} times",
        ),
    ]


async def _handed_over(data: Path, runs: int, alone: list[Cost], limited: list[Cost]) -> None:
    async with engine(data) as here:
        workflow = await here.define(ONE_STEP)
        await in_flight(max(1, runs // 10), lambda: here.run(workflow), lanes=1)
        alone.append(await _cost(here, workflow, max(1, runs // 2), lanes=1))
        workflow = await here.define(ONE_AT_A_TIME)
        limited.append(await _cost(here, workflow, runs, lanes=runs))


async def _cost(here: Engine, workflow: str, runs: int, lanes: int) -> Cost:
    commits, worked = here.node.committer.tally.commits, time.process_time()
    rate = await in_flight(runs, lambda: here.run(workflow), lanes=lanes)
    work_ms = (time.process_time() - worked) / runs * 1e3
    return Cost(1e3 / rate, work_ms, (here.node.committer.tally.commits - commits) / runs)


def grant_us(line: int, grants: int = 2_000) -> float:
    """Processor time for one to give back, the next to have it, and a new one to come to the line."""
    live = Live(key_of("concurrency:bench", "default"), LimitKey())
    for number in range(line + 1):
        _perform(live, _ask(number, 0.0))
    began = time.process_time()
    for number in range(grants):
        at = 1.0 + number / 1_000
        _perform(live, ReturnPermit(holder=_holder(number), number=1, at=at))
        _perform(live, _ask(line + 1 + number, at))
    return (time.process_time() - began) / grants * 1e6


def _perform(live: Live, command: AskPermit | ReturnPermit) -> None:
    """With all that a shard does of it, but for snapshots: those are rarer the longer the line is."""
    limit = live.entity
    assert isinstance(limit, LimitKey)
    events = limit_key.perform(limit, command)
    for event in events:
        codec.write_event(event, versions.LEVEL)
    limit_key.effects(events)
    limit_key.reply(limit, command)
    entity_row(live)


def _ask(number: int, at: float) -> AskPermit:
    return AskPermit(holder=_holder(number), number=1, most=1, errand="permit:1", at=at)


def _holder(number: int) -> str:
    return f"run/default/{number:08}"
