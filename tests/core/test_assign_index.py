"""The index chooses as the plain way does, whatever happened before."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.core.workers import (
    GROUP,
    HERE,
    HOST,
    RULES,
    THERE,
    Plain,
    chosen,
    free,
    index,
    no_custom,
    take,
    wanted,
    worker,
)
from windlass.core.assign.index import Custom, Index, Wanted
from windlass.core.assign.placed import KeyPart
from windlass.core.assign.policy import AdaptiveRules, Policy, Weights
from windlass.core.assign.pool import RANKINGS_MAX
from windlass.core.fleet import Halt, Seen, degraded
from windlass.core.names import SessionId

NAMES = [f"w{n}" for n in range(8)]
CAPABILITIES = ["python", "gpu", "eu"]
NAMESPACES = ["a", "b", "c"]
SHARES = st.sampled_from([0.0, 0.25, 0.5, 0.79, 0.81, 1.0])
POLICIES = [
    *(Policy(strategy=name) for name in ("round-robin", "load-balanced", "affinity", "capability")),
    *(Policy(strategy=name) for name in ("locality", "users:fewest")),
    Policy(strategy="capability", fit="most"),
    Policy(strategy="load-balanced", load="seed", memory_weight=0.5),
    Policy(strategy="locality", weights=Weights(active=1.0, cpu=0.0, memory=0.0)),
    # Bounds that no share of a few results can meet exactly, however it is summed up.
    Policy(strategy="adaptive", adaptive=AdaptiveRules(failures_max=0.1371, cpu_max=0.8001)),
    Policy(strategy="adaptive", adaptive=AdaptiveRules(failures_max=0.1371, cpu_max=0.5001, hold_s=0.0)),
]


def fewest(task: Wanted, seen: Seen) -> tuple[KeyPart, ...] | None:
    return None if seen.active == 3 else (seen.active, seen.id)


def custom(name: str) -> Custom:
    return fewest if name == "users:fewest" else no_custom(name)


class Choosing(RuleBasedStateMachine):
    index: Index

    @initialize(seed=st.integers(0, 2**16))
    def begin(self, seed: int) -> None:
        self.now = 100.0
        self.count = 0
        self.index = index(seed=seed, custom=custom)
        self.plain = Plain(RULES, custom)

    @property
    def seen(self) -> list[Seen]:
        return list(self.plain.workers.values())

    @rule(
        name=st.sampled_from(NAMES),
        life=st.integers(1, 2),
        capabilities=st.sets(st.sampled_from(CAPABILITIES)),
        namespaces=st.sets(st.sampled_from(NAMESPACES[:2]), max_size=1),
        slots=st.integers(1, 4),
        order=st.integers(0, 5),
        place=st.sampled_from([(HERE, ""), (THERE, HOST), (THERE, "else"), (THERE, "")]),
        host_group=st.sampled_from(["", GROUP]),
        registered=st.integers(0, 9),
    )
    def put(
        self, name: str, life: int, capabilities: set[str], namespaces: set[str], registered: int, **more: Any
    ) -> None:
        node, host = more.pop("place")
        seen = worker(
            name,
            *sorted(capabilities | {"python"}) if registered else (),
            namespaces=namespaces,
            session=f"{name}/{life}",
            node=node,
            host=host,
            now=self.now,
            **more,
        )
        seen.registered = registered > 0
        # Two lives of one worker at once are another test's matter: here affinity names one of them.
        for other in self.seen:
            if other.id == seen.id:
                self.drop_one(other.session)
        self.plain.put(seen)
        self.index.put(seen)

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        self.drop_one(data.draw(st.sampled_from(self.seen)).session)

    def drop_one(self, session: SessionId) -> None:
        self.plain.drop(session)
        self.index.drop(session)

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def change(self, data: st.DataObject) -> None:
        seen = data.draw(st.sampled_from(self.seen))
        self.changed(seen, data.draw(st.sampled_from(self.changes(data, seen))))

    def changes(self, data: st.DataObject, seen: Seen) -> list[Callable[[], None]]:
        halts: list[Halt] = ["", "paused", "draining"]

        def load() -> None:
            seen.cpu, seen.memory, seen.trip_s = (data.draw(SHARES) for _ in range(3))

        def work() -> None:
            seen.active = data.draw(st.integers(0, seen.slots))

        def hear() -> None:
            seen.heard_at = self.now

        def halt() -> None:
            seen.halt = data.draw(st.sampled_from(halts))

        def connect() -> None:
            seen.connected, seen.registered = not seen.connected, True

        def fail() -> None:
            for _ in range(RULES.results_min):
                seen.record.note(ok=False, took_s=1.0, now=self.now)

        def succeed() -> None:
            for _ in range(RULES.results_min):
                seen.record.note(ok=True, took_s=1.0, now=self.now)

        return [load, work, hear, halt, connect, fail, succeed]

    def changed(self, seen: Seen, change: Callable[[], None]) -> None:
        change()
        self.index.changed(seen)

    @rule(passed_s=st.sampled_from([0.5, 5.0, 10.0, 29.9, 30.0, 60.0]), heard=st.booleans())
    def pass_time(self, passed_s: float, heard: bool) -> None:
        self.now += passed_s
        if heard:
            for seen in self.seen:
                seen.heard_at = self.now
                self.index.changed(seen)

    @rule()
    def tick(self) -> None:
        said = self.index.tick(self.now)
        for switch in self.plain.tick(self.now):
            assert any(switch in sentence for sentence in said)

    def task(self, data: st.DataObject, policy: Policy) -> Wanted:
        sessions = [seen.session for seen in self.seen]
        return wanted(
            "",
            *data.draw(st.sampled_from([(), ("python",), ("python", "gpu")])),
            namespace=data.draw(st.sampled_from(NAMESPACES)),
            affinity=data.draw(st.sampled_from(["", *NAMES])),
            excluded=data.draw(st.sets(st.sampled_from(sessions), max_size=2)) if sessions else (),
            kind=data.draw(st.sampled_from(["", "python"])),
            policy=policy,
        )

    @rule(data=st.data(), policy=st.sampled_from(POLICIES), taken=st.booleans())
    def choose(self, data: st.DataObject, policy: Policy, taken: bool) -> None:
        task = self.task(data, policy)
        strategy, expected = self.plain.ranked(task, self.now)
        assert self.index.may_fit(task, self.now) == bool(self.plain.able(task, self.now))
        verdicts = self.index.candidates(task, self.now)
        assert len(verdicts) == len(self.seen)
        assert [(v.key, v.worker) for v in verdicts if not v.barred] == [(k, s.id) for k, s in expected]
        choice = self.index.choose(task, self.now)
        if choice is None:
            assert not expected
            return
        key, best = expected[0]
        assert (choice.worker, choice.placed.key) == (best, key)
        assert choice.placed.count == len(expected)
        assert choice.placed.strategy.split(": ")[-1] == strategy
        top = [(entry.key, entry.worker) for entry in choice.placed.top]
        assert top == ([(k, s.id) for k, s in expected[:5]] if len(expected) > 1 else [])
        self.plain.took(strategy, task, best)
        if taken:
            self.take(best)

    @rule(data=st.data(), strategy=st.sampled_from(["random", "weighted"]), taken=st.booleans())
    def draw(self, data: st.DataObject, strategy: str, taken: bool) -> None:
        task = self.task(data, Policy(strategy=strategy))
        able = self.plain.able(task, self.now)
        choice = self.index.choose(task, self.now)
        assert (choice is None) == (not able)
        if choice is not None:
            assert choice.worker in able and choice.placed.count == len(able)
            if taken:
                self.take(choice.worker)

    def take(self, seen: Seen) -> None:
        seen.active += 1
        if degraded(seen, self.now, RULES):
            seen.probed_at = self.now
        self.index.changed(seen)


# A worker without a capability, a slot, health or the namespace is never able, and so is never chosen.
TestChoosing = Choosing.TestCase
TestChoosing.settings = settings(
    max_examples=150, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)


def test_a_worker_of_two_lives_is_found_by_the_later_one_while_it_is_there() -> None:
    first, second = (worker("w", "python", session=f"w/{n}", order=n) for n in (1, 2))
    there = index(first, second)
    assert there.find("w") is second
    there.drop(second.session)
    assert there.find("w") is first and there.get(second.session) is None
    assert list(there.all()) == [first]


def test_who_is_told_of_but_is_not_in_the_index_stays_outside() -> None:
    inside, stranger = worker("a", "python"), worker("b", "python")
    twin = worker("a", "python", slots=0)
    there = index(inside)
    there.changed(stranger)
    there.changed(twin)
    assert chosen(there, wanted("load-balanced", "python")) == "a"


def test_many_sorts_of_tasks_do_not_make_it_grow_for_ever() -> None:
    seen = worker("a", *(f"c{n}" for n in range(600)), slots=1)
    there = index(seen)
    for n in range(600):
        assert chosen(there, wanted("locality", f"c{n}"), now=float(n % 29)) == "a"
    free(there, seen, by=1)
    assert not any(there.may_fit(wanted("locality", f"c{n}"), 29.0) for n in range(600))


def test_many_policies_in_turn_are_all_followed() -> None:
    busy, idle = worker("busy", "python", order=0), worker("idle", "python", order=1)
    there = index(busy, idle)
    for n in range(3 * RANKINGS_MAX):
        policy = Policy(strategy="load-balanced", weights=Weights(active=1 / (1 + n % (RANKINGS_MAX + 1))))
        busy.active, idle.active = (3, 1) if n % 2 else (1, 3)
        there.changed(busy)
        there.changed(idle)
        expected = "idle" if n % 2 else "busy"
        assert chosen(there, wanted(policy=policy)) == expected


def test_what_nobody_asks_for_any_more_is_forgotten_and_found_anew() -> None:
    first, second = worker("a", order=0), worker("b", order=1)
    there = index(first, second)
    assert [chosen(there, wanted("round-robin"), now=1.0) for _ in range(3)] == ["a", "b", "a"]
    first.heard_at = second.heard_at = 10_000.0
    there.changed(first)
    there.changed(second)
    assert there.tick(10_000.0) == []
    assert [chosen(there, wanted("round-robin"), now=10_000.0) for _ in range(2)] == ["a", "b"]


@pytest.mark.parametrize("count", [2, 20, 300])
def test_the_best_five_are_right_however_often_loads_change(count: int) -> None:
    chance = random.Random(count)
    crowd = [worker(f"w{n}", order=n) for n in range(count)]
    there, plain, task = index(*crowd), Plain(RULES, custom), wanted("load-balanced")
    for seen in crowd:
        plain.put(seen)
    for _ in range(500):
        # Now and then so much changes at once that all are ranked anew.
        for seen in chance.sample(crowd, chance.choice([1, 2, count])):
            seen.cpu, seen.active = chance.random(), chance.choice([0, 0, seen.slots])
            there.changed(seen)
        choice, (_, expected) = there.choose(task, 1.0), plain.ranked(task, 1.0)
        top = [] if choice is None else [one.worker for one in choice.placed.top]
        assert (choice.worker if choice else None) == (expected[0][1] if expected else None)
        assert top == ([seen.id for _, seen in expected[:5]] if len(expected) > 1 else [])


def test_ten_thousand_workers_fill_up_evenly() -> None:
    chance = random.Random(7)
    crowd = [worker(f"w{n}", "python", slots=2, order=n) for n in range(10_000)]
    there = index(*crowd)
    for count in range(20_000):
        seen = take(there, wanted("load-balanced", "python"))
        assert seen is not None and seen.active == 1 + count // 10_000
    assert take(there, wanted("load-balanced", "python")) is None
    freed = chance.choice(crowd)
    free(there, freed)
    assert take(there, wanted("load-balanced", "python")) is freed
