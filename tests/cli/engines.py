"""Engines as users start them: processes of their own, on a free port of this machine."""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.programs import Program
from windlass.sdk.client import Client


class Engine(Program):
    """`windlass up`."""

    def __init__(self, options: Sequence[str], *, cwd: Path, env: dict[str, str] | None = None) -> None:
        super().__init__([*windlass(), "up", *options], cwd=cwd, env=environment(env))

    def ready(self) -> dict[str, Any]:
        return self.welcome()

    def stop(self, number: int = signal.SIGINT) -> int:
        return super().stop(number)


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
