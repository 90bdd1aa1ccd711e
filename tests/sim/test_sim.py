"""The production engine under simulated faults, and the simulator itself under planted ones."""

from __future__ import annotations

import asyncio
import pickle

import pytest

from windlass.sim.loop import Deadlock, Livelock, SimLoop, run
from windlass.sim.planted import PLANTED, PLANTED_AMONG_MANY
from windlass.sim.stories import SeedFailed, play, play_all

SEEDS = range(150)
CLUSTER_SEEDS = range(70)
# What befalls commits, tasks and the leases of any node, and what befalls several nodes.
ALONE = {
    "busy", "crash_after", "crash_before", "doubled", "fails", "ghost", "hangs", "late", "lease_lost_after",
    "lease_lost_before", "poisoned", "refused", "slow", "unknown_after", "unknown_before", "worker_dies",
    "kill_worker", "message_late", "message_lost", "message_twice",
}  # fmt: skip
TOGETHER = (ALONE - {"refused"}) | {
    "clock_jumps", "cut", "cut_from_database", "cut_one_way", "database_away", "drain", "freeze", "isolate",
    "kill", "older_database", "sever", "freeze_worker", "cut_worker", "sever_worker",
}  # fmt: skip
# From which seed on to look for them: a story of several nodes takes a tenth of a second, and some are rare.
FOUND_AMONG_MANY = {
    "no fence": 30,
    "effects before commit": 0,
    "no resume": 0,
    "alarms are lost with memory": 0,
    "unfenced offers": 10,
    "lease trusted after a gap": 10,
    "no adoption": 0,
    "detector counts through gaps": 0,
    "another database is not noticed": 5,
    "large values left out": 0,
}


@pytest.mark.timeout(600)  # it waits for nothing, so it takes as long as the machine is busy with others
def test_nothing_is_lost_doubled_or_stuck_whatever_fails() -> None:
    tally = play_all(SEEDS)
    assert tally.acknowledged >= 15 * len(SEEDS)
    # It must not pass by being spared: every fault there is has struck.
    assert set(tally.injected) == ALONE
    assert tally.crashes > len(SEEDS)
    assert set(tally.ends) == {"succeeded", "failed", "cancelled", "partial_success"}


@pytest.mark.timeout(600)
@pytest.mark.accepts("S0.84")
def test_nothing_is_lost_doubled_or_stuck_and_nobody_writes_beside_the_owner_among_many_nodes() -> None:
    tally = play_all(CLUSTER_SEEDS, cluster=True)
    assert tally.acknowledged >= 15 * len(CLUSTER_SEEDS)
    assert set(tally.injected) >= TOGETHER
    assert tally.crashes > len(CLUSTER_SEEDS)
    assert set(tally.ends) == {"succeeded", "failed", "cancelled", "partial_success"}


@pytest.mark.parametrize("cluster", [False, True])
def test_the_same_seed_tells_the_same_story(cluster: bool) -> None:
    assert play(7, cluster=cluster) == play(7, cluster=cluster)


@pytest.mark.parametrize(("name", "first"), FOUND_AMONG_MANY.items())
def test_a_fault_planted_into_several_nodes_is_found(name: str, first: int) -> None:
    with PLANTED_AMONG_MANY[name](), pytest.raises(SeedFailed) as found:
        play_all(range(first, first + 100), cluster=True)
    assert f"make sim SEED={found.value.seed} NODES=many" in str(found.value)


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name: str) -> None:
    with PLANTED[name](), pytest.raises(SeedFailed) as found:
        play_all(range(300))
    assert f"make sim SEED={found.value.seed}" in str(found.value)


def test_a_seed_that_fails_in_another_process_is_told_with_how_to_repeat_it() -> None:
    failed = pickle.loads(pickle.dumps(SeedFailed(7, ValueError("why"), cluster=True)))
    assert isinstance(failed, SeedFailed) and failed.seed == 7
    assert str(failed) == "seed 7: why\n  repeat it: make sim SEED=7 NODES=many"


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


def test_a_simulation_that_does_the_same_for_ever_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windlass.sim.loop.STEPS_MAX", 1_000)

    async def forever(_: SimLoop) -> None:
        while True:  # noqa: ASYNC110  # that is what is wrong with it
            await asyncio.sleep(0)

    with pytest.raises(Livelock):
        run(forever, 0)
