"""The moves that events make a run do: a step enters a phase, closes, is offered, is made."""

from __future__ import annotations

import heapq
from typing import Final

import msgspec

from windlass.core import left_out
from windlass.core.definition import Loop, Mapped, Step
from windlass.core.names import StepId
from windlass.core.run_model import Due, Family, Run
from windlass.core.run_timers import push, rebuild, total_s, total_timer
from windlass.core.step_state import OPEN, Phase, StepState

COMMANDS_REMEMBERED: Final = 100
UNDOES: Final = -1  # in the place of the step that a family was made for: those that undo
# They need no worker.
WORKLESS: Final = frozenset({"wait", "approval", "signal", "workflow", "map", "loop", "switch"})


def enter(run: Run, i: int, phase: Phase, at: float) -> None:
    state = run.steps[i]
    run.counts[state.phase] -= 1
    run.counts[phase] += 1
    state.phase = phase
    state.since = at


def end_step(run: Run, i: int, phase: Phase, at: float) -> None:
    """It is over: what it held goes back, and what it had begun is not waited for."""
    state = run.steps[i]
    drop_child(run, i)
    enter(run, i, phase, at)
    if run.permits:
        give_back(run, i)
    if phase == "failed" or state.started_at:
        state.ended_at = at


def close(run: Run, i: int, at: float) -> None:
    """The step lets its children go on; so do the failed steps it stands in for."""
    closing = [i]
    while closing:
        j = closing.pop()
        if j >= len(run.definition.steps):
            _member_ended(run, j, at)
        else:
            run.open -= 1
            for child in run.definition.children[j]:
                _parent_closed(run, child, at)
        if run.replaced:
            closing += run.replaced.pop(j, [])


def _parent_closed(run: Run, child: int, at: float) -> None:
    run.open_parents[child] -= 1
    if run.open_parents[child] or run.steps[child].phase != "waiting":
        return
    why = left_out.by_parents(run, child)
    if why is not None:
        run.dues.append(Due("skip", child, reason=left_out.said(why)))
    else:
        make_ready(run, child, at)


def make_ready(run: Run, i: int, at: float) -> None:
    run.steps[i].ready_at = at
    offer(run, i, at)
    if total_s(run.step(i)) is not None:
        push(run, total_timer(run, i))


def offer(run: Run, i: int, at: float) -> None:
    enter(run, i, "ready", at)
    heapq.heappush(run.ready, rank(run.step(i), i))


def rank(step: Step, i: int) -> tuple[int, int, int]:
    """Those that need no worker first; then by priority; then as written."""
    return (0 if step.kind in WORKLESS else 1, -step.priority, i)


def withdraw(run: Run, at: float) -> None:
    """What no worker holds yet is offered to nobody until the run goes on."""
    for i, state in enumerate(run.steps):
        if state.phase == "queued":
            offer(run, i, at)
    rebuild(run)


def remember(run: Run, command: str) -> None:
    run.seen = [*run.seen[1 - COMMANDS_REMEMBERED :], command]


# Steps that are made while the run goes on.


def is_undo(run: Run, i: int) -> bool:
    return i >= len(run.definition.steps) and run.steps[i].item == -1


def expand(run: Run, i: int, total: int, parallel: int, at: float) -> None:
    """From now on there are steps for the items of this one."""
    run.families[i] = Family(total=total, parallel=parallel, left=total)
    for _ in range(min(total, parallel)):
        make_member(run, i, at)
    if total == 0:
        run.dues.append(Due("over", i))


def another_turn(run: Run, i: int, at: float) -> int:
    """One more turn of a loop; answers where its step is."""
    family = run.families.setdefault(i, Family(total=0, parallel=1))
    family.total += 1
    family.left += 1
    run.steps[i].turns = family.total
    return make_member(run, i, at)


def make_member(run: Run, owner: int, at: float) -> int:
    family = run.families[owner]
    step = member_step(run, owner, len(family.members))
    j = add_step(run, step, StepState(of=owner, item=len(family.members)))
    family.members.append(j)
    make_ready(run, j, at)
    return j


def add_step(run: Run, step: Step, state: StepState) -> int:
    """Put a step that was made with the others; it waits."""
    j = len(run.steps)
    run.made.append(step)
    run.made_at[step.id] = j
    run.steps.append(state)
    run.counts[state.phase] += 1
    return j


def member_step(run: Run, owner: int, item: int) -> Step:
    step = run.step(owner)
    assert isinstance(step.control, Mapped | Loop), f"{step.id} has no members"
    return msgspec.structs.replace(step.control.body, id=StepId(f"{step.id}[{item}]"))


def undo_step(run: Run, i: int) -> Step:
    step = run.step(i)
    assert step.undo is not None, f"{step.id} cannot be undone"
    return msgspec.structs.replace(step.undo, id=StepId(f"undo:{step.id}"))


def begin_undo(run: Run, at: float) -> None:
    """Make a step for each that is to be undone, the last one first; one is at work at a time."""
    found = [i for i, state in enumerate(run.steps) if state.order and state.phase == "succeeded"]
    found.sort(key=lambda i: -run.steps[i].order)
    members = [add_step(run, undo_step(run, i), StepState(of=i)) for i in found]
    run.families[UNDOES] = Family(total=len(members), parallel=1, members=members, left=len(members))
    make_ready(run, members[0], at)


def _member_ended(run: Run, i: int, at: float) -> None:
    owner = UNDOES if is_undo(run, i) else run.steps[i].of
    family = run.families[owner]
    family.left -= 1
    if owner == UNDOES:
        if family.left:
            make_ready(run, family.members[family.total - family.left], at)
        return
    if run.failing or run.undoing is not None or run.steps[owner].phase != "expanded":
        return
    if family.left == 0:
        run.dues.append(Due("over", owner))
    elif len(family.members) < family.total:
        make_member(run, owner, at)


# What is held or begun elsewhere.


def drop_child(run: Run, i: int) -> None:
    """Nobody waits any more for the run that this step began: it is to be cancelled."""
    if run.steps[i].out:
        run.dues.append(Due("child", i))


def give_back(run: Run, i: int) -> None:
    """The permits of a step, or with -1 of the run, are needed no longer."""
    for number in run.permits.pop(i, ()):
        claim = run.claims[number]
        if claim.granted and claim.per_s is not None:
            del run.claims[number]  # used up
        else:
            run.dues.append(Due("permit", i, number))


def want_again(run: Run, i: int, number: int, at: float) -> None:
    """A step, or with -1 the run, is to ask anew for what it gave back before it was of use."""
    run.permits[i].remove(number)
    if not run.permits[i]:
        del run.permits[i]
    if i != -1:
        offer(run, i, at)


def await_signal(run: Run, i: int, name: str) -> None:
    run.awaited.setdefault(name, []).append(i)


def heard(run: Run, i: int, name: str) -> None:
    """The step waits for this signal no longer."""
    waiting = run.awaited.get(name, [])
    if i in waiting:
        waiting.remove(i)
    if not waiting:
        run.awaited.pop(name, None)


def stop_everything(run: Run, at: float, *, cancelled: bool) -> None:
    """Whatever is left becomes skipped or cancelled."""
    for i, state in enumerate(run.steps):
        if state.phase in OPEN:
            stopped = cancelled or state.phase not in ("waiting", "ready")
            drop_child(run, i)
            enter(run, i, "cancelled" if stopped else "skipped", at)
            give_back(run, i)
            if stopped and state.started_at:
                state.ended_at = at
    run.ready.clear()
    run.awaited.clear()
    run.timers.clear()
