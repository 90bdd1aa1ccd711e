"""Who gets a task: the filter, and the key of each strategy."""

import itertools
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.workers import (
    GROUP,
    HERE,
    HOST,
    RULES,
    THERE,
    chosen,
    free,
    index,
    take,
    wanted,
    worker,
)
from windlass.core.assign.index import Index
from windlass.core.assign.keys import PENALTY, cost, load
from windlass.core.assign.policy import STRATEGIES, Assign, Policy, Weights, merged
from windlass.core.fleet import Seen, degraded, status

SEED = Policy(strategy="load-balanced", load="seed")


def three(*, slots: int = 10) -> list[Seen]:
    return [worker(name, "python", slots=slots, order=n) for n, name in enumerate("abc")]


def several(from_: Index, strategy: str, count: int) -> list[str]:
    return [chosen(from_, wanted(strategy)) for _ in range(count)]


# The filter.


@pytest.mark.accepts("S1.21")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_nobody_there_means_nobody_chosen_and_everybody_is_told_why(strategy: str) -> None:
    task = wanted(strategy, "python")
    assert index().choose(task, 1.0) is None and not index().may_fit(task, 1.0)
    silent, closed, new, paused, leaving, full = crowd = [
        worker(name, "python", order=n) for n, name in enumerate("abcdef")
    ]
    silent.heard_at = -30.0
    closed.connected = False
    new.registered = False
    paused.halt, leaving.halt = "paused", "draining"
    full.active = full.slots
    there = index(*crowd)
    assert there.choose(task, 1.0) is None and not there.may_fit(task, 1.0)
    told = {verdict.worker: verdict.barred for verdict in there.candidates(task, 1.0)}
    assert told == {
        "a": "unhealthy",
        "b": "not connected",
        "c": "not registered yet",
        "d": "paused",
        "e": "draining",
        "f": "no free slot",
    }
    there.put(worker("g", "python", order=6))
    assert chosen(there, task) == "g"


@pytest.mark.accepts("S1.8", "S1.9", "S3.62")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_only_who_can_do_all_that_is_required_gets_a_task(strategy: str) -> None:
    crowd = [
        worker("none", order=0),
        worker("one", "fetch", order=1),
        worker("other", "delete", "send", order=2),
        worker("both", "fetch", "delete", "send", order=3),
    ]
    there = index(*crowd)
    task = wanted(strategy, "fetch", "delete", affinity="one")
    for _ in range(3):
        assert chosen(there, task) == "both"
    told = {verdict.worker: verdict.barred for verdict in there.candidates(task, 1.0)}
    assert told == {"none": "lacks delete, fetch", "one": "lacks delete", "other": "lacks fetch", "both": ""}
    there.drop(crowd[3].session)
    assert there.choose(task, 1.0) is None and not there.may_fit(task, 1.0)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_worker_for_some_namespaces_gets_no_task_of_others(strategy: str) -> None:
    there = index(worker("limited", namespaces=["a"], order=0), worker("any", order=1))
    found = {chosen(there, wanted(strategy, namespace="b")) for _ in range(10)}
    assert found == {"any"}
    there.drop(worker("any").session)
    assert chosen(there, wanted(strategy, namespace="b")) == "nobody"
    assert chosen(there, wanted(strategy, namespace="a")) == "limited"
    assert there.candidates(wanted(strategy, namespace="b"), 1.0)[0].barred == "not for this namespace"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_who_is_excluded_does_not_get_this_task_but_others(strategy: str) -> None:
    there = index(*three())
    without = wanted(strategy, affinity="a", excluded=["a/1", "c/1", "gone/1"])
    assert {chosen(there, without) for _ in range(5)} == {"b"}
    assert chosen(there, wanted(strategy, affinity="a", excluded=["a/1", "b/1", "c/1"])) == "nobody"
    assert not there.may_fit(wanted(strategy, excluded=["a/1", "b/1", "c/1"]), 1.0)
    assert "a" in {chosen(there, wanted(strategy, affinity="a")) for _ in range(50)}


