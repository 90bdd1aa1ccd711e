"""Servers that answer as they are told to."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from windlass.core.task import Json
from windlass.sdk.client import Client

Answer = tuple[int, Json]


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: Json


@dataclass
class Script:
    """The answers, in order: a status with JSON, or pieces of an event stream, each closed after it."""

    answers: list[Answer | bytes]
    asked: list[Asked] = field(default_factory=list)
    url: str = ""

    @property
    def client(self) -> Client:
        """One that waits in no time: its clock goes on when it sleeps."""
        now = [0.0]
        return Client(self.url, clock=lambda: now[0], sleep=lambda s: now.__setitem__(0, now[0] + s))


@contextmanager
def answering(*answers: Answer | bytes) -> Iterator[Script]:
    script = Script(list(answers))
    handler = type("Handler", (_Handler,), {"script": script})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        script.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield script
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    script: Script
    timeout = 5

    def do_GET(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(raw) if raw else None
        self.script.asked.append(Asked(self.command, self.path, dict(self.headers), body))
        answer = self.script.answers.pop(0)
        if isinstance(answer, bytes):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(answer)
            return
        status, content = answer
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if "retryAfter" in content:
            self.send_header("Retry-After", str(content["retryAfter"]))
        self.end_headers()
        self.wfile.write(json.dumps(content).encode())

    do_POST = do_DELETE = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        pass
