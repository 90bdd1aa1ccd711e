"""Seeds played to their end, and what came of them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from windlass.sim.loop import SimLoop, run
from windlass.sim.world import Report, World


@dataclass
class Tally:
    seeds: int = 0
    simulated_s: float = 0.0
    acknowledged: int = 0
    commits: int = 0
    events: int = 0
    tasks: int = 0
    crashes: int = 0
    injected: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)

    def add(self, report: Report) -> None:
        self.seeds += 1
        self.simulated_s += report.simulated_s
        self.acknowledged += report.acknowledged
        self.commits += report.commits
        self.events += report.events
        self.tasks += report.tasks
        self.crashes += report.crashes
        self.injected.update(report.injected)
        self.ends.update(report.ends)


CLUSTER_SIZES: Final = (3, 4, 5)


class SeedFailed(AssertionError):
    def __init__(self, seed: int, cause: BaseException, *, cluster: bool) -> None:
        nodes = " NODES=many" if cluster else ""
        super().__init__(f"seed {seed}: {cause}\n  repeat it: make sim SEED={seed}{nodes}")
        self.seed = seed
        self._made_of = (seed, str(cause), cluster)

    def __reduce__(self) -> tuple[object, ...]:
        """It comes from another process."""
        return _again, self._made_of


def _again(seed: int, cause: str, cluster: bool) -> SeedFailed:
    return SeedFailed(seed, Exception(cause), cluster=cluster)


def play(seed: int, *, cluster: bool = False) -> Report:
    """One seed, from the first fault to the last run's end."""

    async def story(loop: SimLoop) -> Report:
        nodes = loop.random.choice(CLUSTER_SIZES) if cluster else 1
        return await World(loop, seed, nodes=nodes).play()

    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # the engine rightly complains a lot here
    try:
        return run(story, seed)
    except Exception as error:
        raise SeedFailed(seed, _cause(error), cluster=cluster) from error
    finally:
        logging.disable(before)


def play_all(seeds: Iterable[int], *, cluster: bool = False) -> Tally:
    tally = Tally()
    for seed in seeds:
        tally.add(play(seed, cluster=cluster))
    return tally


def _cause(error: Exception) -> BaseException:
    """The first that went wrong."""
    found: BaseException = error
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found
