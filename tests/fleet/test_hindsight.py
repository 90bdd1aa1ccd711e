"""That those who look back would see it: each promise is broken once, and they say so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from tests.cluster.machines import Cluster
from tests.fleet import hindsight
from tests.fleet.hindsight import Death, look_back


class Kept:
    """What the journal and its views would answer."""

    def __init__(self, folder: Path, *marks: str) -> None:
        self.marks = folder / "marks.txt"
        self.marks.write_text("".join(f"{mark}\n" for mark in marks))
        self.answers: dict[str, list[Any]] = {hindsight.VIEW: [], hindsight.LAST: [], hindsight.LOST: []}

    def rows(self, question: str) -> list[Any]:
        return self.answers[question]

    def faults(self, *deaths: Death) -> list[str]:
        return look_back(cast(Cluster, self), deaths).faults  # the two things it is asked for are here


def test_what_is_well_has_no_faults(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "r s 1 begin 10 7 w1", "r s 2 begin 14 8 w2", "r s 2 end 15 8 w2")
    kept.answers[hindsight.VIEW] = [("r", "s", 1, "w1", "LOST"), ("r", "s", 2, "w2", "SUCCEED")]
    kept.answers[hindsight.LAST] = [("r", "s", "w2")]
    kept.answers[hindsight.LOST] = [(13.0, "run/default/r", lost(1, "w1"))]
    deaths = (Death(12.0, "w1", node=False), Death(14.5, "a", node=True))
    found = look_back(cast(Cluster, kept), deaths)
    assert found.faults == []
    assert (found.executions, found.attempts, found.lost, found.cut_short, found.outlived) == (2, 2, 1, 1, 1)


def lost(attempt: int, worker: str) -> str:
    return json.dumps({"step": "s", "attempt": attempt, "worker": worker, "reason": "gone"})


def test_one_attempt_at_two_places_at_the_same_time_is_seen(tmp_path: Path) -> None:
    marks = ("r s 1 begin 10 7 w1", "r s 1 begin 11 8 w2", "r s 1 end 12 8 w2", "r s 1 end 13 7 w1")
    kept = Kept(tmp_path, *marks)
    kept.answers[hindsight.VIEW] = [("r", "s", 1, "w1", "SUCCEED")]
    assert kept.faults() == ["('r', 's', 1) ran on w1 and on w2 at the same time"]
    # Who never came to an end, and was never killed, may still run.
    kept = Kept(tmp_path, *marks[:3])
    kept.answers[hindsight.VIEW] = [("r", "s", 1, "w2", "SUCCEED")]
    assert len(kept.faults()) == 1
    assert kept.faults(Death(10.5, "w1", node=False)) == []


def test_an_address_of_somebody_else_is_seen(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "r s 1 begin 10 7 w1", "r s 1 end 11 7 w1")
    kept.answers[hindsight.VIEW] = [("r", "s", 1, "w2", "SUCCEED")]
    kept.answers[hindsight.LAST] = [("r", "s", "w2")]
    assert len(kept.faults()) == 2
    kept.answers[hindsight.VIEW] = []
    kept.answers[hindsight.LAST] = []
    assert kept.faults() == ["('r', 's', 1) ran, and the view does not know it"]
    kept.answers[hindsight.VIEW] = [("r", "s", 1, "w1", "SUCCEED"), ("r", "t", 1, "w1", "SUCCEED")]
    assert kept.faults() == ["('r', 't', 1) ran on nobody, and its address is w1 (SUCCEED)"]


def test_a_task_that_is_given_up_while_its_worker_lives_is_seen(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "r s 1 begin 10 7 w1", "r s 1 end 20 7 w1")
    kept.answers[hindsight.VIEW] = [("r", "s", 1, "w1", "LOST")]
    kept.answers[hindsight.LOST] = [(13.0, "run/default/r", lost(1, "w1"))]
    for death in (
        Death(12.0, "a", node=True),
        Death(12.0, "w2", node=False),
        Death(5.0, "w1", node=False),
        Death(15.0, "w1", node=False),
    ):
        assert kept.faults(death) == ["('r', 's', 1) was given up though w1 lived: gone"]