@pytest.mark.accepts("S3.48")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_who_falls_silent_gets_nothing_until_it_is_heard_of_again(strategy: str) -> None:
    seen = worker("w", "python", now=0.0)
    there = index(seen)
    task = wanted(strategy, "python")
    assert chosen(there, task, now=29.999) == "w"
    assert status(seen, 30.0, RULES) == "OFFLINE"
    assert not there.may_fit(task, 30.0) and chosen(there, task, now=30.0) == "nobody"
    seen.heard_at = 31.0
    there.changed(seen)
    assert there.may_fit(task, 31.0) and chosen(there, task, now=31.0) == "w"


# Round-robin.


@pytest.mark.accepts("S1.1", "S1.2")
def test_round_robin_takes_one_after_the_other_whatever_their_load() -> None:
    a, b, c = three()
    there = index(a, b, c)
    b.active, b.cpu = 9, 1.0
    there.changed(b)
    assert several(there, "round-robin", 7) == ["a", "b", "c", "a", "b", "c", "a"]


@settings(deadline=None)
@given(
    steady=st.integers(1, 5),
    steps=st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["fill", "free", "put", "drop"]))),
)
def test_round_robin_is_even_among_those_who_are_always_there(
    steady: int, steps: list[tuple[int, str]]
) -> None:
    always = [worker(f"s{n}", slots=10_000, order=2 * n) for n in range(steady)]
    others = [worker(f"o{n}", slots=1, order=2 * n + 1) for n in range(4)]
    there, counts = index(*always), Counter[str]()
    for which, what in steps:
        other = others[which]
        match what:
            case "put":
                there.put(other)
            case "drop":
                there.drop(other.session)
            case _:
                other.active = what == "fill"
                there.changed(other)
        for _ in range(3):
            counts[chosen(there, wanted("round-robin"))] += 1
            found = [counts[seen.id] for seen in always]
            assert max(found) - min(found) <= 1


def test_the_turn_is_kept_for_each_sort_of_task() -> None:
    there = index(worker("a", "x", "y", order=0), worker("b", "x", "y", order=1))
    found = [chosen(there, wanted("round-robin", needs)) for needs in ("x", "y", "x", "y")]
    assert found == ["a", "a", "b", "b"]


# Load.


@pytest.mark.accepts("S1.3")
def test_the_least_tasks_and_cpu_wins_and_the_earlier_worker_wins_a_tie() -> None:
    loads = {"a": (5, 0.30), "b": (1, 0.28), "c": (0, 0.29), "d": (20, 0.10)}
    crowd = []
    for order, (name, (active, cpu)) in enumerate(loads.items()):
        seen = worker(name, slots=100, order=order)
        seen.active, seen.cpu, seen.memory = active, cpu, order / 4
        crowd.append(seen)
    choice = index(*crowd).choose(wanted(policy=SEED), 1.0)
    assert choice is not None
    assert [(one.worker, one.key) for one in choice.placed.top] == [
        ("b", (29,)),
        ("c", (29,)),
        ("d", (30,)),
        ("a", (35,)),
    ]


@pytest.mark.accepts("S1.4")
def test_memory_counts_by_its_weight() -> None:
    lean, fat = worker("lean", order=1), worker("fat", order=0)
    lean.active, lean.memory, fat.memory = 3, 0.1, 0.9
    there = index(fat, lean)
    assert chosen(there, wanted(policy=SEED)) == "fat"
    weighed = Policy(strategy="load-balanced", load="seed", memory_weight=0.5)
    assert (load(lean, weighed), load(fat, weighed)) == (8.0, 45.0)
    assert chosen(there, wanted(policy=weighed)) == "lean"


def test_the_normalised_load_is_the_weighted_sum_of_shares() -> None:
    seen = worker("w", slots=4)
    seen.active, seen.cpu, seen.memory = 2, 0.5, 0.25
    assert load(seen, Policy()) == pytest.approx(0.4 * 0.5 + 0.3 * 0.5 + 0.3 * 0.25)
    assert load(seen, Policy(weights=Weights(active=1.0, cpu=0.0, memory=0.0))) == 0.5


