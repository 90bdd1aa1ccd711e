"""`windlass worker` processes. Started again, a worker has its old name and folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.cli.engines import environment
from tests.cluster.machines import LAUNCH
from tests.waiting import wait_until

START_S = 60.0
STOP_S = 45.0
LAST_WORDS = 30


class Hand:
    """One worker: a process at a time, and what it says."""

    def __init__(
        self,
        name: str,
        folder: Path,
        addresses: Sequence[str],
        *options: str,
        token: str = "",
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.folder = folder
        self.addresses = list(addresses)
        self.options = list(options)
        self.env = {**(env or {}), **({"WINDLASS_TOKEN": token} if token else {})}
        self.lives = 0
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def data(self) -> Path:
        return self.folder / self.name

    @property
    def spooled(self) -> list[Path]:
        """Results that wait on its disk."""
        return list((self.data / "spool").glob("*.result"))

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, f"{self.name} was never started"
        return self._process

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Does not wait until a node has welcomed it."""
        assert not self.runs, f"{self.name} is running"
        self.lives += 1
        command = [
            *(sys.executable, "-m", "windlass", "worker", "--name", self.name, "--json", "--log", "json"),
            *("--connect", ",".join(self.addresses), "--data", str(self.data), *self.options),
        ]
        with self._file("out").open("wb") as out, self._file("err").open("ab") as err:
            self._process = subprocess.Popen(
                [sys.executable, "-S", "-c", LAUNCH, *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=self.folder,
                env=environment(self.env),
            )

    def welcome(self) -> str:
        """The node that took it in first, in this life."""
        wait_until(lambda: self._said() or not self.runs, START_S)
        said = self._said()
        assert said and self.runs, f"{self.name} did not start: {self.log()}"
        return str(json.loads(said)["node"])

    def kill(self) -> None:
        """-9, that one pid."""
        self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def term(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    def wait(self, within_s: float = STOP_S) -> int:
        return self.process.wait(within_s)

    def end(self) -> None:
        if self.runs:
            self.kill()

    def log(self) -> str:
        """What it has said in all its lives, and on its way out of this one."""
        files = (self._file("err"), self._file("out"))
        return "".join(file.read_text(errors="replace") for file in files if file.exists())

    def show(self) -> str:
        lines = self.log().splitlines()[-LAST_WORDS:]
        return f"==== {self.name} ({'runs' if self.runs else 'ended'})\n" + "\n".join(lines) + "\n"

    def _said(self) -> str:
        said = self._file("out").read_text()
        return said if said.endswith("\n") else ""

    def _file(self, kind: str) -> Path:
        return self.folder / f"{self.name}.{kind}"


@contextmanager
def ending(hands: Sequence[Hand]) -> Iterator[None]:
    """They end here, whatever happens; and say their last words if it was not well."""
    try:
        yield
    except BaseException:
        sys.stdout.write("".join(hand.show() for hand in hands))
        raise
    finally:
        for hand in hands:
            hand.end()
