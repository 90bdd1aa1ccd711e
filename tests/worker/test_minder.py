"""Nothing that a task started outlives it, its minder, or the process that hosts the worker."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.waiting import until, wait_until
from tests.worker.rig import (
    a_marker,
    a_task,
    marked,
    minders,
    on_both_loops,
    play,
    python,
    shell,
    working,
)
from windlass.core.task import Failure, Success, Task
from windlass.worker.link import MinderLink, MinderLost, Order
from windlass.worker.minder.tree import Hunt, is_ending, look
from windlass.worker.orphans import adopt_orphans, end_strays

Loop = Callable[[], asyncio.AbstractEventLoop]
PATH = {"PATH": "/usr/bin:/bin"}
ROOT = Path(__file__).resolve().parents[2]


def escaping(kind: str, marker: str, then: str, timeout_s: float | None = None) -> Task:
    """A step that leaves a detached grandchild behind, and then ends or hangs."""
    if kind == "python":
        return python("daemon", timeout_s, marker=marker, then=then)
    rest = {"end": "exit 0", "hang": "while :; do sleep 1; done"}[then]
    away = f"(setsid sh -c 'while :; do sleep 1; done # {marker}' >/dev/null 2>&1 &)"
    wait = f"while ! grep -qs {marker[:-1]}[{marker[-1]}] /proc/[0-9]*/cmdline; do sleep 0.01; done"
    return shell(f"{away}; {wait}; {rest}", timeout_s)


@on_both_loops
@pytest.mark.parametrize("kind", ["python", "shell"])
def test_a_detached_grandchild_dies_when_its_step_ends(tmp_path: Path, kind: str, loop: Loop) -> None:
    async def story() -> None:
        marker = a_marker()
        async with working(tmp_path) as rig:
            outcome = await rig.run(escaping(kind, marker, "end"))
            assert isinstance(outcome, Success), outcome
            assert marked(marker) == []

    play(story(), loop)


@on_both_loops
@pytest.mark.parametrize("kind", ["python", "shell"])
def test_a_detached_grandchild_dies_when_its_step_is_stopped(tmp_path: Path, kind: str, loop: Loop) -> None:
    async def story() -> None:
        marker = a_marker()
        async with working(tmp_path, slots=1) as rig:
            task = escaping(kind, marker, "hang")
            rig.start(task)
            await until(lambda: marked(marker))
            rig.worker.stop(task.name)
            await until(lambda: rig.worker.free == 1)
            assert marked(marker) == []
            assert rig.worker.held() == set()

    play(story(), loop)


@pytest.mark.accepts("S2.15")
@on_both_loops
@pytest.mark.parametrize("kind", ["python", "shell"])
def test_a_detached_grandchild_dies_when_its_step_takes_too_long(
    tmp_path: Path, kind: str, loop: Loop
) -> None:
    async def story() -> None:
        marker = a_marker()
        async with working(tmp_path) as rig:
            failure = await rig.failure(escaping(kind, marker, "hang", timeout_s=1.0))
            assert (failure.type, failure.message) == ("Timeout", "took longer than 1s")
            assert marked(marker) == []

    play(story(), loop)


def test_a_child_that_left_processes_behind_is_replaced_and_the_minder_kept(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path, slots=1) as rig:
            first = await rig.value(python("pid"))
            before = minders()
            assert await rig.value(escaping("python", a_marker(), "end")) == first
            assert await rig.value(python("pid")) != first
            assert minders() == before

    play(story())


def test_killing_the_minder_alone_fails_its_task_and_leaves_nothing_behind(tmp_path: Path) -> None:
    async def story() -> None:
        marker = a_marker()
        async with working(tmp_path, slots=2) as rig:
            task = escaping("python", marker, "hang")
            rig.start(task)
            await until(lambda: marked(marker))
            (minder,) = minders()
            os.kill(minder, signal.SIGKILL)
            outcome = await rig.outcome(task)
            assert isinstance(outcome, Failure)
            assert outcome.type == "ProcessDied"
            assert marked(marker) == []
            assert minders() == []
            assert await rig.value(python("add", a=1, b=2)) == 3

    play(story())


def test_what_a_minder_started_dies_with_it_even_when_nobody_looks() -> None:
    async def story() -> None:
        adopt_orphans()
        marker = a_marker()
        link = await MinderLink.start()
        running = asyncio.create_task(
            link.run(Order("shell", ["sleep", "1000"], {"MARK": marker, **PATH}, "/"))
        )
        await until(lambda: marked(marker))
        link.kill()
        await until(lambda: not marked(marker))
        with pytest.raises(MinderLost):
            await running
        await link.ended()
        await end_strays()
        link.hang_up()

    play(story())


@pytest.mark.accepts("S2.16")
def test_a_task_that_kills_its_parent_fails_alone(tmp_path: Path) -> None:
    async def story() -> None:
        marker = a_marker()
        async with working(tmp_path, slots=3) as rig:
            neighbour = shell("while ! [ -e go ]; do sleep 0.01; done; echo fine")
            rig.start(neighbour)
            failure = await rig.failure(python("daemon", marker=marker, then="kill parent"))
            assert failure.type == "ProcessDied"
            assert "minder" in failure.message
            assert marked(marker) == []
            (tmp_path / "go").touch()
            outcome = await rig.outcome(neighbour)
            assert isinstance(outcome, Success)
            assert outcome.value["stdout"] == "fine\n"

    play(story())


def test_an_idle_minder_that_died_is_replaced_unnoticed(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path) as rig:
            assert await rig.value(python("add", a=1, b=1)) == 2
            (minder,) = minders()
            os.kill(minder, signal.SIGKILL)
            await until(lambda: not (seen := look(minder)) or not seen[0])
            assert await rig.value(python("add", a=1, b=2)) == 3

    play(story())


def test_an_idle_child_that_died_is_replaced_unnoticed(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path) as rig:
            child = await rig.value(python("pid"))
            os.kill(child, signal.SIGKILL)
            await until(lambda: look(child) is None)
            assert await rig.value(python("pid")) != child

    play(story())


def test_ordinary_programs_of_the_host_are_left_alone_when_strays_are_ended(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path) as rig:
            await rig.failure(python("daemon", marker=a_marker(), then="kill parent"))

    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as ordinary:
        play(story())
        assert ordinary.poll() is None


@pytest.mark.parametrize(
    "program",
    [
        # Each generation forks the next and ends: there is never one to hold on to.
        "import os\nwhile True:\n    if os.fork(): os._exit(0)",
        # Three that start a new one whenever one is gone.
        "import os\nfor _ in range(3):\n    if os.fork() == 0:\n        while True:\n"
        "            if os.fork() == 0:\n                while True: pass\n            os.wait()\nos.wait()",
    ],
    ids=["hopping", "restarting"],
)
def test_processes_that_keep_forking_are_caught(tmp_path: Path, program: str) -> None:
    async def story() -> None:
        marker = a_marker()
        task = a_task("shell", {"argv": [sys.executable, "-S", "-c", program, marker]}, timeout_s=1.0)
        async with working(tmp_path, slots=1) as rig:
            outcome = await rig.run(task, within_s=60)
            assert isinstance(outcome, Success | Failure)
            assert marked(marker) == []

    play(story())


def test_what_belongs_to_another_user_is_left_rather_than_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(signal, "pidfd_send_signal", refuse)
    seen = look(os.getppid())
    assert seen is not None
    hunt = Hunt()
    hunt.strike({os.getppid(): seen[3]})
    assert hunt.beyond_reach == {(os.getppid(), seen[3])}


def test_a_process_is_ending_from_its_death_on_whether_or_not_it_is_buried() -> None:
    process = subprocess.Popen(["sleep", "100"])
    assert not is_ending(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert look(process.pid) is not None and is_ending(process.pid)
    process.wait()
    assert look(process.pid) is None and is_ending(process.pid)


def test_a_script_that_signals_its_whole_group_hits_only_itself(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path, slots=1) as rig:
            assert await rig.value(python("add", a=1, b=1)) == 2
            failure = await rig.failure(shell("kill -KILL 0; sleep 100"))
            assert failure.message == "was killed by SIGKILL: perhaps out of memory"
            assert await rig.value(python("add", a=1, b=2)) == 3

    play(story())


HOST = """
import asyncio, sys
from pathlib import Path
from tests.worker.rig import python, shell, working

