"""A built-in worker with a folder of steps, for tests; and a look at the processes of this machine."""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvloop

from windlass.core.log import Bounds, Line, Printed
from windlass.core.names import Attempt, RunId, SessionId, StepId, WorkerId, WorkflowId
from windlass.core.task import Failure, Outcome, Success, Task
from windlass.worker.builtin import builtin_worker
from windlass.worker.sandbox.nursery_link import NURSERY
from windlass.worker.secrets import Resolve, no_secrets
from windlass.worker.session import LocalWorker

LOOPS: list[Callable[[], asyncio.AbstractEventLoop]] = [asyncio.new_event_loop, uvloop.new_event_loop]
on_both_loops = pytest.mark.parametrize("loop", LOOPS, ids=["asyncio", "uvloop"])

STEPS = '''
import asyncio, os, signal, subprocess, sys, threading, time
from windlass import Result

def add(a, b):
    return a + b

def pid():
    return os.getpid()

def forever():
    while True:
        pass

def daemon(marker, then="end"):
    """Start a process that gets away: two forks and a session of its own."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("sh", ["sh", "-c", "while :; do sleep 1; done # " + marker])
        os._exit(0)
    os.wait()
    if then == "hang":
        forever()
    if then == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if then == "kill parent":
        os.kill(os.getppid(), signal.SIGKILL)
        forever()
    return os.getpid()
'''


class Rig:
    def __init__(self, worker: LocalWorker, outcomes: dict[str, "asyncio.Future[Outcome]"]) -> None:
        self.worker = worker
        self.told: list[tuple[Task, Printed]] = []  # what tasks printed, as it came
        self._outcomes = outcomes

    def start(self, task: Task) -> None:
        self._outcomes[task.step] = asyncio.get_running_loop().create_future()
        self.worker.start(task)

    async def outcome(self, task: Task, within_s: float = 30.0) -> Outcome:
        async with asyncio.timeout(within_s):
            return await self._outcomes[task.step]

    async def run(self, task: Task, within_s: float = 30.0) -> Outcome:
        self.start(task)
        return await self.outcome(task, within_s)

    def lines(self, task: Task) -> list[Line]:
        return [line for whose, printed in self.told if whose is task for line in printed.lines]

    async def value(self, task: Task, within_s: float = 30.0) -> Any:
        outcome = await self.run(task, within_s)
        assert isinstance(outcome, Success), outcome
        return outcome.value

    async def failure(self, task: Task, within_s: float = 30.0) -> Failure:
        outcome = await self.run(task, within_s)
        assert isinstance(outcome, Failure), outcome
        return outcome


@asynccontextmanager
async def working(
    folder: Path,
    *,
    slots: int = 4,
    steps: str = STEPS,
    report: Callable[[Task, Outcome, float], Awaitable[None]] | None = None,
    log_bounds: Bounds | None = None,
    resolve: Resolve = no_secrets,
    **more: Any,  # of builtin_worker
) -> AsyncIterator[Rig]:
    """A worker whose Python steps are in `folder`/steps.py; what it reports is waiting in the rig."""
    (folder / "steps.py").write_text(steps)
    outcomes: dict[str, asyncio.Future[Outcome]] = {}

    async def keep(task: Task, outcome: Outcome, _started_at: float) -> None:
        outcomes[task.step].set_result(outcome)

    told: list[tuple[Task, Printed]] = []
    async with builtin_worker(
        id=WorkerId("w1"),
        session=SessionId("s1"),
        slots=slots,
        folders=[folder],
        data=folder,
        environ=os.environ,
        report=report or keep,
        on_printed=lambda task, printed: told.append((task, printed)),
        log_bounds=log_bounds or Bounds(),
        resolve=resolve,
        **more,
    ) as worker:
        rig = Rig(worker, outcomes)
        rig.told = told
        yield rig


def play(
    story: Coroutine[Any, Any, None],
    loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop,
) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(story)


def a_task(kind: str, with_: dict[str, Any] | None = None, **more: Any) -> Task:
    """A task with a name of its own."""
    return Task(
        run=RunId("run-1"),
        step=StepId(f"step-{uuid.uuid4().hex[:8]}"),
        attempt=Attempt(1),
        kind=kind,
        with_=with_ or {},
        workflow=WorkflowId("nightly"),
        **more,
    )


def python(call: str, timeout_s: float | None = None, **args: Any) -> Task:
    return a_task("python", {"call": f"steps:{call}", "args": args}, timeout_s=timeout_s)


def shell(command: str, timeout_s: float | None = None, **more: Any) -> Task:
    return a_task("shell", {"command": command, **more}, timeout_s=timeout_s)


def a_marker() -> str:
    return f"marker-{uuid.uuid4().hex}"


def marked(marker: str) -> list[int]:
    """The living processes, other than this one, with the marker in their arguments or environment."""
    return [pid for pid in _pids() if pid != os.getpid() and _carries(pid, marker.encode())]


def children_of(parent: int) -> list[int]:
    """All children, zombies too."""
    return [pid for pid in _pids() if _stat(pid)[1:2] == [str(parent)]]


def minders() -> list[int]:
    """What the worker in this process started, zombies too: each in a session of its own.

    Helpers that Python itself keeps for others, such as a resource tracker, share ours; and what jobs of
    another test in this process came from is ended first.
    """
    NURSERY.close()
    me, session = os.getpid(), os.getsid(0)
    return [pid for pid in children_of(me) if _stat(pid)[3:4] not in ([], [str(session)])]


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _carries(pid: int, marker: bytes) -> bool:
    for part in ("cmdline", "environ"):
        try:
            if marker in Path(f"/proc/{pid}/{part}").read_bytes():
                return True
        except OSError:
            continue
    return False
