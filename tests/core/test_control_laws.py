"""The laws of the core for everything that controls a run: each over random documents and commands."""

from __future__ import annotations

import contextlib
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.controlled import any_answer, any_controlled_command, any_document, begin
from tests.core.outside import Outside, finish, try_play
from tests.core.tales import Tale, fold, seeds, state, tell
from windlass.core import document
from windlass.core import run as core
from windlass.core.commands import (
    CancelRun,
    DecideStep,
    FinishStep,
    GrantStep,
    LoseStep,
    ReleaseStep,
    ResumeRun,
    SignalRun,
    Wake,
)
from windlass.core.definition import Approval, Awaited
from windlass.core.errors import Refused
from windlass.core.events import (
    ChildStarted,
    PermitAsked,
    PermitGranted,
    PermitReturned,
    RunEnded,
    StepQueued,
    StepSucceeded,
    UndoStarted,
    WaitStarted,
)
from windlass.core.run_model import Run
from windlass.core.run_state import apply, image, restore
from windlass.core.step_state import OPEN
from windlass.wire import codec, versions


def stories(seed: int, length: int = 60) -> Tale:
    chance = random.Random(seed)
    return tell(chance, *begin(chance), any_controlled_command, length)


@given(seeds)
def test_every_generated_document_is_sound(seed: int) -> None:
    document.read(any_document(random.Random(seed)))


@given(seeds)
def test_folding_the_journal_gives_the_live_state(seed: int) -> None:
    outside = list(stories(seed))[-1][0]
    kept = [(codec.name(event), *codec.write_event(event, versions.LEVEL)) for event in outside.events]
    read = [codec.decode_event(*fact) for fact in kept]
    assert state(fold(outside.run.definition, read)) == state(outside.run)  # type: ignore[arg-type]  # run events


@given(seeds, st.integers(min_value=1, max_value=59))
def test_a_snapshot_and_the_events_after_it_give_the_live_state(seed: int, cut: int) -> None:
    kept, seen = (1, b""), 0
    for n, (outside, _, _) in enumerate(stories(seed)):
        if n == cut:
            kept, seen = codec.write_image(image(outside.run), versions.LEVEL), len(outside.events)
    run = restore(outside.run.definition, codec.decode_run(*kept))
    for event in outside.events[seen:]:
        apply(run, event)
    assert state(run) == state(outside.run)


@given(seeds)
def test_what_is_owed_is_what_a_recovered_run_asks_for(seed: int) -> None:
    for outside, _, _ in stories(seed):
        assert set(core.resume(fold(outside.run.definition, outside.events))) == outside.owed


@given(seeds)
def test_a_command_given_twice_changes_nothing_the_second_time(seed: int) -> None:
    for outside, command, events in stories(seed):
        if events is None or isinstance(command, FinishStep | GrantStep | LoseStep):
            continue  # the laws of any run speak of attempts
        before = state(outside.run)
        with contextlib.suppress(Refused):  # it may have ended meanwhile
            assert core.perform(outside.run, command) == []
        assert state(outside.run) == before


@given(seeds)
def test_a_refused_command_changes_nothing(seed: int) -> None:
    for outside, command, events in stories(seed):
        if events is None:
            before = state(outside.run)
            with pytest.raises(Refused):
                core.perform(outside.run, command)
            assert state(outside.run) == before


@given(seeds)
def test_a_run_is_at_rest_after_each_command(seed: int) -> None:
    for outside, command, events in stories(seed):
        if events is not None:
            assert core.advance(outside.run, max(command.at, outside.run.last_at)) == []
            assert not outside.run.dues


@given(seeds)
def test_a_step_of_the_document_begins_only_after_all_before_it_has_ended(seed: int) -> None:
    outside = list(stories(seed))[-1][0]
    shadow = Run(outside.run.definition)
    for event in outside.events:
        if isinstance(event, StepQueued | WaitStarted | ChildStarted):
            i = shadow.at(event.step)
            above = list(shadow.step(i).needs)
            for parent in above:  # and theirs: what is skipped is skipped only then
                assert shadow.steps[shadow.at(parent)].phase not in OPEN
                above += set(shadow.step(shadow.at(parent)).needs) - set(above)
            assert not shadow.step(i).needs or any(
                shadow.steps[shadow.at(parent)].phase != "skipped" for parent in shadow.step(i).needs
            ), "a step all of whose parents were skipped is skipped"
        apply(shadow, event)


