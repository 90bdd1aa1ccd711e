"""Engines as users start them: processes of their own, on a free port of this machine."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.waiting import wait_until
from windlass.sdk.client import Client

START_S = 60.0
STOP_S = 20.0


class Engine:
    """`windlass up`, and everything it says."""

    def __init__(self, options: Sequence[str], *, cwd: Path, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [*windlass(), "up", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env=environment(env),
        )
        self.out: list[str] = []
        self.err: list[str] = []
        assert self.process.stdout is not None and self.process.stderr is not None
        streams = ((self.process.stdout, self.out), (self.process.stderr, self.err))
        self._readers = [threading.Thread(target=_collect, args=stream) for stream in streams]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def says(self) -> str:
        return "".join([*self.out, *self.err])

    def ready(self) -> dict[str, Any]:
        """What `up --json` says when it is ready."""
        wait_until(lambda: self.out or self.ended, START_S)
        assert self.out, f"not started: {self.says}"
        found: dict[str, Any] = json.loads(self.out[0])
        return found

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def stop(self, number: int = signal.SIGINT) -> int:
        """Send the signal, and answer the exit code; all that was said is there then."""
        if not self.ended:
            self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        code = self.process.wait(STOP_S)
        for reader in self._readers:
            reader.join(STOP_S)
        return code

    def close(self) -> None:
        if not self.ended:
            self.process.kill()
        self.wait()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


@contextmanager
def engine(*options: str, cwd: Path, env: dict[str, str] | None = None) -> Iterator[Engine]:
    started = Engine(options, cwd=cwd, env=env)
    try:
        yield started
    finally:
        started.close()


@contextmanager
def serving(data: Path, *options: str) -> Iterator[tuple[Engine, Client]]:
    """An engine that is ready, on a free port, with a client."""
    with engine("--data", str(data), "--json", "--port", "0", *options, cwd=data.parent) as started:
        client = Client(started.ready()["url"])
        try:
            yield started, client
        finally:
            client.close()


def windlass() -> list[str]:
    return [sys.executable, "-m", "windlass"]


def environment(more: dict[str, str] | None = None) -> dict[str, str]:
    """Ours, without settings that somebody may have left in it. Few look for languages: it takes a second."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WINDLASS_")}
    return {**kept, "WINDLASS_NO_CODE": "true", **(more or {})}


def _collect(stream: Iterable[str], lines: list[str]) -> None:
    lines.extend(stream)  # line by line, as they come
