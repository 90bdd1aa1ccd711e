"""Programs as users start them: processes of their own, and everything they say."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.waiting import wait_until

START_S = 60.0
STOP_S = 30.0


class Program:
    def __init__(self, command: Sequence[str], *, cwd: Path, env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env=env,
        )
        self.out: list[str] = []
        self.err: list[str] = []
        assert self.process.stdout is not None and self.process.stderr is not None
        self._streams = ((self.process.stdout, self.out), (self.process.stderr, self.err))
        self._readers = [threading.Thread(target=_collect, args=stream) for stream in self._streams]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def says(self) -> str:
        return "".join([*self.out, *self.err])

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def welcome(self) -> dict[str, Any]:
        """What it says with `--json` when it is ready."""
        wait_until(lambda: self.out or self.ended, START_S)
        assert self.out, f"not started: {self.says}"
        found: dict[str, Any] = json.loads(self.out[0])
        return found

    def wait(self, within_s: float = STOP_S) -> int:
        """The exit code; all that was said is there then."""
        code = self.process.wait(within_s)
        for reader in self._readers:
            reader.join(within_s)
        return code

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send the signal, and answer the exit code; all that was said is there then."""
        if not self.ended:
            self.process.send_signal(number)
        return self.wait()

    def close(self) -> None:
        self.stop(signal.SIGKILL)
        for stream, _ in self._streams:
            stream.close()


def _collect(stream: Iterable[str], lines: list[str]) -> None:
    lines.extend(stream)  # line by line, as they come
