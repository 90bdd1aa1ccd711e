"""Load: a small slice of it is played here, the whole by `make load`."""

import os
import random
import time
from pathlib import Path

import pytest

from bench import watch
from bench.apart import apart
from bench.clients import MIX
from bench.load import Report, load
from bench.watch import GROWTH_MAX_MIB, JUDGED_S, Sample

SECONDS, RUNS = 8.0, 100


def test_under_load_no_run_is_lost_and_nothing_is_an_error(tmp_path: Path) -> None:
    # When many runs are kept open for a while, and followed
    report = apart(load, tmp_path, SECONDS, RUNS)
    # Then none is lost, all end as they must, and every stream told all of its run
    assert report.faults() == [], report.words()
    assert report.ledger.open == 0
    assert len(report.ledger.started) > 2 * RUNS
    assert report.ledger.followed > 0
    # while there was work of every kind.
    assert {kind.ends for kind in MIX} == set(report.ledger.started.values())
    assert max(sample.minders for sample in report.samples) > 0
    # What is so short says nothing about growth.
    assert not watch.judge(report.samples).judged


def growing(mib_a_minute: float, *, seconds: float = 120.0, noise_mib: float = 1.0) -> list[Sample]:
    """A process that takes some memory at first, and then more and more."""
    chance, every_s = random.Random(1), 5.0
    times = [n * every_s for n in range(round(seconds / every_s) + 1)]
    return [
        Sample(at, 100 + min(at, 30) + at / 60 * mib_a_minute + chance.uniform(0, noise_mib), 50, 4)
        for at in times
    ]


@pytest.mark.parametrize("growth_mib", [-1.0, 0.0, GROWTH_MAX_MIB / 2])
def test_memory_that_only_wavers_is_flat(growth_mib: float) -> None:
    verdict = watch.judge(growing(growth_mib))
    assert verdict.judged and verdict.flat
    assert abs(verdict.growth_mib - growth_mib) < 1.0


def test_memory_that_grows_is_a_fault() -> None:
    report = Report(samples=growing(2 * GROWTH_MAX_MIB), took_s=120.0)
    report.ledger.followed = 1
    (fault,) = report.faults()
    assert "NOT FLAT" in fault


def test_a_short_look_is_not_judged() -> None:
    assert not watch.judge(growing(1000.0, seconds=JUDGED_S / 2)).judged
    assert not watch.judge([]).judged


def test_lost_runs_and_errors_are_faults() -> None:
    report = Report(samples=growing(0.0), took_s=120.0, lost=["exec_1"])
    report.ledger.errors["500 b'oh'"] += 3
    assert report.faults() == [
        "3 times: 500 b'oh'",
        "1 runs are lost, for example exec_1",
        "no stream came to its end",
    ]


def test_a_process_is_looked_at_from_outside() -> None:
    sample = watch.look(os.getpid(), time.monotonic())
    assert sample.rss_mib > 1
    assert sample.files > 2
    assert sample.minders == 0
