"""When a node may be called dead, told by the one who watches."""

from hypothesis import given
from hypothesis import strategies as st

from windlass.core.cluster import NodeId
from windlass.core.detector import Detector

A, B, C = NodeId("a"), NodeId("b"), NodeId("c")
EVERY_S = 0.5


def watch(detector: Detector, start_s: float, end_s: float, **beats: int) -> None:
    """Read the same beats every half second, both ends included."""
    for n in range(round((end_s - start_s) / EVERY_S) + 1):
        detector.observe(start_s + n * EVERY_S, {NodeId(node): beat for node, beat in beats.items()})


def test_nobody_is_dead_to_one_who_never_looked() -> None:
    assert Detector().dead(100.0, refused=[A]) == []


def test_a_node_whose_beat_stood_still_is_dead_after_its_time_and_not_before() -> None:
    detector = Detector()
    watch(detector, 10.0, 13.0, a=7)
    assert detector.dead(13.4) == []
    watch(detector, 13.5, 13.5, a=7)
    assert detector.dead(13.5) == [(A, 7)]


def test_time_in_which_nothing_was_read_proves_nothing() -> None:
    detector = Detector()
    watch(detector, 10.0, 13.0, a=7)
    assert detector.dead(14.4) == [], "nobody has looked since 13.0"


def test_a_node_that_beats_lives_however_long_it_is_watched() -> None:
    detector = Detector()
    for n in range(100):
        detector.observe(n * EVERY_S, {A: n // 4, B: 5})
        assert (A, n // 4) not in detector.dead(n * EVERY_S)
    assert detector.dead(49.5) == [(B, 5)]


def test_a_gap_in_the_own_reads_starts_every_window_anew() -> None:
    detector = Detector()
    watch(detector, 0.0, 3.0, a=7, b=9)
    watch(detector, 4.6, 7.6, a=7, b=9)
    assert detector.dead(7.6) == []
    watch(detector, 8.1, 8.1, a=7, b=9)
    assert detector.dead(8.1) == [(A, 7), (B, 9)]


def test_late_reads_that_are_no_gap_count() -> None:
    detector = Detector()
    for now in (0.0, 1.5, 3.0, 4.5):
        detector.observe(now, {A: 7})
    assert detector.dead(4.5) == [(A, 7)]


def test_who_looks_too_late_at_what_was_read_calls_nobody_dead() -> None:
    detector = Detector()
    watch(detector, 0.0, 5.0, a=7)
    assert detector.dead(6.5) == [(A, 7)]
    assert detector.dead(6.6) == [], "we were frozen, or the database was away: perhaps for all"


def test_after_an_outage_of_the_database_everyone_has_the_whole_time_again() -> None:
    detector = Detector()
    watch(detector, 0.0, 5.0, a=7, b=1)
    watch(detector, 60.0, 63.0, a=7, b=1)
    assert detector.dead(63.0, refused=[]) == []
    detector.observe(63.5, {A: 7, B: 2})
    assert detector.dead(63.5) == [(A, 7)]


def test_a_refused_connection_shortens_the_time_but_proves_nothing_by_itself() -> None:
    detector = Detector()
    watch(detector, 0.0, 0.5, a=7, b=1)
    assert detector.dead(0.5, refused=[A]) == []
    watch(detector, 1.0, 1.0, a=7, b=1)
    assert detector.dead(1.0, refused=[A]) == [(A, 7)]
    watch(detector, 1.5, 1.5, a=8, b=1)
    assert detector.dead(1.5, refused=[A]) == [], "it beats: the address is wrong, or a firewall is"


def test_a_refused_connection_does_not_bridge_a_gap() -> None:
    detector = Detector()
    watch(detector, 0.0, 1.0, a=7)
    detector.observe(9.0, {A: 7})
    assert detector.dead(9.0, refused=[A]) == []


def test_a_beat_stands_from_an_answer_to_a_question() -> None:
    slow = Detector()
    slow.observe(1.4, {A: 7}, asked_at=0.0)  # it may have been read at 1.4
    for n in range(1, 7):
        slow.observe(1.4 + n * EVERY_S, {A: 7}, asked_at=1.4 + (n - 1) * EVERY_S)
    slow.observe(4.9, {A: 7}, asked_at=4.4)  # it may have been read at 4.4
    assert slow.dead(4.9) == []
    slow.observe(5.4, {A: 7}, asked_at=4.9)
    assert slow.dead(5.4) == [(A, 7)]


def test_a_node_that_went_away_and_came_back_is_new() -> None:
    detector = Detector()
    watch(detector, 0.0, 3.0, a=7)
    watch(detector, 3.5, 3.5)
    watch(detector, 4.0, 7.0, a=7)
    assert detector.dead(7.0) == []


@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from([0.25, 0.5, 1.0, 1.5, 1.75, 4.0]),
            st.dictionaries(st.sampled_from([A, B, C]), st.integers(0, 3)),
        ),
        min_size=1,
        max_size=40,
    ),
    later=st.sampled_from([0.0, 0.5, 1.5, 1.75]),
    refused=st.sets(st.sampled_from([A, B, C])),
)
def test_only_those_are_dead_that_stood_still_in_an_unbroken_row_of_reads(
    steps: list[tuple[float, dict[NodeId, int]]], later: float, refused: set[NodeId]
) -> None:
    detector = Detector()
    reads: list[tuple[float, dict[NodeId, int]]] = []
    now = 1000.0
    for pause, beats in steps:
        now += pause
        detector.observe(now, beats)
        reads.append((now, beats))
    expected = []
    for node in (A, B, C):
        row: list[float] = []  # the reads that show it standing, back to the first change or gap
        for (at, beats), after in zip(
            reversed(reads), [now, *(at for at, _ in reversed(reads))], strict=False
        ):
            if beats.get(node) != reads[-1][1].get(node, -1) or after - at > 1.5:
                break
            row.append(at)
        needed = 0.75 if node in refused else 3.5
        if row and later <= 1.5 and row[0] - row[-1] >= needed:
            expected.append((node, reads[-1][1][node]))
    assert detector.dead(now + later, refused=refused) == expected