POLICIES = st.builds(
    Policy,
    load=st.sampled_from(["normalised", "seed"]),
    weights=st.builds(Weights, active=st.floats(0, 1), cpu=st.floats(0, 1), memory=st.floats(0, 1)),
    memory_weight=st.floats(0, 10),
)


@given(
    policy=POLICIES,
    slots=st.integers(1, 100),
    one=st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)),
    more=st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)),
)
def test_load_never_falls_when_tasks_cpu_or_memory_grow(
    policy: Policy, slots: int, one: tuple[float, float, float], more: tuple[float, float, float]
) -> None:
    less, greater = worker("less", slots=slots), worker("more", slots=slots)
    for seen, (active, cpu, memory) in ((less, one), (greater, tuple(map(max, one, more)))):
        seen.active, seen.cpu, seen.memory = round(active * slots), cpu, memory
    assert load(less, policy) <= load(greater, policy)


# Affinity.


@pytest.mark.accepts("S1.6")
def test_affinity_keeps_to_the_worker_it_names_else_takes_the_first() -> None:
    a, b, c = three()
    there = index(b, c, a)
    assert chosen(there, wanted("affinity", affinity="b")) == "b"
    assert chosen(there, wanted("affinity")) == "a"
    assert chosen(there, wanted("affinity", affinity="nobody")) == "a"
    b.connected = False
    there.changed(b)
    assert chosen(there, wanted("affinity", affinity="b")) == "a"


@settings(deadline=None)
@given(seed=st.integers(), slots=st.integers(1, 4))
def test_affinity_keeps_the_steps_of_a_run_together_while_there_is_room(seed: int, slots: int) -> None:
    chance, crowd = random.Random(seed), three(slots=slots)
    there = index(*crowd)
    home = dict[int, str]()
    held = list[Seen]()
    for _ in range(100):
        run = chance.randrange(5)
        kept = there.find(home[run]) if run in home else None
        room = kept is not None and kept.free > 0
        seen = take(there, wanted("affinity", affinity=home.get(run, "")))
        if seen is not None:
            held.append(seen)
            assert not room or seen is kept
            home[run] = seen.id
        if held and (seen is None or chance.random() < 0.5):
            free(there, held.pop(chance.randrange(len(held))))


# Capability.


@pytest.mark.accepts("S1.7")
def test_capability_without_requirements_goes_by_load() -> None:
    busy, idle = worker("busy", "python", order=0), worker("idle", "python", "gpu", order=1)
    busy.active = 5
    there = index(busy, idle)
    for task in (wanted("capability"), wanted("capability", "python", kind="python")):
        choice = there.choose(task, 1.0)
        assert choice is not None and choice.worker is idle
        assert choice.placed.strategy == "capability: load-balanced"
    assert chosen(there, wanted("capability", "python")) == "busy"  # it was asked for by name


@pytest.mark.accepts("S1.10")
@pytest.mark.parametrize("strategy", ["capability", "load-balanced", "locality"])
def test_among_the_capable_the_least_busy_is_taken(strategy: str) -> None:
    idle = worker("idle", "fetch", order=0)
    crowd = [worker(name, "fetch", "delete", order=n) for n, name in enumerate("abc", start=1)]
    for seen, active in zip(crowd, (5, 2, 4), strict=True):
        seen.active = active
    assert chosen(index(idle, *crowd), wanted(strategy, "fetch", "delete")) == "b"


def test_the_tightest_fit_leaves_the_able_ones_free_and_most_takes_the_ablest() -> None:
    able = worker("able", "python", "gpu", "eu", order=0)
    exact = worker("exact", "python", "eu", order=1)
    exact.active = 9
    there = index(able, exact)
    assert chosen(there, wanted("capability", "python", "eu", kind="python")) == "exact"
    most = Policy(strategy="capability", fit="most")
    assert chosen(there, wanted("", "python", "eu", kind="python", policy=most)) == "able"


# Locality.


