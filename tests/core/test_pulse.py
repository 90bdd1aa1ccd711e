"""How runs have gone lately is counted by namespace and minute."""

from windlass.core import pulse
from windlass.core.events import RunEnded, RunStarted
from windlass.core.names import WorkflowId
from windlass.core.pulse import Counted, Minute, Pulse, quantile, window

NOW = 1_000_000 * 60.0


def started(at: float) -> RunStarted:
    return RunStarted(at=at, workflow=WorkflowId("w"), version=1, document_hash="", request_hash="")


def test_each_minute_has_what_happened_in_it() -> None:
    told = Pulse()
    told.note("a", started(NOW - 60), None)
    told.note("a", started(NOW), None)
    told.note("a", RunEnded(at=NOW + 1, status="succeeded"), NOW)
    told.note("a", RunEnded(at=NOW + 2, status="failed"), NOW)
    told.note("a", RunEnded(at=NOW + 3, status="cancelled"), NOW)
    found = told.of("a").counted(NOW + 30)
    minutes = window([found], NOW + 30)
    assert len(minutes) == pulse.MINUTES
    assert minutes[-2:] == [Minute(999_999, started=1), Minute(1_000_000, 1, 1, 1, 1)]
    assert found.took == (1.0, 2.0, 3.0)


def test_what_the_nodes_counted_is_added_up_minute_by_minute() -> None:
    here = Counted((Minute(1_000_000, started=1, failed=1), Minute(999_999, succeeded=2)), (1.0,))
    there = Counted((Minute(1_000_000, started=2), Minute(1_000_001, started=9), Minute(1, started=9)))
    assert window([here, there], NOW)[-2:] == [
        Minute(999_999, succeeded=2),
        Minute(1_000_000, started=3, failed=1),
    ]
    assert here.minutes[0].started == 1, "what a node told is left as it was"


def test_namespaces_do_not_see_each_other() -> None:
    told = Pulse()
    told.note("a", started(NOW), None)
    assert told.of("b").counted(NOW) == Counted()


def test_what_is_older_than_the_window_is_gone() -> None:
    told = Pulse()
    told.note("a", started(NOW), None)
    told.note("a", RunEnded(at=NOW + 1, status="succeeded"), NOW)
    later = told.of("a")
    assert later.counted(NOW + 59 * 60) == Counted((Minute(1_000_000, 1, 1),), (1.0,))
    assert later.counted(NOW + 60 * 60) == Counted()


def test_a_clock_that_goes_back_counts_for_the_newest_minute() -> None:
    told = Pulse()
    told.note("a", started(NOW), None)
    told.note("a", started(NOW - 61), None)
    assert told.of("a").counted(NOW).minutes == (Minute(1_000_000, started=2),)


def test_the_quietest_namespace_is_forgotten_first() -> None:
    told = Pulse()
    for number in range(pulse.NAMESPACES_MAX):
        told.note(f"n{number}", started(NOW + number * 60), None)
    told.note("more", started(NOW + 60 * pulse.NAMESPACES_MAX), None)
    assert not told.of("n0").minutes
    assert told.of("n1").minutes
    assert told.of("more").minutes


def test_quantiles_are_of_what_was_measured() -> None:
    assert quantile([], 0.5) is None
    assert quantile([3.0], 0.95) == 3.0
    hundred = [float(number) for number in range(1, 101)]
    assert (quantile(hundred, 0.5), quantile(hundred, 0.95), quantile(hundred, 1.0)) == (50.0, 95.0, 100.0)
