"""`windlass worker`, the program: with a real node, and to the end of its processes."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.waiting import until
from tests.worker.rig import a_marker, a_task, marked, play
from tests.worker.scripted_node import Guest, Node
from windlass.core.task import Failure, Success, Task
from windlass.sockets import SocketPipe, abort
from windlass.wire import crew
from windlass.wire.crew import Beat, Ended, Goodbye, Kept, Leaving, Progress, Returned, Run

ROOT = Path(__file__).resolve().parents[2]
STEPS = """
import asyncio, os, subprocess, sys, time

async def fine(ctx):
    print("here I am")
    ctx.heartbeat(50)
    return [os.getcwd(), sorted(name for name in os.environ if name.startswith("WINDLASS"))]

async def blocks():
    time.sleep(120)

def starts(marker):
    subprocess.run(["sh", "-c", "while :; do sleep 1; done # " + marker])
"""


class Door(Node):
    """A scripted node behind a real WebSocket."""

    url = ""
    tokens: Sequence[str] = ()

    async def enter(self, request: web.Request) -> web.StreamResponse:
        shown = request.headers.get("Authorization", "")
        if self.tokens and shown not in [f"Bearer {token}" for token in self.tokens]:
            raise web.HTTPUnauthorized
        socket = web.WebSocketResponse(max_msg_size=crew.FRAME_BYTES_MAX)
        await socket.prepare(request)
        guest = Guest(SocketPipe(socket, lambda: abort(request.transport)), 0.0)
        self.guests.append(guest)
        await self._serve(guest)
        return socket

    async def give(self, task: Task) -> str:
        token = f"token of {task.step}"
        await self.guest.say(Run(crew.encode_task(task), token))
        return token


@asynccontextmanager
async def a_door(*tokens: str) -> AsyncIterator[Door]:
    door, app = Door("n1"), web.Application()
    door.tokens = tokens
    app.router.add_get(crew.PATH, door.enter)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    door.url = f"ws://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield door
    finally:
        door.die()
        await runner.cleanup()


@contextmanager
def a_worker(door: Door, folder: Path, *more: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    (folder / "app.py").write_text(STEPS)
    os.utime(folder / "app.py", (1, 1))
    words = [sys.executable, "-m", "windlass", "worker", "--connect", door.url, "--app", "app.py", *more]
    environ = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "WINDLASS_NAME": "w1",
        "WINDLASS_NO_CODE": "true",
        **variables,
    }
    with (folder / "log").open("a") as log:
        worker = subprocess.Popen(words, cwd=folder, env=environ, stdout=log, stderr=log, text=True)
    try:
        yield worker
    finally:
        worker.kill()
        worker.wait()


def calling(function: str, timeout_s: float | None = None, **args: Any) -> Task:
    return a_task("python", {"call": f"app:{function}", "args": args}, timeout_s=timeout_s)


async def result(door: Door, number: int = 1, within_s: float = 20.0) -> Ended:
    await until(lambda: len(door.guest.of(Ended)) >= number, within_s)
    return door.guest.of(Ended)[number - 1]


def test_it_connects_works_and_leaves_when_it_is_told_to(tmp_path: Path) -> None:
    async def story() -> None:
        async with a_door("secret-token") as door:
            (tmp_path / "token").write_text("secret-token\n")
            words = (
                "--token-file",
                "token",
                "--capabilities",
                "gpu,eu",
                "--labels",
                "zone=1",
                "--slots",
                "3",
            )
            with a_worker(door, tmp_path, *words, "--host-group", "r1", "--namespaces", "a,b") as worker:
                await until(lambda: door.guests and door.guest.of(Beat), 20.0)
                greeting = door.guest.greeting
                assert (greeting.worker, greeting.slots, greeting.host_group) == ("w1", 3, "r1")
                assert {"gpu", "eu", "python", "shell"} <= set(greeting.capabilities)
                assert (greeting.labels, greeting.namespaces) == ({"zone": "1"}, ("a", "b"))
                token = await door.give(calling("fine"))
                ended = await result(door)
                outcome = crew.decode_outcome(ended.outcome)
                folder = tmp_path / ".windlass" / "worker-w1"
                assert outcome == Success([str(folder), []])  # and of its settings a step sees none
                assert door.guest.of(Progress)[-1] == Progress(token, b"50")
                texts = [line.text for said in door.guest.of(crew.Printed) for line in said.printed.lines]
                assert texts == ["here I am"]
                await door.guest.say(Kept((token,)))
                worker.send_signal(signal.SIGTERM)
                await until(lambda: worker.poll() is not None)
                assert worker.returncode == 0
                assert [len(door.guest.of(kind)) for kind in (Leaving, Goodbye)] == [1, 1]
                assert list((folder / "spool").glob("*.result")) == []

    play(story())


def test_told_to_stop_it_returns_what_does_not_end_in_time(tmp_path: Path) -> None:
    async def story() -> None:
        marker = a_marker()
        async with a_door() as door:
            with a_worker(door, tmp_path, "--grace", "300ms") as worker:
                await until(lambda: door.guests and door.guest.of(Beat), 20.0)
                task = calling("starts", marker=marker)
                token = await door.give(task)
                await until(lambda: marked(marker), 20.0)
                worker.send_signal(signal.SIGINT)
                await until(lambda: door.guest.of(Returned))
                assert marked(marker) == []  # dead before anybody else may begin
                assert door.guest.of(Returned) == [Returned(task.name, token, "the worker was stopped")]
                await until(lambda: worker.poll() is not None)
                assert worker.returncode == 0

    play(story())


def test_a_second_ctrl_c_ends_it_at_once_and_all_it_started_with_it(tmp_path: Path) -> None:
    async def story() -> None:
        marker = a_marker()
        async with a_door() as door:
            with a_worker(door, tmp_path, "--grace", "1h") as worker:
                await until(lambda: door.guests and door.guest.of(Beat), 20.0)
                await door.give(calling("starts", marker=marker))
                await until(lambda: marked(marker), 20.0)
                worker.send_signal(signal.SIGINT)
                await until(lambda: door.guest.of(Leaving))
                worker.send_signal(signal.SIGINT)
                await until(lambda: worker.poll() is not None)
                assert worker.returncode == 130
                await until(lambda: not marked(marker))

    play(story())


def test_killed_it_takes_all_it_started_along_and_its_results_come_in_its_next_life(tmp_path: Path) -> None:
    async def story() -> None:
        marker = a_marker()
        async with a_door() as door:
            with a_worker(door, tmp_path) as worker:
                await until(lambda: door.guests and door.guest.of(Beat), 20.0)
                done = calling("fine")
                token = await door.give(done)
                await door.give(calling("starts", marker=marker))
                ended = await result(door)
                await until(lambda: marked(marker), 20.0)
                await until(lambda: list(tmp_path.glob(".windlass/*/spool/*.result")))
                worker.kill()
                await until(lambda: not marked(marker))
            first = door.guest.greeting
            with a_worker(door, tmp_path):
                await until(lambda: len(door.guests) == 2 and door.guest.of(Ended), 20.0)
                assert door.guest.greeting.session != first.session
                assert [held.token for held in door.guest.greeting.held] == [token]
                assert door.guest.of(Ended) == [ended]
                await door.guest.say(Kept((token,)))
                await until(lambda: not list(tmp_path.glob(".windlass/*/spool/*.result")))

    play(story())


def test_a_blocked_async_step_stops_no_beats_and_ends_the_worker_after_its_timeout(tmp_path: Path) -> None:
    async def story() -> None:
        async with a_door() as door:
            with a_worker(door, tmp_path, "--grace", "1s") as worker:
                await until(lambda: door.guests and door.guest.of(Beat), 20.0)
                beats = len(door.guest.of(Beat))
                await door.give(calling("blocks", timeout_s=0.5))
                other = calling("fine")
                token = await door.give(other)
                ended = await result(door)
                outcome = crew.decode_outcome(ended.outcome)
                assert isinstance(outcome, Failure)
                assert outcome.type == "Timeout"
                assert len(door.guest.of(Beat)) >= beats + 4  # in more than five seconds
                await door.guest.say(Kept((ended.token,)))
                await until(lambda: door.guest.of(Returned), 20.0)
                assert door.guest.of(Returned) == [
                    Returned(other.name, token, "an async step blocks the worker")
                ]
                await until(lambda: worker.poll() is not None, 20.0)
                assert worker.returncode == 1
        assert "did not stop; the worker had to" in (tmp_path / "log").read_text()

    play(story())


def test_two_with_one_folder_and_one_without_a_good_token_are_told_why(tmp_path: Path) -> None:
    async def story() -> None:
        async with a_door("good") as door:
            with a_worker(door, tmp_path, WINDLASS_TOKEN="good"):
                await until(lambda: door.guests, 20.0)
                with a_worker(door, tmp_path, WINDLASS_TOKEN="good") as second:
                    await until(lambda: second.poll() is not None, 20.0)
                    assert second.returncode == 1
            assert "name another one with --data" in (tmp_path / "log").read_text()
            with a_worker(door, tmp_path, WINDLASS_TOKEN="bad") as third:
                await until(lambda: third.poll() is not None, 20.0)
                assert third.returncode == 7
            assert "the token is not valid here" in (tmp_path / "log").read_text()

    play(story())
