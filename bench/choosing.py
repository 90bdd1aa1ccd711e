"""What it costs to choose a worker, among one and among ten thousand, by each strategy.

Counted is all that one task asks of the index: choose, mark as taken, tell of it, free, tell of it. Beside it
stands the plain way, in the same process and at the same moment: filter everybody, take the smallest key.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final

from bench.effort import Effort
from bench.figures import Figure
from windlass.core.assign.filters import barred
from windlass.core.assign.index import Custom, Index, Wanted
from windlass.core.assign.keys import load
from windlass.core.assign.policy import STRATEGIES, Policy
from windlass.core.cluster import NodeId
from windlass.core.errors import Invalid
from windlass.core.fleet import Facts, Rules, Seen, known
from windlass.core.names import SessionId, WorkerId

CROWDS: Final = (1, 100, 1_000, 10_000)
HERE: Final = NodeId("here")
SLOTS: Final = 10
NEEDS: Final = frozenset({"python", "gpu"})
RULES: Final = Rules(silent_s=1e9)
POLICY: Final = Policy()
HELD: Final = 4  # so many of ten workers have work all the time


def measure(folder: Path, effort: Effort) -> list[Figure]:
    tasks = effort.runs
    took: dict[tuple[str, int], list[float]] = {}
    plain: dict[int, list[float]] = {}
    for repeat in range(effort.repeats):
        for count in CROWDS:
            plain.setdefault(count, []).append(_plain_us(count, max(20, 40_000 // count), seed=repeat))
            for strategy in STRATEGIES:
                took.setdefault((strategy, count), []).append(_index_us(strategy, count, tasks, seed=repeat))
    return [
        _figure(strategy, count, took[strategy, count], took[strategy, 1], plain[count])
        for strategy in STRATEGIES
        for count in CROWDS
    ]


def _figure(strategy: str, count: int, took: list[float], alone: list[float], plain: list[float]) -> Figure:
    ratio = median(many / one for many, one in zip(took, alone, strict=True))
    scan = median(slow / quick for slow, quick in zip(plain, took, strict=True))
    told = f"{ratio:.1f} times that of 1; asking all: {scan:,.1f} times this"
    return Figure(f"{strategy} among {count:,}", "µs", took, less_is_better=True, note=told)


def _index_us(strategy: str, count: int, tasks: int, *, seed: int) -> float:
    chance = random.Random(seed)
    index = Index(here=lambda: HERE, host="", host_group="", chance=chance, rules=RULES, custom=_no_custom)
    for seen in _crowd(count, chance):
        index.put(seen)
    wanted = Wanted(NEEDS, "default", Policy(strategy=strategy), affinity=f"w{count // 2}", kind="python")

    def one(now: float) -> None:
        choice = index.choose(wanted, now)
        assert choice is not None
        seen = choice.worker
        seen.active += 1
        index.changed(seen)
        seen.active -= 1
        index.changed(seen)

    return _each_us(one, tasks)


def _plain_us(count: int, tasks: int, *, seed: int) -> float:
    crowd = _crowd(count, random.Random(seed))
    wanted = Wanted(NEEDS, "default", POLICY)

    def one(now: float) -> None:
        able = [seen for seen in crowd if not barred(seen, wanted, now, RULES)]
        best = min(able, key=lambda seen: (load(seen, POLICY), seen.order))
        best.active += 1
        best.active -= 1

    return _each_us(one, tasks)


def _each_us(one: Callable[[float], None], tasks: int) -> float:
    for warm in range(5):
        one(float(warm))
    began = time.perf_counter()
    for number in range(tasks):
        one(5.0 + number / 1_000)
    return (time.perf_counter() - began) / tasks * 1e6


def _crowd(count: int, chance: random.Random) -> list[Seen]:
    """Most of them with some work and some load, and all of them able."""
    crowd = []
    for number in range(count):
        facts = Facts(
            id=WorkerId(f"w{number}"),
            session=SessionId(f"s{number}"),
            slots=SLOTS,
            capabilities=("python", "gpu"),
        )
        seen = known(facts, HERE, order=number)
        seen.registered = True
        seen.active = chance.randrange(SLOTS - 1) if number % SLOTS < HELD else 0
        seen.cpu, seen.memory = chance.random(), chance.random()
        crowd.append(seen)
    return crowd


def _no_custom(name: str) -> Custom:
    raise Invalid(f"there is no strategy {name}")
