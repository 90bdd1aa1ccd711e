"""What a worker and its node promise each other, with real processes: kill -9, SIGTERM, and back again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from tests.fleet.shop import WITHIN_S, Shop, a_shop
from tests.waiting import lives, wait_until


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with a_shop(tmp_path_factory.mktemp("promises") / "shop", "--worker-heartbeat", "1s") as made:
        yield made


@pytest.fixture
def shop(opened: Shop) -> Iterator[Shop]:
    yield opened
    opened.dismiss_all()


def test_a_task_goes_on_when_its_node_is_killed_and_is_not_run_again(shop: Shop) -> None:
    shop.hire("survivor", offers="s")
    run = shop.hold("s")
    shop.begun(run)
    shop.kill()
    shop.open()
    wait_until(lambda: shop.state("survivor") == "ONLINE", WITHIN_S)
    assert shop.step(run)["status"] == "running"
    shop.let_go(run)
    step = shop.ended(run)
    assert (step["attempts"], step["worker"], step["output"]) == (1, "survivor", 1)
    assert len(shop.executions(run)) == 1
    assert shop.events(run, "AttemptLost") == []


@pytest.mark.parametrize("killed", [False, True], ids=["worker lives", "worker is killed, too"])
def test_a_result_waits_on_disk_while_no_node_is_there(shop: Shop, killed: bool) -> None:
    (hand,) = shop.hire("patient", offers="p")
    run = shop.hold("p")
    shop.begun(run)
    # Given a result, and nobody to tell it to
    shop.kill()
    shop.let_go(run)
    wait_until(lambda: len(hand.spooled) == 1, WITHIN_S)
    # When the worker is killed and started again, or not, and a node is there again
    if killed:
        hand.kill()
        assert len(hand.spooled) == 1
        hand.start()
    shop.open()
    # Then it is delivered, and counts
    step = shop.ended(run)
    assert (step["attempts"], step["worker"], step["output"]) == (1, "patient", 1)
    assert len(shop.executions(run)) == 1
    wait_until(lambda: not hand.spooled, WITHIN_S)


def test_told_to_stop_a_worker_finishes_what_it_has_and_takes_nothing_new(shop: Shop) -> None:
    (hand,) = shop.hire("leaver", offers="l")
    run = shop.hold("l")
    shop.begun(run)
    hand.term()
    wait_until(lambda: (shop.worker("leaver") or {}).get("halt") == "draining", WITHIN_S)
    waiting = shop.hold("l")
    assert shop.barred(waiting, "leaver") == "draining"
    shop.let_go(run)
    assert hand.wait() == 0
    assert shop.ended(run)["attempts"] == 1
    assert shop.executions(waiting) == []
    shop.hire("successor", offers="l")
    shop.let_go(waiting)
    assert shop.ended(waiting)["worker"] == "successor"


def test_what_a_worker_cannot_finish_in_time_it_hands_back(shop: Shop) -> None:
    (hand,) = shop.hire("hasty", offers="h", options=("--grace", "300ms"))
    run = shop.hold("h")
    shop.begun(run)
    shop.hire("heir", offers="h")
    hand.term()
    assert hand.wait() == 0
    (_, again) = shop.begun(run, 2)
    assert (again.attempt, again.place) == (2, "heir")
    shop.let_go(run)
    assert shop.ended(run)["worker"] == "heir"
    (lost,) = shop.events(run, "AttemptLost")
    assert (lost["reason"], lost.get("witnessed", False)) == ("the worker was stopped", False)


@pytest.mark.accepts("S1.18")
def test_a_step_that_kills_its_workers_runs_elsewhere_until_it_is_parked_with_the_evidence(
    shop: Shop,
) -> None:
    hands = {hand.name: hand for hand in shop.hire("k1", "k2", "k3", "k4", offers="k")}
    run = shop.hold("k")
    dead = []
    for attempt in (1, 2, 3):
        mark = shop.begun(run, attempt)[-1]
        assert mark.attempt == attempt and mark.place not in dead
        hands[mark.place].kill()
        dead.append(mark.place)
        wait_until(partial(lost_so_often, shop, run, attempt), WITHIN_S)
    parked = shop.step(run)["parked"]
    assert (parked["deaths"], len(parked["evidence"])) == (3, 3)
    told = shop.explained(run)
    assert "parked" in told and f"windlass release {run} only" in told
    assert all(f"Worker {name} died at" in told for name in dead), told
    assert len(shop.executions(run)) == 3
    # Released, it is tried again, by whoever is left.
    shop.typed("release", run, "only")
    shop.let_go(run)
    step = shop.ended(run)
    assert (step["attempts"], {step["worker"]} | set(dead)) == (4, set(hands))


def lost_so_often(shop: Shop, run: str, times: int) -> bool:
    return len(shop.events(run, "AttemptLost")) == times


def test_a_step_that_falls_silent_is_ended_and_the_next_attempt_knows_how_far_it_was(shop: Shop) -> None:
    shop.hire("listener", offers="b")
    retry = {"attempts": 2, "backoff": "10ms"}
    run = shop.start("b", "hang_once", {}, heartbeat_timeout="5s", retry=retry)
    step = shop.ended(run)
    assert (step["attempts"], step["output"]) == (2, {"rows": 3})
    (failed,) = shop.events(run, "AttemptFailed")
    assert failed["failure"]["type"] == "HeartbeatTimeout"


def test_a_worker_that_is_killed_leaves_nothing_behind_that_runs(shop: Shop) -> None:
    (hand,) = shop.hire("doomed", offers="d")
    run = shop.hold("d")
    (mark,) = shop.begun(run)
    hand.kill()
    wait_until(lambda: not lives(mark.pid), WITHIN_S)
    shop.hire("next", offers="d")
    shop.let_go(run)
    step = shop.ended(run)
    assert (step["attempts"], step["worker"]) == (2, "next")