async def main(folder, marker):
    async with working(Path(folder), slots=3) as rig:
        rig.start(python("daemon", marker=marker, then="hang"))
        rig.start(shell(f"(setsid sh -c 'while :; do sleep 1; done # {marker} b' &); sleep 1000"))
        rig.start(shell(f"sleep 1000 # {marker} c"))
        await asyncio.Event().wait()

asyncio.run(main(*sys.argv[1:]))
"""


@contextmanager
def killed_after(host: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    with host:
        try:
            yield host
        finally:
            host.kill()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_killing_only_the_host_leaves_no_process_behind(tmp_path: Path, how: signal.Signals) -> None:
    # Everything below the host has the marker in its environment or in its arguments.
    marker = a_marker()
    argv = [sys.executable, "-c", HOST, str(tmp_path), marker]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    env = {**os.environ, "MARK": marker, "TMPDIR": str(scratch)}
    with killed_after(subprocess.Popen(argv, cwd=ROOT, env=env)) as host:
        # The host, three minders, the Python child and its daemon, two shells, the detached shell, its sleep.
        wait_until(lambda: len(marked(marker)) >= 9, within_s=20)
        host.send_signal(how)
        host.wait(10)
    wait_until(lambda: marked(marker) == [], within_s=10)
    assert list(scratch.iterdir()) == []


def test_closing_the_worker_ends_what_runs(tmp_path: Path) -> None:
    async def story() -> None:
        marker = a_marker()
        async with working(tmp_path) as rig:
            rig.start(escaping("python", marker, "hang"))
            rig.start(escaping("shell", marker, "hang"))
            await until(lambda: len(marked(marker)) >= 3)
        assert marked(marker) == []
        assert minders() == []

    play(story())


def test_no_file_descriptor_leaks_in_two_hundred_tasks(tmp_path: Path) -> None:
    def open_files(pid: int) -> int:
        return len(os.listdir(f"/proc/{pid}/fd"))

    async def story() -> None:
        async with working(tmp_path, slots=1) as rig:
            await rig.value(python("pid"))
            await rig.value(shell("true"))
            (minder,) = minders()
            before = open_files(os.getpid()), open_files(minder)
            for _ in range(80):
                await rig.value(python("add", a=1, b=2))
                await rig.value(shell("true"))
            for _ in range(20):
                await rig.failure(a_task("shell", {"argv": ["no-such-program"]}))
                await rig.failure(shell("sleep 100", timeout_s=0.01))
            await rig.value(python("pid"))
            assert (open_files(os.getpid()), open_files(minder)) == before

    play(story())


def test_a_minder_keeps_the_time_by_itself_should_the_worker_be_slow() -> None:
    async def story() -> None:
        link = await MinderLink.start()
        ended = await link.run(Order("shell", ["sleep", "1000"], PATH, "/", timeout_s=0.05))
        assert ended.how == "timeout"
        link.hang_up()
        assert await link.ended() == 0

    play(story())


def test_a_minder_holds_no_copy_of_anothers_socket() -> None:
    async def story() -> None:
        links = [await MinderLink.start() for _ in range(3)]
        for link in links:
            await link.run(Order("shell", ["true"], PATH, "/"))
        for link in links:
            files = [os.readlink(f"/proc/{link.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{link.pid}/fd")]
            assert len([name for name in files if name.startswith("socket:")]) == 1
        for link in links:
            link.hang_up()
            assert await link.ended() == 0

    play(story())
