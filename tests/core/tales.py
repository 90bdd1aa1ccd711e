"""What the laws are tried on: a run, and one random, often wrong, command after the other."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import msgspec
from hypothesis import strategies as st

from tests.core.outside import Outside, try_play
from windlass.core.commands import RunCommand
from windlass.core.definition import Definition
from windlass.core.events import RunEvent
from windlass.core.run_model import Run
from windlass.core.run_state import apply, image

Tale = Iterator[tuple[Outside, RunCommand, list[RunEvent] | None]]

seeds = st.integers(min_value=0, max_value=2**32)


def tell(
    chance: random.Random,
    outside: Outside,
    first: RunCommand,
    following: Callable[[random.Random, Outside, float], RunCommand],
    length: int,
) -> Tale:
    """A run and what happens to it: after each command, the world as it is then."""
    command, at = first, 0.0
    for _ in range(length):
        yield outside, command, try_play(outside, command)
        at += chance.choice([0.0, 0.0, 0.5, 2.0, 20.0])
        command = following(chance, outside, at)


def fold(definition: Definition, events: list[RunEvent]) -> Run:
    run = Run(definition)
    for event in events:
        apply(run, event)
    return run


def state(run: Run) -> tuple[object, ...]:
    """All there is to a run, what it derives included."""
    timers = (
        sorted(run.timers) if run.wake_at is None else [t for t in sorted(run.timers) if t == run.timers[0]]
    )
    ready = {i for _, _, i in run.ready if run.steps[i].phase == "ready"}
    return msgspec.to_builtins(image(run)), run.counts, ready, run.wake_at, timers
