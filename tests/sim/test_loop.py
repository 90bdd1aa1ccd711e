"""The simulated loop: processes that stand still, and the same order of things whenever a seed is played."""

from __future__ import annotations

import asyncio
import contextvars
import os
import subprocess
import sys

import pytest

from windlass.sim.loop import PROCESS, Process, SimLoop, run


def of(process: Process) -> contextvars.Context:
    context = contextvars.copy_context()
    context.run(PROCESS.set, process)
    return context


def test_a_frozen_process_does_nothing_until_it_thaws_and_then_all_it_would_have_done() -> None:
    async def story(loop: SimLoop) -> None:
        process, done = Process(), list[tuple[int, float]]()

        def note(i: int) -> None:
            done.append((i, loop.time()))

        for i in (1, 2):
            loop.call_later(i, note, i, context=of(process))
        process.freeze()
        await asyncio.sleep(10.0)
        assert done == []
        process.thaw()
        await asyncio.sleep(0)
        assert done == [(1, 10.0), (2, 10.0)]

    run(story, 0)


@pytest.mark.parametrize("frozen_again", [False, True])
def test_what_is_cancelled_after_a_thaw_and_before_it_ran_does_not_run(frozen_again: bool) -> None:
    async def story(loop: SimLoop) -> None:
        process, done = Process(), list[str]()
        timer = loop.call_later(1.0, done.append, "rang", context=of(process))
        process.freeze()
        await asyncio.sleep(2.0)
        process.thaw()
        if frozen_again:
            process.freeze()
            await asyncio.sleep(1.0)
            process.thaw()
        timer.cancel()
        await asyncio.sleep(1.0)
        assert done == []

    run(story, 0)


def test_a_timeout_that_was_left_while_its_process_stood_still_does_not_strike() -> None:
    async def story(loop: SimLoop) -> str:
        process, answer = Process(), asyncio.Event()

        async def wait() -> str:
            async with asyncio.timeout(1.0):
                await answer.wait()
            await asyncio.sleep(5.0)
            return "answered"

        waiting = loop.create_task(wait(), context=of(process))
        await asyncio.sleep(0.5)
        process.freeze()
        answer.set()  # it comes before the time is over, though nobody is there to see it
        await asyncio.sleep(2.0)
        process.thaw()
        return await waiting

    assert run(story, 0) == "answered"


def test_a_seed_tells_the_same_story_in_every_process() -> None:
    def tell(hashes: str) -> str:
        command = [sys.executable, "-m", "windlass.sim", "--seed", "7", "--nodes", "many"]
        environment = {**os.environ, "PYTHONHASHSEED": hashes}
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    assert tell("1") == tell("2")
