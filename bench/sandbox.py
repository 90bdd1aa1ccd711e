"""What a sandbox costs: an interpreter that does nothing, alone, as a plain subprocess, and in each tier.

All in one run, one after the other in turn, so that what the machine does meanwhile hits all of them alike.
Then the first job after the start of a nursery; and how many jobs end in a second, with some at once.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from bench.apart import Failed
from bench.effort import Effort
from bench.engine import in_flight, on_loop
from bench.figures import Figure
from windlass.worker.orphans import adopt_orphans
from windlass.worker.sandbox import Job
from windlass.worker.sandbox.nursery_link import NURSERY
from windlass.worker.sandbox.probe import attempts
from windlass.worker.sandbox.tier import Tier

ROUNDS: Final = 25  # per repeat
COLD: Final = 5  # per repeat: each starts a nursery
JOBS: Final = 60  # per repeat, some at once
LANES: Final = 4
TARGET: Final = "under 25 ms above the interpreter"

# One that everybody may read: a root worker's job is nobody.
PYTHON: Final = shutil.which("python3", path="/usr/bin:/usr/local/bin") or os.path.realpath(sys.executable)
ARGV: Final = (PYTHON, "-I", "-S", "-c", "pass")
READABLE: Final = () if PYTHON.startswith("/usr/") else (Path(sys.base_prefix),)

Work = Callable[[], Awaitable[None]]


def measure(folder: Path, effort: Effort) -> list[Figure]:
    adopt_orphans()
    try:
        return on_loop(_measure(effort))
    finally:
        NURSERY.close()


async def _measure(effort: Effort) -> list[Figure]:
    tiers = [tier for tier, tried in await attempts() if tier is not None and tried.works]
    works: dict[str, Work] = {"bare interpreter": _bare, "plain subprocess": _plain}
    works |= {f"sandboxed python, {tier.name}": _sandboxed(tier) for tier in tiers}
    took: dict[str, list[float]] = {name: [] for name in works}
    for name in (*works, *works):
        await works[name]()  # warm
    for _ in range(ROUNDS * effort.repeats):
        for name, work in works.items():
            took[name].append(await _timed_ms(work))
    bare = took["bare interpreter"]
    figures = [_figure(name, values, bare) for name, values in took.items()]
    if tiers:
        best = tiers[0]
        figures.append(_figure(f"first job of a nursery, {best.name}", await _cold(best, effort), bare))
    return figures + await _rates(works, effort)


def _figure(name: str, values: Sequence[float], bare: Sequence[float]) -> Figure:
    note = f"min {min(values):.1f}, p90 {quantiles(values, n=10)[-1]:.1f}"
    if values is not bare:
        note += f"; {median(values) - median(bare):+.1f} ms to the bare interpreter"
    target = TARGET if name.startswith("sandboxed") else ""
    return Figure(name, "ms", values, less_is_better=True, target=target, note=note)


async def _cold(tier: Tier, effort: Effort) -> list[float]:
    took = []
    for _ in range(COLD * effort.repeats):
        NURSERY.close()
        took.append(await _timed_ms(_sandboxed(tier)))
    return took


async def _rates(works: dict[str, Work], effort: Effort) -> list[Figure]:
    rates: dict[str, list[float]] = {name: [] for name in works if name != "bare interpreter"}
    for _ in range(effort.repeats):
        for name, values in rates.items():
            began = time.monotonic()
            await in_flight(JOBS, works[name], lanes=LANES)
            values.append(JOBS / (time.monotonic() - began))
    plain = median(rates["plain subprocess"])
    return [
        Figure(f"{name}, {LANES} at once", "jobs/s", values, note=f"{median(values) / plain:.0%} of plain")
        for name, values in rates.items()
    ]


async def _timed_ms(work: Work) -> float:
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1e3


async def _bare() -> None:
    _spawn_and_wait()


def _spawn_and_wait() -> None:
    """As little as it takes."""
    os.waitpid(os.posix_spawn(ARGV[0], ARGV, {}), 0)


async def _plain() -> None:
    """As a worker would, if it trusted the program: with its output, and without standing still."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *ARGV, stdout=pipe, stderr=pipe, stdin=asyncio.subprocess.DEVNULL
    )
    await process.communicate()


def _sandboxed(tier: Tier) -> Work:
    job = Job(ARGV, readable=READABLE)

    async def work() -> None:
        ran = await tier.run(job)
        if (ran.how, ran.code) != ("exited", 0):
            raise Failed(f"in {tier.name} the interpreter {ran.how} {ran.code} {ran.detail}")

    return work
