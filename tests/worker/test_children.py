"""Python children: how much memory they may use, and how long they serve."""

from pathlib import Path

from tests.worker.rig import play, python, shell, working

STEPS = """
import os

def pid():
    return os.getpid()

def takes(megabytes, at_once=True):
    if at_once:
        return len(bytearray(megabytes << 20))
    held = []
    for _ in range(megabytes << 10):
        held.append(bytes(1024))
    return len(held)
"""


def test_a_step_that_uses_too_much_memory_is_told_so_and_the_next_one_is_not_hurt(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path, slots=1, steps=STEPS, memory_bytes=200_000_000) as rig:
            before = await rig.value(python("pid"))
            assert await rig.value(python("takes", megabytes=50)) == 50 << 20
            assert await rig.value(python("pid")) == before
            for at_once in (True, False):
                failure = await rig.failure(python("takes", megabytes=400, at_once=at_once))
                assert failure.type == "MemoryError"
                assert failure.retryable
                assert failure.message.startswith("out of memory: a step may use 200 MB here")
                assert "--memory" in failure.message
                assert "takes" in failure.detail  # where
            assert await rig.value(python("pid")) != before
            assert await rig.value(python("takes", megabytes=50)) == 50 << 20

    play(story())


def test_the_limit_holds_for_programs_too(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path, steps=STEPS, memory_bytes=200_000_000) as rig:
            outcome = await rig.value(shell("ulimit -d"))
            assert int(outcome["stdout"]) == 200_000_000 // 1024

    play(story())


def test_without_a_limit_there_is_none(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path, slots=1, steps=STEPS) as rig:
            assert (await rig.value(shell("ulimit -d")))["stdout"] == "unlimited\n"

    play(story())


def test_a_child_is_replaced_after_so_many_steps(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path, slots=1, steps=STEPS, recycle=3) as rig:
            pids = [await rig.value(python("pid")) for _ in range(7)]
            assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [3, 3, 1]

    play(story())
