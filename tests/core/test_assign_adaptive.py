"""The strategy that follows others: when it switches, and that it does not flap."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.workers import index, wanted, worker
from windlass.core.assign.adaptive import Adaptive, Figures, decided, figures_of
from windlass.core.assign.policy import AdaptiveRules, Policy
from windlass.core.fleet import Rules, Seen

RULES = AdaptiveRules()


@pytest.mark.accepts("S1.20")
@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        (Figures(), "round-robin"),
        (Figures(cpu=0.8, trip_s=0.1), "round-robin"),
        (Figures(cpu=0.81), "load-balanced"),
        (Figures(cpu=0.81, trip_s=5.0), "load-balanced"),
        (Figures(cpu=0.8, trip_s=0.101), "locality"),
        (Figures(failures=0.1), "round-robin"),
        (Figures(failures=0.11, cpu=1.0, trip_s=1.0), "affinity"),
    ],
)
def test_the_figures_decide(figures: Figures, expected: str) -> None:
    assert decided(figures, RULES)[0] == expected
    adaptive = Adaptive(RULES)
    adaptive.look(figures, now=0.0)
    assert adaptive.following == expected


def test_what_is_followed_is_left_only_clearly_below_its_bound() -> None:
    adaptive = Adaptive(AdaptiveRules(hold_s=0.0))
    found = []
    for now, cpu in enumerate([0.81, 0.79, 0.73, 0.72, 0.79, 0.80]):
        adaptive.look(Figures(cpu=cpu), now=float(now))
        found.append(adaptive.following)
    assert found == ["load-balanced"] * 3 + ["round-robin"] * 3


def test_a_switch_says_from_what_to_what_and_why() -> None:
    adaptive = Adaptive(AdaptiveRules(hold_s=0.0))
    first = adaptive.look(Figures(cpu=0.85), now=0.0)
    assert first == ("round-robin", "load-balanced", "the mean CPU, 0.85, is above 0.8")
    assert adaptive.look(Figures(cpu=0.85), now=1.0) is None
    second = adaptive.look(Figures(cpu=0.5, trip_s=0.2), now=2.0)
    assert second is not None and second.why == (
        "the mean CPU, 0.5, is not above 0.72 any more; the mean round trip in seconds, 0.2, is above 0.1"
    )
    third = adaptive.look(Figures(), now=3.0)
    assert third is not None and third.why.endswith("any more; no figure is above its bound")


BOUNDS = {"affinity": "failures_max", "load-balanced": "cpu_max", "locality": "trip_max_s"}


@settings(deadline=None)
@given(
    seed=st.integers(),
    noise=st.floats(0, 0.5),
    rules=st.builds(AdaptiveRules, margin=st.floats(0, 0.5), hold_s=st.floats(0, 60)),
)
def test_it_never_flaps_however_the_figures_tremble_around_their_bounds(
    seed: int, noise: float, rules: AdaptiveRules
) -> None:
    chance, adaptive, last = random.Random(seed), Adaptive(rules), float("-inf")
    for second in range(600):
        failures, cpu, trip_s = (
            bound * chance.uniform(1 - noise, 1 + noise)
            for bound in (rules.failures_max, rules.cpu_max, rules.trip_max_s)
        )
        figures = Figures(failures, cpu, trip_s)
        values = {"affinity": failures, "load-balanced": cpu, "locality": trip_s}
        switch = adaptive.look(figures, now=float(second))
        if switch is None:
            continue
        assert second - last >= rules.hold_s
        last = second
        if switch.after in BOUNDS:
            assert values[switch.after] > getattr(rules, BOUNDS[switch.after])
        order = [*BOUNDS, "round-robin"]
        if order.index(switch.after) > order.index(switch.before):
            bound = getattr(rules, BOUNDS[switch.before])
            assert values[switch.before] <= bound * (1 - rules.margin)


def test_noise_within_the_margin_switches_once() -> None:
    chance, adaptive = random.Random(3), Adaptive(AdaptiveRules(hold_s=0.0))
    switches = [
        switch
        for second in range(10_000)
        if (switch := adaptive.look(Figures(cpu=chance.uniform(0.73, 0.87)), now=float(second)))
    ]
    assert [switch.after for switch in switches] == ["load-balanced"]


# Where the figures come from.


def busy(name: str, cpu: float, *capabilities: str, now: float = 0.0) -> Seen:
    seen = worker(name, *capabilities, now=now)
    seen.cpu = cpu
    return seen


def test_the_figures_are_those_of_all_who_are_there_free_or_not() -> None:
    full, idle, closed, paused = busy("a", 1.0), busy("b", 0.5), busy("c", 0.0), busy("d", 0.0)
    full.active = full.slots
    full.trip_s = 0.2
    closed.connected, paused.halt = False, "paused"
    silent = busy("e", 0.0, now=-100.0)
    for n in range(20):
        idle.record.note(ok=n % 4 > 0, took_s=1.0, now=0.0)
    found = figures_of([full, idle, closed, paused, silent], 0.0, Rules())
    assert found == Figures(failures=0.25, cpu=0.75, trip_s=0.1)
    assert figures_of([closed, silent], 0.0, Rules()) == Figures()


def test_a_first_failure_is_no_reason_to_change_anything() -> None:
    seen = worker("w")
    seen.record.note(ok=False, took_s=1.0, now=0.0)
    assert figures_of([seen], 0.0, Rules()).failures <= RULES.failures_max


def test_each_sort_of_task_follows_what_its_own_workers_call_for() -> None:
    hot, cool = busy("hot", 0.95, "gpu"), busy("cool", 0.1, "cpu")
    there = index(hot, cool)
    shown = {}
    for needs in ("gpu", "cpu"):
        choice = there.choose(wanted("adaptive", needs), 1.0)
        assert choice is not None
        shown[needs] = choice.placed.strategy
    assert shown == {"gpu": "adaptive: load-balanced", "cpu": "adaptive: round-robin"}
    assert there.tick(2.0) == [
        "tasks that need gpu: round-robin → load-balanced, because the mean CPU, 0.95, is above 0.8"
    ]
    assert there.tick(3.0) == []


def test_a_switch_waits_for_its_time_and_is_told_once() -> None:
    seen = busy("w", 0.95)
    there = index(seen)
    task = wanted(policy=Policy(strategy="adaptive", adaptive=AdaptiveRules(hold_s=10.0)))
    there.choose(task, 0.0)
    assert len(there.tick(0.0)) == 1
    seen.cpu = 0.1
    assert there.tick(9.0) == []
    assert there.tick(10.0) == [
        "tasks that need nothing: load-balanced → round-robin, because "
        "the mean CPU, 0.1, is not above 0.72 any more; no figure is above its bound"
    ]
    choice = there.choose(task, 11.0)
    assert choice is not None and choice.placed.strategy == "adaptive: round-robin"


def test_complaints_are_told_once_and_are_bounded() -> None:
    there = index()
    for n in range(1_000):
        there.complain(f"sentence {n // 2}")
    assert len(there.tick(0.0)) == 100
    assert there.tick(0.0) == []
