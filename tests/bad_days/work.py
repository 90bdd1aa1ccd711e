"""Runs in the middle of something while the journal cannot be written, and what must be true afterwards."""

import json
import sqlite3
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.bad_days.house import Answer, House
from tests.waiting import wait_until

RUNS = 6  # acknowledged before it begins
STARTS = 12  # asked for meanwhile


@dataclass
class Work:
    """`first` has ended and is recorded, `hold` runs until the gate opens, `last` comes after.

    `first` and `last` leave a mark whenever they are begun.
    """

    home: House
    runs: list[str] = field(default_factory=list)

    @property
    def marks(self) -> Path:
        return self.home.app / "marks.txt"

    @property
    def gate(self) -> Path:
        return self.home.app / "gate"

    def begin(self) -> None:
        mark = {"kind": "python", "with": {"call": "steps:mark", "args": {"file": str(self.marks)}}}
        hold = {"kind": "python", "needs": ["first"], "with": {"call": "steps:hold"}}
        steps = {"first": mark, "hold": hold, "last": {**mark, "needs": ["hold"]}}
        self.home.save({"id": "work", "steps": steps})
        self.home.save({"id": "late", "steps": {"only": mark}})
        self.runs = [self.home.start("work", input={"gate": str(self.gate)}) for _ in range(RUNS)]
        for run in self.runs:
            wait_until(partial(self._holds, run))

    def start(self, run: str) -> Answer:
        return self.home.api("POST", "workflows/late/execute", {"runId": run})

    def start_many(self) -> dict[str, Answer]:
        """All at once, each under an id of its own."""
        ids = [f"late-{n}" for n in range(STARTS)]
        with ThreadPoolExecutor(STARTS) as threads:
            return dict(zip(ids, threads.map(self.start, ids), strict=True))

    def _holds(self, run: str) -> bool:
        return bool(self.home.step(run, "hold")["status"] == "running")

    def ends_well(self, answers: dict[str, Answer]) -> None:
        """What was acknowledged ends; what was refused never was; what is unknown can be asked for again."""
        wait_until(lambda: self.home.ready().status == 200)
        for run in self.runs:
            assert self.home.end_of(run)["status"] == "succeeded"
        for run, answer in answers.items():
            if answer.status == 503:
                seen = self.home.api("GET", f"runs/{run}")
                assert seen.status == 404, "it had said that nothing was done"
            again = self.start(run)
            assert (again.status, again.body["runId"]) == (200, run)
            assert self.home.end_of(run)["status"] == "succeeded"

    def is_recorded_once(self, journal: Path) -> None:
        """In the journal of an engine that was stopped: whole, without holes, and no end is there twice."""
        with closing(sqlite3.connect(journal)) as cx:
            assert cx.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            found = cx.execute("SELECT entity, seq, type, body FROM events ORDER BY entity, seq").fetchall()
        events: dict[str, list[tuple[str, Any]]] = {}
        for entity, seq, kind, body in found:
            events.setdefault(entity, []).append((kind, json.loads(body)))
            assert seq == len(events[entity])
        ends = Counter(
            (entity, body["step"])
            for entity, story in events.items()
            for kind, body in story
            if kind == "StepSucceeded"
        )
        assert set(ends.values()) == {1}
        assert len(ends) == 3 * RUNS + STARTS
        # What was recorded as ended before it began was not begun again.
        marks = Counter(self.marks.read_text().splitlines())
        assert {run: marks[f"{run} first"] for run in self.runs} == dict.fromkeys(self.runs, 1)
