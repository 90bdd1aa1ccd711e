"""The settings of seed 001, by their names and in milliseconds, as an engine with real workers keeps them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from itertools import pairwise
from pathlib import Path

import aiohttp
import pytest

from tests.cluster.looking import passes
from tests.fleet.shop import WITHIN_S, Shop, a_shop
from tests.waiting import wait_until
from windlass.wire import crew
from windlass.wire.crew import Greet, Welcome

BEAT_S, SILENT_S = 0.5, 4.0
NOTICED_S = 1.5  # what a busy machine may add


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    settings = {
        "HEARTBEAT_INTERVAL": "500",
        "FAILURE_DETECTION_TIMEOUT": "4000",
        "ASSIGNMENT_STRATEGY": "round-robin",
    }
    with a_shop(tmp_path_factory.mktemp("settings") / "shop", **settings) as made:
        yield made


@pytest.fixture
def shop(opened: Shop) -> Iterator[Shop]:
    yield opened
    opened.dismiss_all()


def heard(shop: Shop, name: str) -> float:
    """When the worker was last heard of, as the API says."""
    worker = shop.worker(name)
    assert worker is not None
    return datetime.fromisoformat(worker["lastHeartbeat"]).timestamp()


@pytest.mark.accepts("S1.14")
def test_a_worker_beats_as_often_as_heartbeat_interval_says(shop: Shop, tmp_path: Path) -> None:
    shop.hire("beater", offers="b")
    beats: list[float] = []

    def listen() -> bool:
        at = heard(shop, "beater")
        if not beats or at - beats[-1] > BEAT_S / 10:
            beats.append(at)
        return len(beats) > 8

    wait_until(listen, WITHIN_S)
    gaps = sorted(after - before for before, after in pairwise(beats[1:]))
    assert BEAT_S * 0.8 < gaps[len(gaps) // 2] < BEAT_S * 1.4, gaps  # one may be late on a busy machine
    # And with the value of the seed, the node tells workers just that.
    with a_shop(tmp_path / "shop", HEARTBEAT_INTERVAL="30000", FAILURE_DETECTION_TIMEOUT="90000") as other:
        welcome = asyncio.run(welcome_of(other.url))
    assert (welcome.beat_s, welcome.silent_s) == (30.0, 90.0)


async def welcome_of(url: str) -> Welcome:
    greeting = Greet(1, 1, worker="asker", session="s", slots=1, capabilities=("noop",))
    async with aiohttp.ClientSession() as session, session.ws_connect(url + crew.PATH) as socket:
        await socket.send_bytes(crew.encode([greeting]))
        (first, *_) = crew.from_node(await socket.receive_bytes())
    assert isinstance(first, Welcome)
    return first


@pytest.mark.accepts("S1.16", "S3.48")
def test_a_silent_worker_gets_no_tasks_after_the_failure_detection_timeout_and_not_before(shop: Shop) -> None:
    (hand,) = shop.hire("mute", offers="m")
    hand.freeze()
    try:
        last = heard(shop, "mute")
        # Silent for less than that, it is as good as any other, and is given a task.
        wait_until(lambda: time.time() > last + 2 * BEAT_S)
        early = shop.hold("m")
        wait_until(lambda: shop.step(early)["worker"] == "mute")
        assert time.time() < last + SILENT_S
        last = heard(shop, "mute")  # what it said just before may have come later
        # It is failed when the time is over, and not before.
        seen: list[float] = []

        def failed() -> bool:
            asked = time.time()
            if shop.state("mute") == "OFFLINE":
                seen.append(time.time())
                return True
            assert asked < last + SILENT_S + NOTICED_S
            return False

        wait_until(failed, WITHIN_S)
        assert last + SILENT_S <= seen[0] + 0.05
        late = shop.hold("m")
        assert shop.barred(late, "mute") == "unhealthy"
        assert "mute" in shop.explained(late)
        assert shop.executions(late) == []
    finally:
        hand.thaw()
    # Heard of again, it does both.
    for run in (early, late):
        shop.let_go(run)
        assert shop.ended(run)["worker"] == "mute"


@pytest.mark.accepts("S1.18")
def test_with_enable_failover_false_a_lost_attempt_waits_for_an_operator(tmp_path: Path) -> None:
    with a_shop(tmp_path / "shop", ENABLE_FAILOVER="false") as shop:
        hands = {hand.name: hand for hand in shop.hire("f1", "f2", offers="f")}
        run = shop.hold("f")
        (mark,) = shop.begun(run)
        hands.pop(mark.place).kill()
        wait_until(lambda: shop.step(run)["parked"], WITHIN_S)
        # The other one could do it, and is not given it.
        passes(1.0)
        assert len(shop.executions(run)) == 1
        told = shop.explained(run)
        assert "failover is off" in told and f"windlass release {run} only" in told
        shop.typed("release", run, "only")
        shop.let_go(run)
        step = shop.ended(run)
        assert (step["attempts"], step["worker"]) == (2, next(iter(hands)))


@pytest.mark.accepts("S1.17")
def test_lost_work_is_tried_again_max_retries_times_and_then_waits_for_an_operator(tmp_path: Path) -> None:
    with a_shop(tmp_path / "shop", "--deaths-max", "10", MAX_RETRIES="3") as shop:
        hands = {hand.name: hand for hand in shop.hire("r1", "r2", "r3", "r4", "r5", offers="r")}
        run = shop.hold("r")
        for attempt in (1, 2, 3, 4):  # the first, and three retries
            mark = shop.begun(run, attempt)[-1]
            assert (mark.attempt, shop.step(run)["parked"]) == (attempt, None)
            hands.pop(mark.place).kill()
        wait_until(lambda: shop.step(run)["parked"], WITHIN_S)
        assert (shop.step(run)["parked"]["losses"], len(shop.executions(run))) == (4, 4)
        assert "4 of its attempts were lost and 3 may be" in shop.explained(run)


@pytest.mark.accepts("S1.19")
def test_round_robin_is_even_and_another_strategy_holds_from_the_next_task_on(shop: Shop) -> None:
    names = ["r1", "r2", "r3"]
    shop.hire(*names, offers="r")
    runs = [shop.hold("r") for _ in range(9)]
    for run in runs:
        shop.begun(run)
    turns = [shop.step(run)["worker"] for run in runs]
    assert Counter(turns) == dict.fromkeys(names, 3), turns
    # Switched while these run: they stay where they are, and the next ones go by the new word.
    shop.client.set_assignment("affinity")
    try:
        later = [shop.hold("r") for _ in range(4)]
        for run in later:
            shop.begun(run)
        assert len({shop.step(run)["worker"] for run in later}) == 1
        told = [shop.client.placement(run, "only")["strategy"] for run in (*runs, *later)]
        assert told == ["round-robin"] * 9 + ["affinity"] * 4
        assert [shop.step(run)["worker"] for run in runs] == turns
    finally:
        shop.client.reset_assignment()
    for run in (*runs, *later):
        shop.let_go(run)
        assert shop.ended(run)["attempts"] == 1


@pytest.mark.accepts("S1.9", "S3.51")
def test_what_nobody_can_do_waits_names_what_is_missing_and_goes_to_whoever_comes(shop: Shop) -> None:
    # Given a worker that can do much, but not this
    shop.hire("able", offers="gpu,eu")
    run = shop.hold("tpu", assign="capability")
    wait_until(lambda: shop.barred(run, "able") == "lacks tpu")
    assert "tpu" in shop.explained(run)
    done = shop.start("gpu", "mark", {"ms": 1})
    assert shop.ended(done)["worker"] == "able"
    assert shop.executions(run) == []
    # When one comes that can, it has it, and nothing else was done to anybody
    shop.hire("rare", offers="tpu")
    shop.let_go(run)
    step = shop.ended(run)
    assert (step["attempts"], step["worker"]) == (1, "rare")
    assert {mark.place for mark in shop.executions(run)} == {"rare"}


@pytest.mark.accepts("S1.5")
def test_the_load_of_a_worker_is_known_when_it_registers_and_new_with_each_beat(shop: Shop) -> None:
    shop.hire("loaded", offers="l")
    worker = shop.worker("loaded")
    assert worker is not None and worker["active"] == 0
    assert 0 <= worker["cpu"] <= 1 and 0 < worker["memory"] <= 1
    runs = [shop.hold("l") for _ in range(2)]
    wait_until(partial(told_active, shop, "loaded", 2))
    shares = set[float]()

    def measured() -> bool:
        """What it tells changes with what its machine does."""
        now = shop.worker("loaded")
        assert now is not None and 0 <= now["cpu"] <= 1 and 0 < now["memory"] <= 1
        shares.add(now["cpu"])
        return len(shares) > 2

    wait_until(measured, WITHIN_S)
    for run in runs:
        shop.let_go(run)
        shop.ended(run)
    wait_until(partial(told_active, shop, "loaded", 0))


def told_active(shop: Shop, name: str, count: int) -> bool:
    worker = shop.worker(name)
    return worker is not None and worker["active"] == count
