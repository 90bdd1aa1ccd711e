"""Signs of life from inside steps: passed on, not too often, and missed when they do not come."""

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.worker.rig import a_task, play, python, working
from tests.worker.scripted_node import play_out
from windlass.core.names import SessionId, WorkerId
from windlass.core.task import Failure, Json, Outcome, StepContext, Success, Task
from windlass.worker.masking import Mask
from windlass.worker.progress import Heartbeats
from windlass.worker.secrets import Opened
from windlass.worker.session import LocalWorker

STEPS = """
import os, pickle, threading, time

def tells(ctx, times=3):
    for n in range(times):
        ctx.heartbeat({"n": n})
    return ctx.progress

def tells_at_leisure(ctx, for_s):
    until = time.monotonic() + for_s
    while time.monotonic() < until:
        ctx.heartbeat()
        time.sleep(0.02)
    return "done"

def falls_silent(ctx):
    ctx.heartbeat("so far")
    time.sleep(60)

def tells_nonsense(ctx):
    ctx.heartbeat({1, 2})

def tells_too_much(ctx):
    ctx.heartbeat("x" * 100_000)

def leaves_a_thread(ctx):
    def later():
        time.sleep(0.2)
        ctx.heartbeat("from the one before")
    threading.Thread(target=later, daemon=True).start()
    return os.getpid()

def waits(seconds):
    time.sleep(seconds)
    return os.getpid()

def sends_its_context_elsewhere(ctx):
    pickle.loads(pickle.dumps(ctx)).heartbeat(1)
    return True
"""


def with_context(call: str, **more: Any) -> Task:
    return msgspec.structs.replace(python(call, **more), progress={"rows": 5})


def test_a_python_step_tells_how_far_it_is_and_hears_how_far_the_one_before_came(tmp_path: Path) -> None:
    async def story() -> None:
        told: list[tuple[Task, Json]] = []
        async with working(tmp_path, steps=STEPS, on_progress=lambda *what: told.append(what)) as rig:
            task = with_context("tells")
            assert await rig.value(task) == {"rows": 5}
            assert told[-1] == (task, {"n": 2})
            assert len(told) <= 3
            told.clear()
            await rig.value(with_context("tells", times=20_000))
            assert told[-1][1] == {"n": 19_999}
            assert len(told) < 200  # far fewer than were said

    play(story())


def test_a_step_that_falls_silent_is_killed_and_may_be_tried_again(tmp_path: Path) -> None:
    async def story() -> None:
        told: list[tuple[Task, Json]] = []
        async with working(tmp_path, steps=STEPS, on_progress=lambda *what: told.append(what)) as rig:
            await rig.value(python("waits", seconds=0))  # its process is there by now
            task = msgspec.structs.replace(python("falls_silent"), heartbeat_timeout_s=3.0)
            failure = await rig.failure(task)
            assert (failure.type, failure.retryable) == ("HeartbeatTimeout", True)
            assert "said nothing for 3s" in failure.message
            assert told == [(task, "so far")]
            lively = msgspec.structs.replace(python("tells_at_leisure", for_s=3.5), heartbeat_timeout_s=3.0)
            assert await rig.value(lively) == "done"

    play(story())


@pytest.mark.parametrize(("call", "kind"), [("tells_nonsense", "NotJson"), ("tells_too_much", "TooLarge")])
def test_details_that_cannot_be_told_fail_the_step_where_it_tells_them(
    tmp_path: Path, call: str, kind: str
) -> None:
    async def story() -> None:
        async with working(tmp_path, steps=STEPS) as rig:
            failure = await rig.failure(python(call))
            assert failure.type == kind
            assert "details" in failure.message

    play(story())


def test_what_a_step_left_behind_does_not_speak_for_the_next(tmp_path: Path) -> None:
    async def story() -> None:
        told: list[tuple[Task, Json]] = []
        async with working(
            tmp_path, slots=1, steps=STEPS, on_progress=lambda *what: told.append(what)
        ) as rig:
            first = await rig.value(python("leaves_a_thread"))
            assert await rig.value(python("waits", seconds=0.5)) == first  # the same process
            assert told == []

    play(story())


def test_a_context_can_be_sent_to_another_process_where_nobody_hears_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path, steps=STEPS) as rig:
            assert await rig.value(python("sends_its_context_elsewhere")) is True

    play(story())


def test_a_step_called_by_a_test_may_tell_what_it_likes() -> None:
    ctx = StepContext("r", "w", "s", 1, None, {}, {}, {})
    ctx.heartbeat({"percent": 5})
    assert ctx.progress is None


class Telling:
    """An executor that tells, as often as it is told."""

    def __init__(self, heartbeats: Heartbeats, every_s: float, times: int, mask: Mask) -> None:
        self.args = heartbeats, every_s, times, mask

    async def run(self, task: Task, secrets: Opened) -> Outcome:
        heartbeats, every_s, times, mask = self.args
        for n in range(times):
            await asyncio.sleep(every_s)
            heartbeats.told(task, mask, msgspec.json.encode([n, "the secret is hunter22"]))
        return Success()


def test_ten_a_second_are_passed_on_the_last_one_always_and_secrets_never() -> None:
    async def story() -> None:
        loop = asyncio.get_running_loop()
        told: list[tuple[float, Json]] = []
        outcomes: list[Outcome] = []

        async def report(task: Task, outcome: Outcome, _: float) -> None:
            outcomes.append(outcome)

        heartbeats = Heartbeats(lambda _, details: told.append((loop.time(), details)))
        telling = Telling(heartbeats, 0.003, 1000, Mask(["hunter22"]))
        async with LocalWorker(
            id=WorkerId("w"),
            session=SessionId("s"),
            slots=1,
            executors={"noop": telling},
            report=report,
            heartbeats=heartbeats,
        ) as worker:
            worker.start(a_task("noop", heartbeat_timeout_s=0.01))
            await asyncio.sleep(10.0)
        assert outcomes == [Success()]
        assert 28 <= len(told) <= 32
        assert told[-1][1] == [999, "the secret is ***"]
        assert all(later - sooner >= 0.0999 for (sooner, _), (later, _) in pairwise(told[:-1]))

    play_out(story)


def test_silence_counts_from_the_start_if_nothing_is_ever_told() -> None:
    async def story() -> None:
        ended: list[tuple[float, Outcome]] = []
        loop = asyncio.get_running_loop()

        async def report(task: Task, outcome: Outcome, _: float) -> None:
            ended.append((loop.time(), outcome))

        telling = Telling(Heartbeats(), 100.0, 1, Mask())
        async with LocalWorker(
            id=WorkerId("w"), session=SessionId("s"), slots=1, executors={"noop": telling}, report=report
        ) as worker:
            worker.start(a_task("noop", heartbeat_timeout_s=7.0, timeout_s=20.0))
            await asyncio.sleep(30.0)
        ((at, outcome),) = ended
        assert isinstance(outcome, Failure)
        assert (at, outcome.type) == (7.0, "HeartbeatTimeout")

    play_out(story)
