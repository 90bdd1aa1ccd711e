"""What a process takes while it works: its memory, its open files, its minders. And whether that grows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.machine import rss_bytes

MINDER: Final = b"minder.loop"
GROWTH_MAX_MIB: Final = 2.0  # a minute: more than that is not flat
JUDGED_S: Final = 60.0  # what is shorter says nothing about growth


@dataclass(frozen=True, slots=True)
class Sample:
    at_s: float  # since the beginning
    rss_mib: float
    files: int
    minders: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """Over the second half, when every cache is full: the slope of the straight line that fits best."""

    growth_mib: float  # a minute
    judged: bool  # there was time enough

    @property
    def flat(self) -> bool:
        return self.growth_mib < GROWTH_MAX_MIB

    def words(self) -> str:
        slope = f"{self.growth_mib:+.2f} MiB a minute over the second half"
        if not self.judged:
            return f"not judged: shorter than {JUDGED_S:g} s ({slope})"
        return f"{'flat' if self.flat else 'NOT FLAT'}: {slope}; the bound is {GROWTH_MAX_MIB:+.2f}"


def judge(samples: Sequence[Sample]) -> Verdict:
    if len(samples) < 4:
        return Verdict(0.0, judged=False)
    begin, end = samples[0].at_s, samples[-1].at_s
    half = [sample for sample in samples if sample.at_s >= (begin + end) / 2]
    slope = _slope([sample.at_s for sample in half], [sample.rss_mib for sample in half])
    return Verdict(60.0 * slope, judged=end - begin >= JUDGED_S)


async def watch(pid: int, every_s: float, tell: Callable[[Sample], None]) -> None:
    """Look at the process every so often, until cancelled."""
    began = time.monotonic()
    while True:
        sample = await asyncio.to_thread(look, pid, began)
        tell(sample)
        await asyncio.sleep(every_s - (time.monotonic() - began) % every_s)


def look(pid: int, began: float) -> Sample:
    files = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    return Sample(time.monotonic() - began, rss_bytes(pid) / 2**20, files, _minders(pid))


def _minders(pid: int) -> int:
    """Children of the process; what they start has another parent."""
    found = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name may hold anything, also parentheses: what follows the last one is sound.
            parent = int(stat.read_bytes().rpartition(b")")[2].split()[1])
            found += parent == pid and MINDER in (stat.parent / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we looked
    return found


def _slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Of the line with the least squares."""
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((one - x) ** 2 for one in xs)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / spread if spread else 0.0
