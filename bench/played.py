"""A run in the pure core: no node, no journal, no worker. What is left is what deciding costs.

Around it is done what a shard does with a decision: its events are written down, snapshots are taken as often
as a shard takes them, and the task of every step is made.
"""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from typing import Final

from windlass.core import document
from windlass.core import run as run_core
from windlass.core.commands import FinishStep, StartRun
from windlass.core.definition import Definition
from windlass.core.effects import Dispatch
from windlass.core.events import RunEvent
from windlass.core.names import Attempt, RunId, StepId, WorkerId, WorkflowId, run_key
from windlass.core.run_model import Run
from windlass.core.run_state import image
from windlass.core.task import Json, Success
from windlass.engine.surroundings import Settings
from windlass.wire import codec, versions

WORKER: Final = WorkerId("local")
RUN: Final = RunId("played")
STEP_S: Final = 0.001


@dataclass(slots=True)
class Played:
    """What became of a run."""

    steps: int = 0
    journal_bytes: int = 0  # of its events
    snapshots: int = 0
    image_bytes: int = 0  # of the last snapshot


class _Play:
    def __init__(self, definition: Definition) -> None:
        self.run = Run(definition, run_key(RUN))
        self.played = Played()
        self.offered: list[tuple[StepId, Attempt]] = []
        self._seq = self._kept_seq = self._bytes_since = 0

    def keep(self, events: list[RunEvent]) -> None:
        for event in events:
            size = len(codec.write_event(event, versions.LEVEL)[1])
            self.played.journal_bytes += size
            self._bytes_since += size
        self._seq += len(events)
        for effect in run_core.effects(events):
            if isinstance(effect, Dispatch):
                self.offered.append((effect.step, effect.attempt))
        many = self._seq - self._kept_seq >= Settings().snapshot_every
        if many and self._bytes_since >= self.played.image_bytes:
            self.played.image_bytes = len(codec.write_image(image(self.run), versions.LEVEL)[1])
            self.played.snapshots += 1
            self._kept_seq, self._bytes_since = self._seq, 0


def play(definition: Definition, given: Json = None, value: Json = None) -> Played:
    """From the start to a good end; every step answers with this value."""
    going, at = _Play(definition), 1.0
    start = StartRun(
        workflow=WorkflowId("played"), version=1, document_hash="", request_hash="", input=given, at=at
    )
    going.keep(run_core.perform(going.run, start))
    done = 0
    while done < len(going.offered):
        step, attempt = going.offered[done]
        run_core.task(going.run, RUN, "default", step, going.run.context)
        at, done = at + STEP_S, done + 1
        finish = FinishStep(
            step=step, attempt=attempt, outcome=Success(value=value), worker=WORKER, started_at=at, at=at
        )
        going.keep(run_core.perform(going.run, finish))
    assert going.run.status == "succeeded", going.run.ended
    going.played.steps = done
    return going.played


def work_us(written: dict[str, Json], runs: int, given: Json = None, value: Json = None) -> float:
    """Processor time of one step, over so many runs."""
    definition = document.read(written)
    play(definition, given, value)  # everything is warm then
    gc.collect()
    began, steps = time.process_time(), 0
    for _ in range(runs):
        steps += play(definition, given, value).steps
    return (time.process_time() - began) / steps * 1e6
