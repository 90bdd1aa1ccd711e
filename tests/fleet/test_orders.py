"""Operators and workers: who is there, what they do, and what they are told, with real processes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import pytest

from tests.fleet.shop import WITHIN_S, Shop, a_shop
from tests.waiting import wait_until

NOT_WANTED = 7  # the exit code of a worker that the cluster does not want
OUT_S = 3.0  # within which a token that was revoked is worth nothing, on a busy machine


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with a_shop(tmp_path_factory.mktemp("orders") / "shop", "--worker-heartbeat", "1s") as made:
        yield made


@pytest.fixture
def shop(opened: Shop) -> Iterator[Shop]:
    yield opened
    opened.dismiss_all()


@pytest.mark.accepts("S3.2")
def test_workers_come_are_seen_and_are_paused_resumed_drained_and_sent_away(shop: Shop) -> None:
    assert shop.worker("one") is None
    one, two = shop.hire("one", "two", offers="o")
    assert {"one", "two"} <= {worker["id"] for worker in shop.client.workers()["items"]}
    # Paused, it goes on with what it has, and gets nothing new.
    for name in ("one", "two"):
        assert shop.client.order_worker(name, "pause")["halt"] == "paused"
    waiting = shop.hold("o")
    wait_until(lambda: shop.barred(waiting, "one") == shop.barred(waiting, "two") == "paused")
    assert shop.executions(waiting) == []
    # Resumed, it gets tasks again.
    shop.client.order_worker("one", "resume")
    assert shop.begun(waiting)[0].place == "one"
    # Drained, it finishes what it has, and goes.
    shop.client.order_worker("one", "drain")
    wait_until(lambda: shop.worker("one")["halt"] == "draining")  # type: ignore[index]
    assert one.runs
    shop.let_go(waiting)
    assert one.wait() == 0
    assert shop.ended(waiting)["attempts"] == 1
    # Kicked, it is out at once, and what it had runs elsewhere.
    shop.client.order_worker("two", "resume")
    run = shop.hold("o")
    assert shop.begun(run)[0].place == "two"
    shop.client.order_worker("two", "kick")
    assert two.wait() == NOT_WANTED
    assert "operator" in two.log()
    shop.hire("three", offers="o")
    shop.let_go(run)
    step = shop.ended(run)
    assert (step["attempts"], step["worker"]) == (2, "three")
    wait_until(lambda: shop.worker("one") is None and shop.worker("two") is None, WITHIN_S)


@pytest.mark.accepts("S3.4")
def test_the_states_of_tasks_and_workers_are_seen_as_they_change(shop: Shop) -> None:
    (hand,) = shop.hire("only-one", offers="s", options=("--slots", "1"))
    run, second = shop.hold("s"), shop.hold("s")
    shop.begun(run)
    wait_until(lambda: shop.step(run)["status"] == "running")
    assert (shop.step(second)["status"], shop.barred(second, "only-one")) == ("queued", "no free slot")
    worker = shop.worker("only-one")
    assert worker is not None
    assert (worker["state"], worker["active"]) == ("BUSY", 1)
    assert [(task["runId"], task["attempt"]) for task in worker["tasks"]] == [(run, 1)]
    shop.let_go(run)
    shop.ended(run)
    shop.begun(second)
    shop.let_go(second)
    shop.ended(second)
    wait_until(lambda: shop.state("only-one") == "ONLINE")
    # A worker that dies is out of sight of new tasks at once.
    hand.kill()
    wait_until(lambda: shop.state("only-one") in ("OFFLINE", ""), 1.0)


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with a_shop(tmp_path_factory.mktemp("locked") / "shop", "--login") as made:
        yield made


def test_a_worker_with_a_token_of_a_namespace_gets_only_tasks_of_that(locked: Shop) -> None:
    made = locked.client.create_token("worker", namespace="team-a", name="a's worker")
    locked.hire("insider", offers="n", token=made["token"])
    worker = locked.worker("insider")
    assert worker is not None and worker["namespaces"] == ["team-a"]
    other = locked.hold("n", namespace="team-b")
    mine = locked.hold("n", namespace="team-a")
    assert locked.begun(mine)[0].place == "insider"
    locked.let_go(mine)
    assert locked.ended(mine, namespace="team-a")["worker"] == "insider"
    assert locked.executions(other) == []
    assert locked.step(other, namespace="team-b")["status"] == "queued"
    # One that may work for all has it.
    every = locked.client.create_token("worker", namespace="*", name="for all")
    locked.hire("outsider", offers="n", token=every["token"])
    locked.let_go(other)
    assert locked.ended(other, namespace="team-b")["worker"] == "outsider"
    locked.dismiss_all()


def test_a_worker_whose_token_is_revoked_is_out_within_a_moment(locked: Shop) -> None:
    made = locked.client.create_token("worker", namespace="*", name="former")
    locked.hire("former", offers="t", token=made["token"])
    run = locked.hold("t")
    locked.begun(run)
    began = time.monotonic()
    locked.client.revoke_token(made["id"])
    wait_until(partial(out, locked, "former"), OUT_S)
    assert time.monotonic() - began < OUT_S
    # Its task goes to one that may have it.
    again = locked.client.create_token("worker", namespace="*", name="present")
    locked.hire("present", offers="t", token=again["token"])
    locked.let_go(run)
    assert locked.ended(run)["worker"] == "present"
    locked.dismiss_all()


def out(shop: Shop, name: str) -> bool:
    worker = shop.worker(name)
    return worker is None or not worker["connected"]


def test_a_worker_without_a_good_token_is_told_so_and_ends(locked: Shop) -> None:
    reader = locked.client.create_token("read", namespace="*", name="only reads")
    for token, words in (
        (reader["token"], "may not be used by workers"),
        ("wl_made-up", "the token is not valid here"),
    ):
        hand = locked.send("stranger", offers="x", token=token)
        assert hand.wait() == NOT_WANTED
        assert words in hand.log()
    assert locked.worker("stranger") is None
    locked.dismiss_all()
