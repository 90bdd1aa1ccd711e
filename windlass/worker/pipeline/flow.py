"""The stages of a pipeline at work, and the rows between them.

A chunk of a source goes all the way before the next is read: the stages are visited in their order, each
takes what lies before it, and lays what it makes before those that its edges lead to. A stage ends when all
that feed it have ended, so that what it held back goes the same way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final, get_args

from windlass.core.pipeline_step import Pipeline, Stage
from windlass.core.stage_configs import Sink, Source, Transform
from windlass.core.task import Json, StageReport
from windlass.worker.pipeline import Facts, Rows
from windlass.worker.pipeline.files import Folders
from windlass.worker.pipeline.parts import Parts
from windlass.worker.pipeline.sinks import Taking, taking
from windlass.worker.pipeline.sources import check, rows_of
from windlass.worker.pipeline.transforms import Passing, passing

TELL_S: Final = 1.0  # between two reports of how far it is

Tell = Callable[[Json], None]


class Station:
    """One stage at work."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.is_source = isinstance(stage.config, get_args(Source))
        self.to: list[Station] = []
        self.feeding = 0  # stages that may still send it rows
        self.waiting: list[Rows] = []  # chunks that lie before it
        self.passing: Passing | None = None  # if it is a transform
        self.taking: Taking | None = None  # if it is a sink
        self.records = 0  # that left it, or that it took in as a sink
        self.started_at = 0.0
        self.ended_at = 0.0
        self.error = ""
        self.facts: Facts = {}

    def take(self, rows: Rows) -> None:
        if self.taking is not None:
            self.records += len(rows)
            self.taking.take(rows)
        elif self.passing is not None:
            self.send(self.passing.take(rows))

    def send(self, rows: Rows) -> None:
        if rows:
            self.records += len(rows)
            for target in self.to:
                target.waiting.append(rows)

    def end(self) -> None:
        if self.taking is not None:
            self.facts = self.taking.end()
        elif self.passing is not None:
            self.send(self.passing.end())
        self.ended_at = time.time()
        for target in self.to:
            target.feeding -= 1

    def note(self) -> str:
        worker = self.taking or self.passing
        return worker.note() if worker is not None else ""

    def report(self) -> StageReport:
        name, at = self.stage.kind.node_type, (self.started_at, self.ended_at)
        return StageReport(self.stage.id, name, *at, self.records, self.error)


class Flow:
    def __init__(self, pipeline: Pipeline, tell: Tell) -> None:
        self.stations = [Station(stage) for stage in pipeline.stages]
        self._tell = tell
        self._told_at = time.monotonic()
        self._now: Station | None = None  # whose turn it is: whatever happens, happens there
        by_id = {station.stage.id: station for station in self.stations}
        for station in self.stations:
            station.to = [by_id[name] for name in pipeline.feeds[station.stage.id]]
            for target in station.to:
                target.feeding += 1

    def run(self, folders: Folders, parts: Parts) -> None:
        """To the end of all sources, one after another. Raises Trouble, if possible before a row is read."""
        self._begin(folders, parts)
        for station in self.stations:
            if isinstance(station.stage.config, get_args(Source)):
                self._now, station.started_at = station, time.time()
                for rows in rows_of(station.stage.config, folders):
                    station.send(rows)
                    self._pass_on()
                    self._now = station
                station.end()
                self._pass_on()
        self._now = None

    def blame(self, message: str) -> None:
        """It cannot go on."""
        if self._now is not None:
            self._now.error, self._now.ended_at = message, time.time()
            self._now.started_at = self._now.started_at or self._now.ended_at

    def output(self) -> dict[str, Json]:
        stages = {each.stage.id: {"records": each.records, **each.facts} for each in self.stations}
        return {"records": sum(each.records for each in self.stations if each.taking), "stages": stages}

    def reports(self) -> tuple[StageReport, ...]:
        return tuple(station.report() for station in self.stations if station.started_at)

    def notes(self) -> Iterator[str]:
        for station in self.stations:
            if note := station.note():
                yield f"{station.stage.id}: {note}"

    def _begin(self, folders: Folders, parts: Parts) -> None:
        for station in self.stations:
            self._now, config = station, station.stage.config
            if isinstance(config, get_args(Source)):
                check(config, folders)
                continue
            station.started_at = time.time()
            if isinstance(config, get_args(Transform)):
                station.passing = passing(config)
            elif isinstance(config, get_args(Sink)):
                station.taking = taking(config, parts)

    def _pass_on(self) -> None:
        """All that lies anywhere goes to its end; who will get nothing more ends."""
        for station in self.stations:
            if station.waiting:
                self._now = station
                waiting, station.waiting = station.waiting, []
                for rows in waiting:
                    station.take(rows)
            if station.feeding == 0 and not station.ended_at and not station.is_source:
                self._now = station
                station.end()
        if time.monotonic() >= self._told_at + TELL_S:
            self._told_at = time.monotonic()
            self._tell({"stages": {each.stage.id: each.records for each in self.stations}})