@given(seeds)
def test_what_is_undone_ended_well_before_and_is_taken_back_once_the_last_first(seed: int) -> None:
    outside = list(stories(seed, length=120))[-1][0]
    ended = [e.step for e in outside.events if isinstance(e, StepSucceeded)]
    begun = [n for n, e in enumerate(outside.events) if isinstance(e, UndoStarted)]
    if not begun:
        return
    queued = [e.step for e in outside.events[begun[0] :] if isinstance(e, StepQueued)]
    order = list(dict.fromkeys(step.removeprefix("undo:") for step in queued))
    assert order == sorted(order, key=lambda step: -ended.index(step))  # type: ignore[arg-type]  # ids


@given(seeds)
def test_permits_are_asked_for_once_and_go_back_once(seed: int) -> None:
    outside = list(stories(seed, length=120))[-1][0]
    asked = Counter(e.number for e in outside.events if isinstance(e, PermitAsked))
    back = Counter(e.number for e in outside.events if isinstance(e, PermitReturned))
    assert all(count == 1 for count in asked.values())
    assert all(count == 1 for count in back.values())
    assert back.keys() <= asked.keys()
    if outside.run.ended is not None:
        rates = {e.number for e in outside.events if isinstance(e, PermitAsked) and e.per_s is not None}
        granted = {e.number for e in outside.events if isinstance(e, PermitGranted)}
        assert asked.keys() - back.keys() <= rates & granted, "only a rate's permit that was used stays away"
        assert not outside.run.claims


@given(seeds)
def test_nothing_begins_before_the_run_has_its_permits(seed: int) -> None:
    for outside, _, _ in stories(seed):
        if not outside.run.admitted and outside.run.ended is None and outside.run.undoing is None:
            assert not any(isinstance(e, StepQueued | ChildStarted) for e in outside.events)
            assert outside.run.status in ("queued", "paused")


@given(seeds)
def test_every_run_ends_and_is_settled_once_the_outside_does_its_part(seed: int) -> None:
    chance = random.Random(seed)
    told = list(stories(seed))
    outside, at = told[-1][0], max(command.at for _, command, _ in told)
    run = outside.run
    try_play(outside, ResumeRun(id="at last", at=at))
    for n in range(2_000):
        if run.settled:
            assert not outside.owed and core.resume(run) == [] and run.wake_at is None
            return
        at = max(at, run.wake_at or at)
        outside.play(Wake(at=at))
        _help(outside, chance, at, n)
    raise AssertionError(f"the run did not settle: {run.counts} {run.debts}")


def _help(outside: Outside, chance: random.Random, at: float, n: int) -> None:
    run = outside.run
    answer = any_answer(chance, outside, at)
    if answer is not None:
        outside.play(answer)
    for i, found in enumerate(list(run.steps)):
        step = run.step(i)
        if found.phase in ("queued", "running"):
            outside.play(finish(step.id, found.attempt, at=at))
        elif found.phase == "parked":
            outside.play(ReleaseStep(id=f"go on {n} {i}", step=step.id, at=at))
        elif found.phase == "awaiting" and isinstance(step.control, Approval):
            outside.play(DecideStep(id=f"yes {n} {i}", step=step.id, approve=True, at=at))
        elif found.phase == "awaiting" and isinstance(step.control, Awaited):
            outside.play(SignalRun(id=f"go {n} {i}", name=step.control.name, at=at))


@given(seeds)
def test_a_cancelled_run_ends_once_what_was_done_is_taken_back(seed: int) -> None:
    *_, (outside, command, _) = stories(seed)
    run, at = outside.run, command.at
    if run.ended is None and run.undoing is None:
        outside.play(CancelRun(id="enough", at=at))
        assert run.ended is not None or run.undoing is not None
    try_play(outside, ResumeRun(id="at last", at=at))
    for n in range(500):
        if run.settled:
            break
        at = max(at, run.wake_at or at)
        outside.play(Wake(at=at))
        _help(outside, random.Random(seed), at, n)
    assert run.settled
    assert not any(found.phase in OPEN for found in run.steps)


def test_the_stories_tell_of_everything_that_the_laws_are_about() -> None:
    told: Counter[str] = Counter()
    for seed in range(300):
        outside = list(stories(seed))[-1][0]
        told.update(type(event).__name__ for event in outside.events)
        told.update(f"owed {type(effect).__name__}" for effect in outside.owed)
        told.update(f"ended {e.status}" for e in outside.events if isinstance(e, RunEnded))
    wanted = (
        "StepSkipped StepAwaits SignalReceived DecisionMade ChildStarted ChildEnded ChildDropped MapStarted "
        "TurnStarted PermitAsked PermitGranted PermitReturned Acknowledged UndoStarted StepCancelled"
    )
    endings = ("ended cancelled", "ended failed", "ended succeeded")
    for word in (*wanted.split(), *endings):
        assert told[word], f"no story tells of {word}"
