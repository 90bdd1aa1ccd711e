"""The production engine under simulated faults, and the simulator itself under planted ones."""

from __future__ import annotations

import asyncio

import pytest

from windlass.sim.loop import Deadlock, SimLoop, run
from windlass.sim.planted import PLANTED
from windlass.sim.stories import SeedFailed, play, play_all

SEEDS = range(150)


def test_nothing_is_lost_doubled_or_stuck_whatever_fails() -> None:
    tally = play_all(SEEDS)
    assert tally.acknowledged == 15 * len(SEEDS)
    # It must not pass by being spared: every fault there is has struck.
    expected = {
        "busy", "crash_after", "crash_before", "doubled", "fails", "ghost", "hangs", "late", "poisoned",
        "refused", "slow", "unknown_after", "unknown_before", "worker_dies",
    }  # fmt: skip
    assert set(tally.injected) == expected
    assert tally.crashes > len(SEEDS)
    assert set(tally.ends) == {"succeeded", "failed", "cancelled", "partial_success"}


def test_the_same_seed_tells_the_same_story() -> None:
    assert play(7) == play(7)


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name: str) -> None:
    with PLANTED[name](), pytest.raises(SeedFailed) as found:
        play_all(range(300))
    assert f"make sim SEED={found.value.seed}" in str(found.value)


def test_time_costs_nothing_in_a_simulation() -> None:
    async def nap(loop: SimLoop) -> float:
        await asyncio.sleep(86_400.0)
        return loop.time()

    assert run(nap, 0) == 86_400.0


def test_a_simulation_in_which_nothing_can_happen_any_more_says_so() -> None:
    async def forever(_: SimLoop) -> None:
        await asyncio.Event().wait()

    with pytest.raises(Deadlock):
        run(forever, 0)


def test_a_simulation_has_no_threads() -> None:
    async def hop(loop: SimLoop) -> None:
        await loop.run_in_executor(None, int)

    with pytest.raises(AssertionError, match="threads do not exist"):
        run(hop, 0)
