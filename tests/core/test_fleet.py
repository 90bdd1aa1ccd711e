"""Workers: their states, how busy they are, and how well they do."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.workers import RULES, worker
from windlass.core import fleet
from windlass.core.errors import Invalid
from windlass.core.fleet import Record, Rules, Seen, can_handle, healthy, load_factor, status, update_load

NOW = 1_000.0


def results(record: Record, answers: Iterable[bool], *, now: float = NOW, took_s: float = 1.0) -> None:
    for ok in answers:
        record.note(ok=ok, took_s=took_s, now=now)


def failing(seen: Seen, *, now: float = NOW, count: int = 10) -> Seen:
    results(seen.record, [False] * count, now=now)
    return seen


def state(seen: Seen, now: float = NOW, rules: Rules = RULES) -> str:
    return status(seen, now, rules)


@pytest.mark.accepts("S3.28")
def test_a_worker_has_a_name_a_state_abilities_a_load_a_last_sign_of_life_and_a_record() -> None:
    seen = worker("w", "python", "go", slots=4, now=NOW)
    update_load(seen, 3)
    results(seen.record, [True, True, True, False], took_s=2.0)
    assert (seen.id, state(seen), sorted(seen.capabilities)) == ("w", "ONLINE", ["go", "python"])
    assert (load_factor(seen), seen.slots, seen.active, seen.free) == (0.75, 4, 3, 1)
    assert seen.heard_at == NOW
    assert (seen.record.count, seen.record.success(NOW), seen.record.latency_s) == (4, 0.75, 2.0)


@pytest.mark.accepts("S3.29")
@pytest.mark.parametrize("load", [-1, 5, 100])
def test_a_load_that_cannot_be_is_refused_and_changes_nothing(load: int) -> None:
    seen = worker("w", slots=4)
    update_load(seen, 2)
    with pytest.raises(Invalid, match=f"^Invalid load: {load}$"):
        update_load(seen, load)
    assert seen.active == 2


@pytest.mark.accepts("S3.30")
def test_a_full_worker_is_busy_and_one_that_empties_is_online_again() -> None:
    seen = worker("w", slots=2, now=NOW)
    found = []
    for load in (0, 1, 2, 1, 2, 0):
        update_load(seen, load)
        found.append(state(seen))
    assert found == ["ONLINE", "ONLINE", "BUSY", "ONLINE", "BUSY", "ONLINE"]


@pytest.mark.accepts("S3.31")
@given(slots=st.integers(1, 1_000), share=st.floats(0, 1))
def test_the_load_factor_is_the_share_of_slots_that_are_taken(slots: int, share: float) -> None:
    seen = worker("w", slots=slots)
    active = round(slots * share)
    update_load(seen, active)
    assert load_factor(seen) == active / slots


def test_a_worker_without_slots_is_full() -> None:
    seen = worker("w", slots=0, now=NOW)
    assert (load_factor(seen), state(seen), seen.free) == (1.0, "BUSY", 0)


@pytest.mark.accepts("S3.32")
def test_available_is_who_is_online_with_a_free_slot_and_healthy() -> None:
    def available(seen: Seen, now: float = NOW) -> bool:
        return fleet.is_available(seen, now, RULES)

    seen = worker("w", slots=1, now=NOW)
    assert available(seen) and not available(seen, NOW + 30)
    update_load(seen, 1)
    assert not available(seen)
    update_load(seen, 0)
    seen.connected = False
    assert not available(seen)
    seen.connected, seen.halt = True, "paused"
    assert not available(seen)
    seen.halt = ""
    assert available(seen)
    assert not available(failing(seen))


@pytest.mark.accepts("S3.33")
def test_healthy_is_who_was_heard_of_less_than_thirty_seconds_ago() -> None:
    seen = worker("w", now=NOW)
    assert healthy(seen, NOW + 29.999, Rules())
    assert not healthy(seen, NOW + 30, Rules())
    assert healthy(seen, NOW + 89.999, Rules(silent_s=90.0))
    assert not healthy(seen, NOW + 90, Rules(silent_s=90.0))


def test_who_is_silent_for_long_need_not_be_known_any_more() -> None:
    seen = worker("w", now=NOW)
    assert not fleet.gone(seen, NOW + 89.999, RULES)
    assert fleet.gone(seen, NOW + 90, RULES)


@pytest.mark.accepts("S3.34")
def test_a_worker_registers_with_its_languages_and_is_kept_alive_by_its_beats() -> None:
    seen = worker("w", now=NOW)
    seen.registered = False
    assert state(seen) == "REGISTERING" and not can_handle(seen, ["python"])
    fleet.register(seen, ["python", "go"], NOW)
    assert state(seen) == "ONLINE"
    assert can_handle(seen, ["python"]) and can_handle(seen, ["go", "python"])
    assert not can_handle(seen, ["java"]) and not can_handle(seen, ["java", "python"])
    assert state(seen, NOW + 40) == "OFFLINE"
    fleet.heartbeat(seen, NOW + 40)
    assert state(seen, NOW + 40) == "ONLINE"
    fleet.heartbeat(seen, NOW)  # one that was late on its way
    assert seen.heard_at == NOW + 40


@pytest.mark.accepts("S3.61")
def test_a_worker_goes_through_its_states_and_from_each_to_offline() -> None:
    def silent_or_closed(seen: Seen) -> set[str]:
        seen.connected = False
        closed = state(seen)
        seen.connected = True
        return {closed, state(seen, seen.heard_at + 30)}

    seen = worker("w", slots=1, now=NOW)
    seen.registered, seen.connected = False, False
    assert state(seen) == "OFFLINE"
    seen.connected = True
    assert state(seen) == "REGISTERING" and silent_or_closed(seen) == {"OFFLINE"}
    fleet.register(seen, ["python"], NOW)
    assert state(seen) == "ONLINE" and silent_or_closed(seen) == {"OFFLINE"}
    update_load(seen, 1)
    assert state(seen) == "BUSY" and silent_or_closed(seen) == {"OFFLINE"}
    update_load(seen, 0)
    assert state(seen) == "ONLINE"
    failing(seen)
    assert state(seen) == "DEGRADED" and silent_or_closed(seen) == {"OFFLINE"}
    results(seen.record, [True] * 11)
    assert state(seen) == "ONLINE"


# How well it does.


def test_one_that_has_shown_nothing_is_taken_for_good() -> None:
    assert Record().success(NOW) == 1.0
    assert Record().degraded_until(RULES) == float("-inf")


@pytest.mark.parametrize(
    ("good", "bad", "expected"),
    [(0, 9, "ONLINE"), (0, 10, "DEGRADED"), (4, 6, "DEGRADED"), (5, 5, "ONLINE"), (9, 91, "DEGRADED")],
)
def test_ten_results_of_which_more_than_half_were_bad_make_it_degraded(
    good: int, bad: int, expected: str
) -> None:
    seen = worker("w", now=NOW)
    results(seen.record, [True] * good + [False] * bad)
    assert state(seen) == expected


def test_results_that_come_over_a_minute_count_as_many() -> None:
    seen = worker("w", now=NOW + 60)
    for n in range(10):
        seen.record.note(ok=False, took_s=1.0, now=NOW + 6 * n)
    assert state(seen, NOW + 60) == "DEGRADED"


def test_bad_results_are_forgotten_with_time_alone() -> None:
    seen = failing(worker("w", now=NOW))
    until = seen.record.degraded_until(RULES)
    assert 300 < until - NOW < 600
    seen.heard_at = until
    assert state(seen, until - 0.001) == "DEGRADED"
    assert state(seen, until) == "ONLINE"


def test_one_that_keeps_failing_at_its_probes_stays_degraded() -> None:
    seen = failing(worker("w", now=NOW))
    for n in range(1, 1_000):
        seen.heard_at = NOW + 10 * n
        assert state(seen, NOW + 10 * n) == "DEGRADED"
        seen.record.note(ok=False, took_s=1.0, now=NOW + 10 * n)


def test_one_that_does_well_at_its_probes_recovers() -> None:
    seen = failing(worker("w", now=NOW), count=100)
    probes = 0
    while state(seen, NOW + 10 * probes) == "DEGRADED":
        probes += 1
        seen.heard_at = NOW + 10 * probes
        seen.record.note(ok=True, took_s=1.0, now=NOW + 10 * probes)
    assert probes < 60


@given(
    answers=st.lists(st.tuples(st.booleans(), st.floats(0, 100), st.floats(-5, 1_000)), max_size=50),
    later_s=st.floats(0, 1e6),
)
def test_averages_stay_within_what_they_are_averages_of(
    answers: list[tuple[bool, float, float]], later_s: float
) -> None:
    record, now = Record(), NOW
    for ok, took_s, passed_s in answers:
        now += passed_s  # a clock that is set back must not matter
        record.note(ok=ok, took_s=took_s, now=now)
    longest = max((took_s for _, took_s, _ in answers), default=0.0)
    assert 0 <= record.success(now + later_s) <= 1
    assert -1e-9 <= record.recent_success <= 1 + 1e-9
    assert -1e-9 <= record.latency_s <= longest + 1e-9
    assert -1e-9 <= record.recent_s <= longest + 1e-9


def test_the_latest_latency_follows_within_seconds_and_one_failure_is_no_judgement() -> None:
    record = Record()
    record.note(ok=True, took_s=1.0, now=NOW)
    assert record.recent_s == 1.0
    record.note(ok=False, took_s=5.0, now=NOW + 100)
    assert record.recent_s == pytest.approx(5.0, rel=0.01)
    assert record.recent_success == 0.5
    record.note(ok=False, took_s=5.0, now=NOW + 200)
    assert record.recent_success == 0.25


def told(seen: Seen, now: float) -> fleet.Told:
    return fleet.Told(
        facts=seen.facts,
        node=seen.node,
        status=status(seen, now, RULES),
        success=seen.record.success(now),
        results=seen.record.weight(now),
    )


def test_what_is_told_of_a_worker_inside_a_node_judges_it_nowhere() -> None:
    seen = fleet.known(worker("w").facts, worker("w").node, built_in=True, now=NOW)
    assert seen.shown is not None
    results(seen.shown, [False] * 40, now=NOW)
    told = fleet.tell(seen, NOW, RULES)
    assert (told.success, told.status != "DEGRADED") == (0.0, True)
    assert told.results > 30
    assert fleet.record(told, NOW) == Record()


def test_another_node_thinks_of_a_worker_as_its_own_node_does() -> None:
    seen = failing(worker("w", now=NOW), count=40)
    until = seen.record.degraded_until(RULES)
    for now in (NOW, until - 1, until, until + 60):
        seen.heard_at = now
        other = worker("w", now=now)
        other.record = fleet.record(told(seen, now), now)
        assert state(other, now) == state(seen, now)
    assert state(seen, until + 60) == "ONLINE"
