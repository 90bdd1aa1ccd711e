"""Namespaces and shares that wait for the same workers get turns, evenly; priority comes sooner, not more."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.test_dispatcher import Bench, Book, dispatching
from windlass.core.names import Attempt, StepId, WorkerId, run_key
from windlass.engine.queues import Entry, Queues
from windlass.engine.table import Table
from windlass.engine.turns import PRIORITY_TURNS, Turns

OWNER = Book()


@dataclass
class Waiting:
    """Tasks that wait, by names of their own."""

    table: Table = field(default_factory=Table)
    count: int = 0

    @property
    def queues(self) -> Queues:
        return self.table.queues

    def add(
        self,
        share: str = "",
        namespace: str = "default",
        priority: int = 0,
        since: float = 0.0,
        needs: str = "python",
    ) -> Entry:
        self.count += 1
        entry = self.table.enter(
            OWNER,
            run_key(f"{namespace}-{share}-{self.count}", namespace),
            StepId("s"),
            Attempt(1),
            [needs],
            priority=priority,
            since=since,
            labels={"share": share} if share else {},
        )
        self.queues.push(entry)
        return entry

    def next(self) -> Entry:
        entry = self.queues.next(lambda kind: False)
        assert entry is not None
        entry.state = "held"
        return entry

    def shares(self, many: int) -> list[str]:
        return [self.next().share for _ in range(many)]


def test_a_share_with_few_tasks_does_not_wait_for_one_with_many() -> None:
    waiting = Waiting()
    for _ in range(100):
        waiting.add("many")
    for _ in range(3):
        waiting.add("few", since=50.0)
    assert waiting.shares(6) == ["many", "few", "many", "few", "many", "few"]
    assert set(waiting.shares(50)) == {"many"}


def test_namespaces_get_equal_turns_whatever_shares_they_have() -> None:
    waiting = Waiting()
    for n in range(60):
        waiting.add(f"customer-{n % 20}", "busy")
    for _ in range(30):
        waiting.add("", "calm", since=50.0)
    served = Counter(waiting.next().key.namespace for _ in range(40))
    assert served == {"busy": 20, "calm": 20}


def test_within_a_share_it_goes_by_priority_and_age() -> None:
    waiting = Waiting()
    late = waiting.add("a", since=40.0, priority=1)
    early = waiting.add("a", since=0.0)
    urgent = waiting.add("a", since=29.0, priority=1)
    assert [waiting.next() for _ in range(3)] == [urgent, early, late]


def test_who_is_urgent_comes_first_and_is_passed_over_for_it_later() -> None:
    waiting = Waiting()
    for _ in range(100):
        waiting.add("calm")
        waiting.add("urgent", priority=2)
    ahead = 2 * PRIORITY_TURNS
    first = waiting.shares(ahead)
    assert first == ["urgent"] * ahead
    assert Counter(waiting.shares(40)) == {"urgent": 20, "calm": 20}


def test_a_share_that_comes_anew_gets_no_more_than_its_part() -> None:
    waiting = Waiting()
    for _ in range(100):
        waiting.add("a")
        waiting.add("b")
    waiting.shares(50)
    for _ in range(50):
        waiting.add("new")
    assert Counter(waiting.shares(30)) == {"a": 10, "b": 10, "new": 10}


def test_leaving_for_a_moment_wins_nothing() -> None:
    waiting = Waiting()
    for _ in range(100):
        waiting.add("a")
    served = []
    for _ in range(40):
        if not any(entry.share == "sly" for queue in waiting.queues._queues.values() for entry in queue):
            waiting.add("sly", since=-1.0)
        served.append(waiting.next().share)
    assert Counter(served)["sly"] <= 21


def test_a_turn_that_came_to_nothing_does_not_count() -> None:
    waiting = Waiting()
    for _ in range(20):
        waiting.add("a")
        waiting.add("b")
        waiting.add("", "other")
    for _ in range(500):  # nobody was found for it
        entry = waiting.queues.next(lambda kind: kind.namespace == "other")
        assert entry is not None
        waiting.queues.back(entry)
    served = [waiting.next() for _ in range(20)]
    assert Counter(entry.key.namespace for entry in served) == {"default": 10, "other": 10}
    assert Counter(entry.share for entry in served) == {"a": 5, "b": 5, "": 10}


def test_who_is_urgent_does_not_lose_its_lead_by_turns_that_came_to_nothing() -> None:
    waiting = Waiting()
    for _ in range(20):
        waiting.add("urgent", priority=1)
        waiting.add("calm")
    for _ in range(100):
        entry = waiting.queues.next(lambda kind: False)
        assert entry is not None
        waiting.queues.back(entry)
    assert waiting.shares(PRIORITY_TURNS) == ["urgent"] * PRIORITY_TURNS


def test_turns_that_come_to_nothing_leave_nothing_behind() -> None:
    waiting = Waiting()
    for n in range(40):
        waiting.add(f"s{n % 20}", f"n{n % 3}")
    for _ in range(5_000):
        entry = waiting.queues.next(lambda kind: False)
        assert entry is not None
        waiting.queues.back(entry)
    for queue in waiting.queues._queues.values():
        assert len(queue._order) <= 4 * 20 + 65
        assert queue._turns is not None
        assert len(queue._turns._fewest) <= 4 * 20 + 65
    assert len(waiting.queues._turns._fewest) <= 4 * 3 + 65


def test_many_shares_that_come_and_go_are_forgotten() -> None:
    turns = Turns()
    turns.join("stays")
    for n in range(10_000):
        turns.join(f"s{n}")
        turns.take(f"s{n}")
        turns.leave(f"s{n}")
    assert len(turns._had) <= 1_003
    turns.leave("stays")
    assert not turns._had


def test_who_could_have_nothing_saves_up_no_turns_and_leaves_none_to_newcomers() -> None:
    waiting = Waiting()
    for _ in range(200):
        waiting.add("", "stuck", needs="gpu")
        waiting.add("", "a")
        waiting.add("", "b")
    for _ in range(3):
        waiting.next()
    for _ in range(100):
        entry = waiting.queues.next(lambda kind: "gpu" in kind.requires)
        assert entry is not None
        entry.state = "held"
    for _ in range(50):
        waiting.add("", "new", since=9.0)
    served = Counter(waiting.next().key.namespace for _ in range(40))
    assert served == {"stuck": 10, "a": 10, "b": 10, "new": 10}


def test_turns_are_remembered_while_nobody_is_free() -> None:
    waiting = Waiting()
    for _ in range(20):
        waiting.add("", "old")
        waiting.add("", "young", since=9.0)
    served = []
    for _ in range(10):
        served.append(waiting.next().key.namespace)
        assert waiting.queues.next(lambda kind: True) is None
    assert served == ["old", "young"] * 5


def test_a_kind_that_is_blocked_keeps_nobody_else_waiting() -> None:
    waiting = Waiting()
    waiting.add("a", needs="gpu")
    for _ in range(3):
        waiting.add("b", since=9.0)
    entry = waiting.queues.next(lambda kind: "gpu" in kind.requires)
    assert entry is not None
    assert entry.share == "b"


@given(st.integers(min_value=0, max_value=2**32))
def test_shares_that_wait_all_the_time_get_the_same_number_of_turns(seed: int) -> None:
    chance = random.Random(seed)
    waiting = Waiting()
    served: Counter[tuple[str, str]] = Counter()
    names = [("", "x"), ("a", "x"), ("b", "x"), ("", "y"), ("a", "y")]
    backlog: Counter[tuple[str, str]] = Counter()
    for _ in range(300):
        for share, namespace in names:  # each has some that wait, at any moment
            while backlog[share, namespace] < chance.randrange(1, 4):
                waiting.add(share, namespace, since=chance.random() * 100)
                backlog[share, namespace] += 1
        if chance.random() < 0.1:
            aside = waiting.queues.next(lambda kind: False)
            assert aside is not None
            waiting.queues.back(aside)
        if chance.random() < 0.1:  # one goes away before its turn
            queue = chance.choice(list(waiting.queues._queues.values()))
            entry = chance.choice([entry for entry in queue if entry.waits])
            if backlog[entry.share, entry.key.namespace] > 1:
                backlog[entry.share, entry.key.namespace] -= 1
                waiting.table.drop(entry)
        entry = waiting.next()
        served[entry.share, entry.key.namespace] += 1
        backlog[entry.share, entry.key.namespace] -= 1
        if not backlog[entry.share, entry.key.namespace]:
            waiting.add(entry.share, entry.key.namespace, since=chance.random() * 100)
            backlog[entry.share, entry.key.namespace] += 1
    assert served["", "x"] + served["a", "x"] + served["b", "x"] == pytest.approx(150, abs=4)
    for share, namespace in names:
        assert served[share, namespace] == pytest.approx(50 if namespace == "x" else 75, abs=6)


@given(st.integers(min_value=0, max_value=2**32))
def test_every_task_is_handed_out_once_whatever_happens_meanwhile(seed: int) -> None:
    chance = random.Random(seed)
    waiting = Waiting()
    added, gone, got = list[Entry](), list[Entry](), list[Entry]()
    for _ in range(400):
        match chance.randrange(5):
            case 0 | 1:
                share, namespace = chance.choice(["", "a", "b", "c"]), chance.choice(["x", "y"])
                entry = waiting.add(share, namespace, chance.choice([0, 0, 3]), chance.random())
                added.append(entry)
            case 2 if open_ := [entry for entry in added if entry.waits]:
                gone.append(chance.choice(open_))
                waiting.table.drop(gone[-1])
            case 3 if (some := waiting.queues.next(lambda kind: False)) is not None:
                if chance.random() < 0.3:
                    waiting.queues.back(some)
                else:
                    waiting.table.drop(some)
                    got.append(some)
            case _:
                assert waiting.queues.hungry == any(entry.waits for entry in added)
    while (entry := waiting.queues.next(lambda kind: False)) is not None:  # type: ignore[assignment]
        waiting.table.drop(entry)
        got.append(entry)
    assert sorted(map(id, got + gone)) == sorted(map(id, added))
    assert not waiting.queues


def test_one_slot_goes_round_among_namespaces_and_the_values_of_the_label() -> None:
    dispatcher, worker = dispatching(), Bench(WorkerId("w"))
    dispatcher.table.fair_label = "customer"
    dispatcher.employ(worker)
    offers = [("first", "x", "a")]
    offers += [(f"xa{n}", "x", "a") for n in range(6)] + [(f"xb{n}", "x", "b") for n in range(3)]
    offers += [(f"y{n}", "y", "") for n in range(4)]
    for step, namespace, customer in offers:
        labels = {"customer": customer, "share": step} if customer else {}
        key = run_key("r", namespace)
        dispatcher.offer(OWNER, key, StepId(step), Attempt(1), priority=0, requires=["noop"], labels=labels)
    served = []
    while worker.holding:
        served.append(worker.holding.pop())
        dispatcher.match()
    assert served[0] == "first"
    assert served[1:9] == ["xa0", "y0", "xb0", "y1", "xa1", "y2", "xb1", "y3"]
    assert served[9:] == ["xa2", "xb2", "xa3", "xa4", "xa5"]