@pytest.mark.accepts("S1.12")
def test_locality_takes_this_node_then_this_host_then_its_group_then_any() -> None:
    far = worker("far", node=THERE, host="else", order=0)
    group = worker("group", node=THERE, host="else", host_group=GROUP, order=1)
    host = worker("host", node=THERE, host=HOST, order=2)
    here = worker("here", host="else", order=3)
    busier = worker("busier", host="else", order=2)
    busier.active = 5
    there = index(far, group, host, here, busier)
    found = []
    for seen in (here, busier, host, group, far):
        found.append(chosen(there, wanted("locality")))
        there.drop(seen.session)
    assert found == ["here", "busier", "host", "group", "far"]


def test_unnamed_hosts_are_not_all_the_same_host() -> None:
    first, second = worker("first", node=THERE, order=0), worker("second", node=THERE, host=HOST, order=1)
    assert chosen(index(first, second), wanted("locality")) == "second"


def test_locality_follows_the_node_into_its_next_life() -> None:
    life = [HERE]
    there = index(worker("a", node=THERE), worker("b", node=HERE, order=1), here=lambda: life[0])
    assert chosen(there, wanted("locality")) == "b"
    life[0] = THERE
    assert chosen(there, wanted("locality")) == "a"


# Weighted, and random.


@pytest.mark.accepts("S3.3")
def test_weighted_prefers_who_is_quick_idle_heavy_and_does_well() -> None:
    base = worker("base")
    base.record.note(ok=True, took_s=1.0, now=0.0)
    slow, busy, heavy, failing = (worker(name) for name in ("slow", "busy", "heavy", "failing"))
    for seen, took_s in ((slow, 4.0), (busy, 1.0), (failing, 1.0)):
        seen.record.note(ok=True, took_s=took_s, now=0.0)
    busy.active = 1
    for n in range(1, 3):
        failing.record.note(ok=False, took_s=1.0, now=20.0 * n)
    heavy = worker("heavy", weight=4.0)
    heavy.record.note(ok=True, took_s=1.0, now=0.0)
    assert cost(slow) == pytest.approx(2 * cost(base))
    assert cost(busy) == pytest.approx(2 * cost(base))
    assert cost(heavy) == pytest.approx(cost(base) / 4)
    assert cost(failing) == pytest.approx(PENALTY + cost(base))
    for worse in (slow, busy, failing):
        base.chosen_at = worse.chosen_at = 1.0
        assert several(index(worse, base), "weighted", 20) == ["base"] * 20
    # And chance alone is the simple strategy.
    counts = Counter(several(index(base, slow, busy, failing), "random", 4_000))
    assert all(900 < counts[name] < 1_100 for name in ("base", "slow", "busy", "failing"))


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan")])
def test_a_weight_that_makes_no_sense_counts_as_one(weight: float) -> None:
    assert cost(worker("w", weight=weight)) == cost(worker("w"))


def test_weighted_tries_one_again_that_was_not_taken_for_a_second() -> None:
    good, bad = worker("good"), worker("bad")
    for n in range(5):
        bad.record.note(ok=False, took_s=60.0, now=20.0 * n)
    good.heard_at = bad.heard_at = 100.0
    there = index(good, bad)
    found = [chosen(there, wanted("weighted"), now=100 + n / 10) for n in range(40)]
    assert 3 <= found.count("bad") <= 5
    assert min(b - a for a, b in itertools.pairwise(n for n, name in enumerate(found) if name == "bad")) > 10


def test_weighted_shows_the_two_that_were_drawn() -> None:
    choice = index(*three()).choose(wanted("weighted"), 1.0)
    assert choice is not None and choice.placed.count == 3
    assert len(choice.placed.top) == 2 and choice.placed.top[0].worker == choice.worker.id


@settings(deadline=None)
@given(
    seed=st.integers(),
    count=st.integers(1, 8),
    strategy=st.sampled_from(["random", "weighted", "round-robin"]),
)
def test_everybody_who_may_is_taken_sooner_or_later(seed: int, count: int, strategy: str) -> None:
    chance = random.Random(seed)
    crowd = [worker(f"w{n}", order=n) for n in range(count)]
    for seen in crowd:
        seen.active, seen.cpu = chance.randrange(10), chance.random()
        for n in range(chance.randrange(3)):
            seen.record.note(ok=chance.random() < 0.5, took_s=chance.random(), now=float(n))
    there = index(*crowd, seed=seed)
    found = {chosen(there, wanted(strategy), now=2 + n / 100) for n in range(800)}
    assert found == {seen.id for seen in crowd}


