"""`windlass up` as a process of its own, and a client of its HTTP door on plain asyncio streams.

The client parses no more than it must: what is measured is the server.
"""

from __future__ import annotations

import asyncio
import json
import os
import selectors
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit

from windlass.core.task import Json

START_S: Final = 30.0
STOP_S: Final = 15.0
ANSWER_S: Final = 60.0
JSON_TYPE: Final = "application/json"


class Up(NamedTuple):
    url: str
    pid: int


class Answer(NamedTuple):
    status: int
    retry_after_s: float | None
    content: bytes


@contextmanager
def up(data: Path, *options: str) -> Iterator[str]:
    """An engine that is ready; answers its URL. It is ended afterwards, however that goes."""
    with process(data, *options) as engine:
        yield engine.url


@contextmanager
def process(data: Path, *options: str) -> Iterator[Up]:
    """The same, with the number of its process."""
    command = [sys.executable, "-m", "windlass", "up", "--json", "--port", "0", "--data", str(data), *options]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WINDLASS_")}
    # A session of its own: Ctrl-C is for us, and we end it.
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=kept, start_new_session=True) as process:
        try:
            yield Up(str(json.loads(_first_line(process))["url"]), process.pid)
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()


class Link:
    """One connection that is kept open: one request at a time."""

    def __init__(
        self, url: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str = ""
    ) -> None:
        self._shown = f"Authorization: Bearer {token}\r\n" if token else ""
        self._host = urlsplit(url).netloc
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, url: str, *, token: str = "") -> Link:
        parts = urlsplit(url)
        return cls(url, *await asyncio.open_connection(parts.hostname, parts.port), token)

    async def get(self, path: str) -> bytes:
        """The body of the answer, which must be a 2xx."""
        return _good(await self.ask("GET", path), path)

    async def post(self, path: str, body: Json = None) -> bytes:
        """The body of the answer, which must be a 2xx."""
        return _good(await self.ask("POST", path, body), path)

    async def ask(self, method: Literal["GET", "POST"], path: str, body: Json = None) -> Answer:
        raw = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\n{self._shown}"
        if method == "POST":
            head += f"Content-Type: {JSON_TYPE}\r\nContent-Length: {len(raw)}\r\n"
        self._writer.write(f"{head}\r\n".encode() + raw)
        async with asyncio.timeout(ANSWER_S):
            answer = (await self._reader.readuntil(b"\r\n\r\n")).lower()
            content = await self._reader.readexactly(int(_header(answer, b"content-length") or 0))
        after = _header(answer, b"retry-after")
        return Answer(int(answer.split(b" ", 2)[1]), None if after is None else float(after), content)

    async def run(self, workflow: str, *, chosen: str | None = None) -> None:
        """Start a run, with this id if one is chosen, and have its result in the same answer."""
        body: Json = None if chosen is None else {"runId": chosen}
        answer = await self.post(f"/api/v1/workflows/{workflow}/execute?wait=30s", body)
        assert b'"succeeded"' in answer, answer

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


def _header(head: bytes, name: bytes) -> bytes | None:
    _, there, rest = head.partition(b"\r\n%b:" % name)
    return rest[: rest.index(b"\r\n")].strip() if there else None


def _good(answer: Answer, path: str) -> bytes:
    if not 200 <= answer.status < 300:
        raise RuntimeError(f"{path}: {answer.status} {answer.content!r}")
    return answer.content


def _first_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdout, selectors.EVENT_READ)
        line = process.stdout.readline() if waiting.select(START_S) else b""
    if not line:
        raise RuntimeError("the engine did not start; its own words are above")
    return line
