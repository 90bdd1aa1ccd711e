"""The process of a pipeline: how it is ended, what it leaves, how large it grows, and what it tells."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from tests.waiting import lives, until
from tests.worker.pipelines import SHOW, a_stage, pipeline, rows, sink, source, transform
from tests.worker.rig import children_of, on_both_loops, play, working
from windlass.core.names import Attempt
from windlass.core.task import Failure, Json, Success, Task

Loop = Callable[[], asyncio.AbstractEventLoop]

ENDLESS = source("sequence.numbers", end=10**15)


def endless(**more: Any) -> Task:
    return pipeline(ENDLESS, sink("file.text", path="big.txt"), **more)


def pipelines_child(folder: Path) -> int:
    """The process that runs pipelines for the worker in this folder."""
    (child,) = [
        child
        for minder in children_of(os.getpid())
        for child in children_of(minder)
        if b"windlass.worker.pipeline.child" in Path(f"/proc/{child}/cmdline").read_bytes()
        and Path(f"/proc/{child}/cwd").resolve() == folder.resolve()
    ]
    return child


def parts(folder: Path) -> list[Path]:
    return list(folder.glob("files/.windlass-*.part"))


@on_both_loops
def test_a_pipeline_that_is_cancelled_is_ended_and_leaves_nothing(tmp_path: Path, loop: Loop) -> None:
    async def story() -> None:
        task = endless()
        async with working(tmp_path) as rig:
            rig.start(task)
            await until(lambda: any(part.stat().st_size for part in parts(tmp_path)))
            child = pipelines_child(tmp_path)
            rig.worker.stop(task.name)
            await until(lambda: not rig.worker.held())
            assert not lives(child)
            assert os.listdir(tmp_path / "files") == []

    play(story(), loop)


def test_a_pipeline_that_takes_too_long_is_ended_and_leaves_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path) as rig:
            await rig.value(pipeline(rows("x"), sink("file.text", path="first.txt")))
            failure = await rig.failure(endless(timeout_s=1.0))
            assert failure.type == "Timeout"
            assert os.listdir(tmp_path / "files") == ["first.txt"]

    play(story())


def test_a_pipeline_whose_process_is_killed_leaves_no_file_and_runs_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path) as rig:
            task = endless()
            rig.start(task)
            await until(lambda: any(part.stat().st_size for part in parts(tmp_path)))
            os.kill(pipelines_child(tmp_path), signal.SIGKILL)
            failure = await rig.outcome(task)
            assert isinstance(failure, Failure)
            assert (failure.type, failure.retryable) == ("ProcessDied", True)
            assert os.listdir(tmp_path / "files") == []
            again = msgspec.structs.replace(
                pipeline(source("sequence.numbers", end=2), sink("file.text", path="big.txt")),
                attempt=Attempt(2),
            )
            await rig.value(again)
            assert (tmp_path / "files/big.txt").read_text() == "1\n2\n"

    play(story())


def test_an_attempt_that_was_given_up_cannot_take_the_place_of_a_newer_one(tmp_path: Path) -> None:
    """It lost sight of the node, and goes on: when it is done its part is gone."""

    async def story() -> None:
        async with working(tmp_path) as rig:
            old = pipeline(ENDLESS, sink("file.text", path="r.txt"))
            rig.start(old)
            await until(lambda: bool(parts(tmp_path)))
            new = pipeline(rows("new"), sink("file.text", path="r.txt"))
            new = msgspec.structs.replace(new, run=old.run, step=old.step, attempt=Attempt(2))
            rig._outcomes[new.step] = asyncio.get_running_loop().create_future()
            rig.worker.start(new)
            await rig.outcome(new)
            assert os.listdir(tmp_path / "files") == ["r.txt"]
            rig.worker.stop(old.name)

    play(story())
    assert (tmp_path / "files/r.txt").read_text() == "new\n"


# The process.


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    """The largest that the process ever was, for ten times the rows; distinct ones go to disk."""

    async def peak_kib(rows: int) -> int:
        async with working(tmp_path) as rig:
            task = pipeline(
                source("sequence.numbers", end=rows),
                a_stage("keep", "transform", "filter", condition="> 5"),
                transform("distinct"),
                sink("console.log"),
                sink("file.text", "file", path="big.txt"),
                edges="in>keep keep>by by>out keep>file",
            )
            await rig.value(task, within_s=120.0)
            return _peak_kib(pipelines_child(tmp_path))

    async def story() -> None:
        small, large = await peak_kib(60_000), await peak_kib(600_000)
        assert large < small + 60_000, f"{small} KiB, and {large} KiB for ten times the rows"

    play(story())


def test_a_pipeline_tells_how_far_it_is(tmp_path: Path) -> None:
    told: list[Json] = []

    async def story() -> None:
        async with working(tmp_path, on_progress=lambda _, details: told.append(details)) as rig:
            task = pipeline(ENDLESS, sink("aggregate.count"))
            rig.start(task)
            await until(lambda: len(told) > 1)
            rig.worker.stop(task.name)

    play(story())
    first, second = told[0]["stages"], told[1]["stages"]
    assert 0 < first["out"] <= first["in"] < second["in"]


def test_secrets_are_filled_in_and_masked(tmp_path: Path) -> None:
    async def values(_namespace: str, names: Any) -> dict[str, str]:
        return dict.fromkeys(names, "s3cr3t-value")

    async def story() -> None:
        async with working(tmp_path, resolve=values) as rig:
            task = pipeline(
                rows("x"), transform("map", expression="prefix:{{ secrets.KEY }}"), SHOW,
            )  # fmt: skip
            outcome = await rig.run(task)
            assert isinstance(outcome, Success)
            assert [line.text for line in rig.lines(task)] == ["***x"]
            assert [report.id for report in outcome.stages] == ["in", "by", "out"]

    play(story())


def _peak_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