# Those who do badly.


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_degraded_worker_gets_one_task_in_ten_seconds_and_recovers_by_them(strategy: str) -> None:
    bad, good = worker("bad", slots=1_000, order=0), worker("good", slots=1_000, order=1)
    for _ in range(10):
        bad.record.note(ok=False, took_s=1.0, now=0.0)
    there = index(bad, good)
    given = list[float]()
    now = 0.0
    while degraded(bad, now, RULES):
        now += 0.25
        bad.heard_at = good.heard_at = now
        there.changed(bad)
        seen = take(there, wanted(strategy, affinity="bad"), now)
        assert seen is not None
        if seen is bad:
            given.append(now)
            bad.probed_at = now
            bad.record.note(ok=True, took_s=1.0, now=now)
            there.changed(bad)
    assert 5 <= len(given) <= 11 and now < 300
    assert all(later - earlier >= 10 for earlier, later in itertools.pairwise(given))
    # From now on it may have more than one in ten seconds.
    assert "bad" in {chosen(there, wanted(strategy, affinity="bad"), now + n / 20) for n in range(100)}


def test_what_bars_a_degraded_worker_is_said() -> None:
    seen = worker("w")
    for _ in range(10):
        seen.record.note(ok=False, took_s=1.0, now=0.0)
    seen.probed_at = 0.5
    there = index(seen, worker("well, and busy", slots=0))
    barred = {verdict.worker: verdict.barred for verdict in there.candidates(wanted(), 1.0)}
    assert barred["w"] == "degraded, and given a task less than 10 s ago"
    assert chosen(there, wanted(), now=10.4) == "nobody"
    assert chosen(there, wanted(), now=10.5) == "w"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_if_all_do_badly_it_is_the_tasks_and_nobody_has_to_rest(strategy: str) -> None:
    crowd = [worker(f"w{n}", order=n) for n in range(3)]
    for seen in crowd:
        seen.probed_at = 0.5
        for _ in range(10):
            seen.record.note(ok=False, took_s=1.0, now=0.0)
    there = index(*crowd)
    assert there.may_fit(wanted(strategy), 1.0)
    assert all(not verdict.barred for verdict in there.candidates(wanted(strategy), 1.0))
    taken = [take(there, wanted(strategy), 1.0) for _ in range(30)]
    assert None not in taken and take(there, wanted(strategy), 1.0) is None, "each has ten slots"


# What is kept of a choice, and what was asked for.


def test_a_choice_tells_its_strategy_its_key_and_the_five_best() -> None:
    crowd = [worker(f"w{n}", order=n) for n in range(8)]
    for n, seen in enumerate(crowd):
        seen.active = 9 - n
    choice = index(*crowd).choose(wanted(policy=SEED), 1.0)
    assert choice is not None
    placed = choice.placed
    assert (placed.strategy, placed.key, placed.count) == ("load-balanced", (2,), 8)
    assert [(one.worker, one.key) for one in placed.top] == [
        (f"w{n}", (9 - n,)) for n in (7, 6, 5, 4, 3)
    ]  # fmt: skip


def test_the_only_one_needs_no_others_beside_it() -> None:
    choice = index(worker("w")).choose(wanted("affinity", affinity="w"), 1.0)
    assert choice is not None
    assert (choice.placed.key, choice.placed.count, choice.placed.top) == ((0,), 1, ())


@pytest.mark.parametrize(
    ("workflow", "step", "expected"),
    [
        (None, None, "locality"),
        (Assign("random"), None, "random"),
        (Assign("random"), Assign("affinity", affinity="x"), "affinity"),
        (Assign("random"), Assign(affinity="x"), "random"),
        (None, Assign("weighted"), "weighted"),
    ],
)
def test_the_most_particular_word_counts(workflow: Assign | None, step: Assign | None, expected: str) -> None:
    cluster = Policy(memory_weight=0.5)
    policy = merged(cluster, workflow, step)
    assert (policy.strategy, policy.memory_weight) == (expected, 0.5)
