"""Async Python steps: in a loop of their own, each with its own lines, and harmless to the worker."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import until
from tests.worker.rig import Rig, play, python, working
from windlass.core.task import Json, Task
from windlass.worker.streams import caught_streams
from windlass.worker.user_loop import UserLoop

STEPS = '''
import asyncio, os, sys, threading, time
from windlass import Result

AROUND = []

async def where(ctx):
    return Result([os.getpid(), threading.current_thread().name], context={"seen": ctx.step})

def sync_where():
    return os.getpid()

async def meets(name, of):
    """Ends when all of them are there: they run at the same time."""
    AROUND.append(name)
    while len(AROUND) < of:
        await asyncio.sleep(0.001)
    return name

async def prints(name):
    for n in range(3):
        print(name, n)
        await asyncio.sleep(0.001)
    await asyncio.to_thread(print, name, "from a thread")
    await asyncio.create_task(warns(name))

async def warns(name):
    print(name, "warns", file=sys.stderr)

async def prints_much():
    for n in range(100_000):
        print("a line of some length, number", n)

async def raises(how):
    if how == "exit":
        sys.exit(3)
    if how == "cancelled":
        raise asyncio.CancelledError("of its own")
    raise ValueError("oops")

async def tells(ctx):
    ctx.heartbeat({"half": True})
    await asyncio.sleep(0)
    ctx.heartbeat({"done": True})
    return ctx.progress

async def hangs(path):
    open(path + ".begun", "w").close()
    try:
        await asyncio.Event().wait()
    finally:
        open(path, "w").close()

async def blocks(seconds):
    time.sleep(seconds)

async def ignores(path):
    while not os.path.exists(path):
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            pass

async def leaves_a_task(path):
    async def ticking():
        try:
            await asyncio.Event().wait()
        finally:
            open(path, "w").close()
    asyncio.create_task(ticking())
    await asyncio.sleep(0.01)

async def not_json():
    return {1, 2}
'''


@contextmanager
def an_app(folder: Path, steps: str = STEPS) -> Iterator[str]:
    """A module that nobody has imported yet, written long ago."""
    name = f"app_{time.time_ns()}"
    (folder / f"{name}.py").write_text(steps)
    os.utime(folder / f"{name}.py", (1, 1))
    yield name


@asynccontextmanager
async def at_work(
    folder: Path, patience_s: float = 5.0, **more: Any
) -> AsyncIterator[tuple[Rig, list[Task]]]:
    stuck: list[Task] = []
    with caught_streams(), UserLoop([str(folder)], stuck.append, patience_s=patience_s) as loop:
        async with working(folder, user_loop=loop, **more) as rig:
            yield rig, stuck


def calling(app: str, function: str, timeout_s: float | None = None, **args: Any) -> Task:
    task = python(function, timeout_s, **args)
    task.with_["call"] = f"{app}:{function}"
    return task


def test_async_functions_run_here_in_a_thread_and_sync_ones_in_a_process(tmp_path: Path) -> None:
    async def story() -> None:
        with an_app(tmp_path) as app:
            async with at_work(tmp_path) as (rig, _):
                assert await rig.value(calling(app, "where")) == [os.getpid(), "async steps"]
                assert await rig.value(calling(app, "sync_where")) != os.getpid()

    play(story())


def test_they_run_at_the_same_time(tmp_path: Path) -> None:
    async def story() -> None:
        with an_app(tmp_path) as app:
            async with at_work(tmp_path, slots=8) as (rig, _):
                tasks = [calling(app, "meets", name=str(n), of=8) for n in range(8)]
                for task in tasks:
                    rig.start(task)
                assert {getattr(await rig.outcome(task), "value", None) for task in tasks} == set("01234567")

    play(story())


def test_each_prints_into_its_own_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def story() -> None:
        with an_app(tmp_path) as app:
            async with at_work(tmp_path) as (rig, _):
                tasks = [calling(app, "prints", name=name) for name in "abc"]
                for task in tasks:
                    rig.start(task)
                for task, name in zip(tasks, "abc", strict=True):
                    await rig.outcome(task)
                    lines = [(line.stream, line.text) for line in rig.lines(task)]
                    out = [f"{name} 0", f"{name} 1", f"{name} 2", f"{name} from a thread"]
                    assert lines == [*(("stdout", text) for text in out), ("stderr", f"{name} warns")]
                sys.stdout.write("and what is nobody's goes where it went\n")
                much = calling(app, "prints_much")
                await rig.value(much)
                assert any(printed.dropped for task, printed in rig.told if task is much)

    play(story())
    assert capsys.readouterr().out == "and what is nobody's goes where it went\n"


def test_what_they_raise_is_their_failure(tmp_path: Path) -> None:
    async def story() -> None:
        with an_app(tmp_path) as app:
            async with at_work(tmp_path) as (rig, _):
                failure = await rig.failure(calling(app, "raises", how="value"))
                assert (failure.type, failure.message, failure.bases[0]) == (
                    "ValueError",
                    "oops",
                    "Exception",
                )
                assert failure.detail.splitlines()[1].endswith("in raises")
                assert (await rig.failure(calling(app, "raises", how="exit"))).type == "SystemExit"
                assert (await rig.failure(calling(app, "raises", how="cancelled"))).type == "CancelledError"
                assert (await rig.failure(calling(app, "not_json"))).type == "NotJson"
                assert (await rig.failure(calling(app, "where", extra=1))).type == "TypeError"
                assert await rig.value(calling(app, "where"))  # and the loop goes on

    play(story())


def test_they_tell_how_far_they_are(tmp_path: Path) -> None:
    async def story() -> None:
        told: list[Json] = []
        with an_app(tmp_path) as app:
            on_progress = lambda _, details: told.append(details)  # noqa: E731
            async with at_work(tmp_path, on_progress=on_progress) as (rig, _):
                await rig.value(calling(app, "tells"))
                assert told[-1] == {"done": True}

    play(story())


def test_a_timeout_cancels_the_coroutine_and_a_recall_too(tmp_path: Path) -> None:
    async def story() -> None:
        with an_app(tmp_path) as app:
            async with at_work(tmp_path) as (rig, stuck):
                failure = await rig.failure(calling(app, "hangs", 2.0, path=str(tmp_path / "cleaned")))
                assert failure.type == "Timeout"
                assert (tmp_path / "cleaned").exists()  # before it was reported
                recalled = calling(app, "hangs", path=str(tmp_path / "recalled"))
                rig.start(recalled)
                await until((tmp_path / "recalled.begun").exists)
                rig.worker.stop(recalled.name)
                await until(lambda: not rig.worker.held())
                assert (tmp_path / "recalled").exists()
                assert stuck == []

    play(story())


def test_the_tasks_a_step_started_beside_end_with_it(tmp_path: Path) -> None:
    async def story() -> None:
        with an_app(tmp_path) as app:
            async with at_work(tmp_path) as (rig, _):
                await rig.value(calling(app, "leaves_a_task", path=str(tmp_path / "ended")))
                await until((tmp_path / "ended").exists)

    play(story())


def test_a_step_that_blocks_its_loop_blocks_neither_the_worker_nor_steps_in_processes(tmp_path: Path) -> None:
    async def story() -> None:
        with an_app(tmp_path) as app:
            async with at_work(tmp_path) as (rig, stuck):
                await rig.value(calling(app, "where"))
                blocking = calling(app, "blocks", seconds=1.0)
                rig.start(blocking)
                waiting, latest, began = calling(app, "where"), 0.0, time.monotonic()
                rig.start(waiting)
                while time.monotonic() < began + 0.5:  # as heartbeats do
                    before = time.monotonic()
                    await asyncio.sleep(0.01)
                    latest = max(latest, time.monotonic() - before)
                assert latest < 0.3
                assert await rig.value(calling(app, "sync_where"))
                await rig.outcome(blocking)
                await rig.outcome(waiting)
                assert stuck == []

    play(story())


@pytest.mark.parametrize("how", ["blocks", "ignores"])
def test_a_step_that_does_not_stop_is_reported_and_the_worker_hears_that_it_has_to_end(
    tmp_path: Path, how: str
) -> None:
    async def story() -> None:
        with an_app(tmp_path) as app:
            async with at_work(tmp_path, patience_s=0.2) as (rig, stuck):
                await rig.value(calling(app, "where"))
                args: dict[str, Any] = {"seconds": 1.5} if how == "blocks" else {"path": str(tmp_path / "go")}
                task = calling(app, how, 0.5, **args)
                failure = await rig.failure(task)
                assert failure.type == "Timeout"
                assert stuck == [task]
                (tmp_path / "go").touch()
                await rig.value(calling(app, "where"))  # here it came to an end after all

    play(story())


def test_code_that_changed_on_disk_runs_in_a_process_as_it_is_now(tmp_path: Path) -> None:
    async def story() -> None:
        with an_app(tmp_path, "async def version():\n    return 1\n") as app:
            async with at_work(tmp_path) as (rig, _):
                assert await rig.value(calling(app, "version")) == 1
                (tmp_path / f"{app}.py").write_text("async def version():\n    return 'the new one'\n")
                assert await rig.value(calling(app, "version")) == "the new one"

    play(story())


@pytest.mark.parametrize(
    ("call", "kind"),
    [("steps:missing", "NoSuchFunction"), ("nowhere:f", "ModuleNotFoundError"), ("json:dumps", "TypeError")],
)
def test_what_is_not_an_async_function_of_the_app_is_left_to_a_process(
    tmp_path: Path, call: str, kind: str
) -> None:
    async def story() -> None:
        async with at_work(tmp_path) as (rig, _):
            task = python("add")
            task.with_["call"] = call
            assert (await rig.failure(task)).type == kind

    play(story())
