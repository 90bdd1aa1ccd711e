"""The five laws of the core, each over random definitions and random, often wrong, commands."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.outside import Outside, any_command, any_definition, finish, start, try_play
from tests.core.tales import Tale, fold, seeds, state, tell
from windlass.core import run as core
from windlass.core.commands import (
    CancelRun,
    DefineWorkflow,
    DeleteWorkflow,
    FinishStep,
    GrantStep,
    LoseStep,
    ReleaseStep,
    ResumeRun,
    RunCommand,
    Wake,
)
from windlass.core.errors import Refused
from windlass.core.events import (
    AttemptFailed,
    AttemptLost,
    RunEvent,
    StepFailed,
    StepGranted,
    StepParked,
    StepQueued,
    StepReleased,
    StepSucceeded,
    WaitStarted,
)
from windlass.core.names import StepId, WorkflowId
from windlass.core.run_model import Run
from windlass.core.run_state import apply, image, restore
from windlass.core.step_state import OPEN
from windlass.core.workflow import Workflow
from windlass.core.workflow import apply as apply_workflow
from windlass.core.workflow import perform as perform_workflow
from windlass.wire import codec, versions


def stories(seed: int, length: int = 60) -> Tale:
    chance = random.Random(seed)
    outside = Outside(Run(any_definition(chance)))
    return tell(chance, outside, start(), _following, length)


def _following(chance: random.Random, outside: Outside, at: float) -> RunCommand:
    return any_command(chance, outside.run, at)


@given(seeds)
def test_folding_the_journal_gives_the_live_state(seed: int) -> None:
    for outside, _, _ in stories(seed):
        kept = [(codec.name(event), *codec.write_event(event, versions.LEVEL)) for event in outside.events]
        read = [codec.decode_event(*fact) for fact in kept]
        assert state(fold(outside.run.definition, read)) == state(outside.run)  # type: ignore[arg-type]  # run events


@given(seeds, st.integers(min_value=1, max_value=59))
def test_a_snapshot_and_the_events_after_it_give_the_live_state(seed: int, cut: int) -> None:
    kept, seen = (1, b""), 0
    for n, (outside, _, _) in enumerate(stories(seed)):
        if n == cut:
            kept, seen = codec.write_image(image(outside.run), versions.LEVEL), len(outside.events)
        if n >= cut:
            run = restore(outside.run.definition, codec.decode_run(*kept))
            for event in outside.events[seen:]:
                apply(run, event)
            assert state(run) == state(outside.run)
            if not outside.run.failing:
                assert run.open == outside.run.open


@given(seeds)
def test_what_is_owed_is_what_a_recovered_run_asks_for(seed: int) -> None:
    for outside, _, _ in stories(seed):
        assert set(core.resume(fold(outside.run.definition, outside.events))) == outside.owed


@given(seeds)
def test_a_command_given_twice_changes_nothing_the_second_time(seed: int) -> None:
    for outside, command, events in stories(seed):
        if events is None or _of_the_future(outside, command, events):
            continue
        before = state(outside.run)
        with contextlib.suppress(Refused):  # it may have ended meanwhile
            assert core.perform(outside.run, command) == []
        assert state(outside.run) == before


def _of_the_future(outside: Outside, command: RunCommand, events: list[RunEvent]) -> bool:
    """Whether the command speaks of an attempt that nobody had been asked to make: no worker sends that."""
    if not isinstance(command, FinishStep | GrantStep | LoseStep):
        return False
    before = outside.events[: len(outside.events) - len(events)]
    name = (command.step, command.attempt)
    return not any(isinstance(e, StepQueued) and (e.step, e.attempt) == name for e in before)


@given(seeds)
def test_a_refused_command_changes_nothing(seed: int) -> None:
    for outside, command, events in stories(seed):
        if events is None:
            before = state(outside.run)
            with pytest.raises(Refused):
                core.perform(outside.run, command)
            assert state(outside.run) == before


@given(seeds)
def test_a_step_starts_only_after_its_parents_allow_it(seed: int) -> None:
    chance = random.Random(seed)
    definition = any_definition(chance)
    outside, shadow = Outside(Run(definition)), Run(definition)
    command: RunCommand = start()
    at = 0.0
    for _ in range(60):
        for event in try_play(outside, command) or []:
            if isinstance(event, StepQueued | WaitStarted):
                for parent in definition.steps[definition.index[event.step]].needs:
                    assert _allows(shadow, definition.index[parent])
            apply(shadow, event)
        at += chance.choice([0.0, 0.5, 2.0, 20.0])
        command = any_command(chance, outside.run, at)


def _allows(run: Run, i: int) -> bool:
    while run.steps[i].phase == "replaced":
        fallback = run.definition.steps[i].fallback
        assert fallback is not None
        i = run.definition.index[fallback]
    step, phase = run.definition.steps[i], run.steps[i].phase
    return phase == "succeeded" or (phase == "failed" and step.on_failure == "skip")


@given(seeds)
def test_after_its_end_a_run_accepts_nothing_and_owes_nothing(seed: int) -> None:
    chance = random.Random(seed)
    for outside, _, _ in stories(seed, length=120):
        if outside.run.ended is None:
            continue
        assert outside.owed == set()
        assert core.resume(outside.run) == []
        assert outside.run.wake_at is None
        assert not any(step.phase in OPEN for step in outside.run.steps)
        command = any_command(chance, outside.run, 1e6)
        assert not try_play(outside, command)


@given(seeds)
def test_a_run_is_at_rest_after_each_command(seed: int) -> None:
    for outside, command, events in stories(seed):
        if events is not None:
            assert core.advance(outside.run, max(command.at, outside.run.last_at)) == []


@given(seeds)
def test_time_never_goes_back_within_a_run(seed: int) -> None:
    for outside, _, _ in stories(seed):
        times = [event.at for event in outside.events]
        assert times == sorted(times)


@given(seeds)
def test_no_more_steps_are_in_progress_than_max_parallel_allows(seed: int) -> None:
    for outside, _, _ in stories(seed):
        limit = outside.run.definition.max_parallel
        if limit is not None:
            # What was taken back may have been granted meanwhile: such a step is one more.
            assert outside.run.counts["queued"] <= limit
            if not any(e for e in outside.events if type(e).__name__ == "RunPaused"):
                assert outside.run.busy <= limit


@given(seeds)
def test_a_parked_step_is_out_with_nobody_and_stays_until_it_is_released_or_out_of_time(seed: int) -> None:
    for outside, _, events in stories(seed):
        run, parked = outside.run, set[StepId]()
        for event in outside.events:
            if isinstance(event, StepParked):
                parked.add(event.step)
            elif isinstance(event, StepReleased | StepFailed):
                parked.discard(event.step)
            elif isinstance(event, StepQueued | StepGranted | StepSucceeded | AttemptFailed | AttemptLost):
                assert event.step not in parked
        if run.ended is None:
            assert parked == phases(run, "parked")
            assert all(state_.losses.parked for state_ in run.steps if state_.phase == "parked")
        if events is not None and run.failing and run.ended is None:
            assert run.counts["running"], "what is parked does not keep a failing run open"


def phases(run: Run, phase: str) -> set[StepId]:
    return {s.id for s, state_ in zip(run.definition.steps, run.steps, strict=True) if state_.phase == phase}


@given(seeds)
def test_a_run_that_has_only_parked_steps_may_sleep(seed: int) -> None:
    for outside, _, _ in stories(seed):
        out = phases(outside.run, "queued") | phases(outside.run, "running")
        assert core.may_sleep(outside.run) == (not out)


@given(seeds)
def test_every_run_ends_once_the_outside_does_its_part_and_what_is_parked_is_released(seed: int) -> None:
    told = [(outside, command.at) for outside, command, _ in stories(seed)]
    outside, at = told[-1][0], max(at for _, at in told)
    run = outside.run
    try_play(outside, ResumeRun(id="at last", at=at))
    for n in range(1_000):
        if run.ended is not None:
            return
        at = max(at, run.wake_at or at)
        outside.play(Wake(at=at))
        for i, state_ in enumerate(run.steps):
            if state_.phase in ("queued", "running"):
                outside.play(finish(run.definition.steps[i].id, state_.attempt, at=at + n))
            elif state_.phase == "parked":
                outside.play(ReleaseStep(id=f"go on {n} {i}", step=run.definition.steps[i].id, at=at))
    raise AssertionError(f"the run did not end: {run.counts}")


@given(seeds)
def test_every_run_can_be_cancelled_whatever_is_parked(seed: int) -> None:
    *_, (outside, command, _) = stories(seed)
    if outside.run.ended is None:
        outside.play(CancelRun(id="enough", at=command.at))
    assert outside.run.ended is not None
    assert not any(step.phase in OPEN for step in outside.run.steps)


def test_the_stories_tell_of_parked_and_released_steps() -> None:
    """Else the laws would say nothing about them."""
    told = [event for seed in range(100) for *_, events in stories(seed) for event in events or ()]
    parked = [event for event in told if isinstance(event, StepParked)]
    for word in ("died", "may be", "failover is off"):
        assert any(word in event.reason for event in parked), word
    assert any(event.evidence for event in parked)
    assert any(isinstance(event, StepReleased) for event in told)


def _workflow_commands(seed: int) -> Iterator[DefineWorkflow | DeleteWorkflow]:
    chance = random.Random(seed)
    for n in range(30):
        ident = f"c{chance.randrange(20)}" if chance.random() < 0.2 else f"n{n}"
        if chance.random() < 0.2:
            yield DeleteWorkflow(id=ident, at=float(n))
        else:
            document = {"id": "w", "v": chance.randrange(3)}
            yield DefineWorkflow(
                id=ident,
                document=document,
                document_hash=str(document["v"]),
                create=chance.random() < 0.2,
                update=chance.random() < 0.2,
                expected_version=chance.choice([None, None, None, 1, 2]),
                text=chance.choice(["", "", "# as it was", "# otherwise"]),
                at=float(n),
            )


@given(seeds)
def test_the_laws_hold_for_workflows_too(seed: int) -> None:
    live, replayed = Workflow(), Workflow()
    last = 0
    for command in _workflow_commands(seed):
        try:
            events = perform_workflow(live, command, WorkflowId("w"))
        except Refused:
            assert live == replayed
            continue
        for event in events:
            read = codec.decode_event(codec.name(event), 1, codec.encode_event(event))
            apply_workflow(replayed, read)  # type: ignore[arg-type]  # a workflow's event
        assert live == replayed  # replay
        try:
            assert perform_workflow(live, command, WorkflowId("w")) == []  # repeat
        except Refused:
            # A save that expected the version before its own is refused once another id has passed.
            assert command.id != live.command
        assert live == replayed
        assert live.version >= last  # order: versions only grow, also over a deletion
        last = live.version
        assert codec.decode_workflow(1, codec.encode_image(live)) == live
