"""The benchmark of control: small numbers of everything, to see that it measures what it says."""

from pathlib import Path

from bench import children, expressions, maps, permits, schedules
from bench.apart import apart
from bench.figures import Figure
from bench.played import play
from windlass.core import document


def _few(folder: Path) -> list[Figure]:
    return [
        *maps.measure(folder, 1, sizes=(5, 20)),
        *children.measure(folder, 1, 5),
        *permits.measure(folder, 1, 5, lines=(5, 50)),
        *expressions.measure(folder, 1, 5),
        *schedules.measure(folder, 1, 5, 5, look_s=1.5, every_s=1),  # it asserts that all of them fired
    ]


def test_every_part_measures_something(tmp_path: Path) -> None:
    figures = apart(_few, tmp_path)
    assert len({figure.name for figure in figures}) == 13
    for figure in figures:
        # What expressions add is a difference of two small times, which may come out as anything.
        assert figure.value > 0 or figure.unit == "%", figure


def test_a_run_that_is_played_has_a_step_for_each_item_and_its_journal_is_counted() -> None:
    few, many = (play(document.read(maps.MAP), maps.files(size), "done") for size in (10, 200))
    assert (few.steps, many.steps) == (10, 200)
    assert few.snapshots == 0 and many.snapshots > 0
    assert many.journal_bytes > 10 * few.journal_bytes
