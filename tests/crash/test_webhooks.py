"""An engine that is killed before a webhook has heard: the next one tells it."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.cli.engines import serving
from tests.waiting import wait_until
from windlass.sdk.client import Client, new_run_id
from windlass.sdk.webhooks import verify

FAILING = b'{"id": "failing", "steps": {"a": {"kind": "shell", "with": {"command": "exit 3"}}}}'


class Receiver(ThreadingHTTPServer):
    """Takes what comes, and answers what it was told to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Request)
        self.status = 503
        self.got: list[tuple[dict[str, str], bytes, float]] = []

    def heard(self, status: int, run: str = "") -> list[dict[str, Any]]:
        return [
            json.loads(body) for headers, body, _ in self.got if headers["answered"] == str(status)
            and run.encode() in body
        ]  # fmt: skip


class Request(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = self.server.status
        self.server.got.append(({**self.headers, "answered": str(status)}, body, time.time()))
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def receiving() -> Iterator[Receiver]:
    with Receiver() as receiver:
        thread = threading.Thread(target=receiver.serve_forever)
        thread.start()
        try:
            yield receiver
        finally:
            receiver.shutdown()
            thread.join()


def fail_until_heard(client: Client, receiver: Receiver, another: Callable[[], str] = new_run_id) -> None:
    """A new webhook counts after a moment: until then, nobody is told."""

    def told() -> bool:
        client.start("failing", run_id=another())
        return bool(receiver.got)

    wait_until(told, 20.0)


def test_what_a_killed_engine_owed_is_told_by_the_next_one(tmp_path: Path) -> None:
    data = tmp_path / "data"
    options = ("--allow-network", "127.0.0.1")
    with receiving() as receiver:
        url = f"http://127.0.0.1:{receiver.server_port}/in"
        # Given a receiver that is not well, and a run that failed
        with serving(data, *options) as (engine, client):
            client.apply("failing", FAILING, "application/json")
            made = client.create_webhook(url, on=["failed"])
            fail_until_heard(client, receiver)
            assert not receiver.heard(200)
            # When the engine is killed, and both are well again
            engine.stop(signal.SIGKILL)
        owed = receiver.heard(503)[0]
        receiver.status = 200
        with serving(data, *options) as (_, client):
            # Then it hears of it after all, under the same id
            wait_until(lambda: receiver.heard(200, owed["runId"]), 30.0)
            assert receiver.heard(200, owed["runId"]) == [owed]
            assert client.run(owed["runId"])["status"] == "failed"
    for headers, body, at in receiver.got:
        assert verify(made["secret"], headers, body, tolerance_s=time.time() - at + 5)


def test_an_engine_tells_nobody_on_this_machine_unless_it_was_allowed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with receiving() as receiver:
        url = f"http://127.0.0.1:{receiver.server_port}/in"
        with serving(data, "--allow-network", "127.0.0.1") as (_, client):
            made = client.create_webhook(url, on=["failed"])
            receiver.status = 200
            assert client.test_webhook(made["id"])["delivered"]
        with serving(data) as (_, client):
            answer = client.test_webhook(made["id"])
            assert not answer["delivered"]
            assert "loopback" in answer["error"]
        assert len(receiver.got) == 1


def test_an_engine_that_was_told_so_lets_no_step_call_this_machine(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with receiving() as receiver:
        receiver.status = 200
        step = {
            "kind": "http",
            "with": {"url": f"http://127.0.0.1:{receiver.server_port}/", "method": "POST"},
        }
        document = json.dumps({"id": "call", "steps": {"a": {**step, "retry": {"attempts": 3}}}}).encode()
        with serving(data, "--http-private", "deny") as (_, client):
            client.apply("call", document, "application/json")
            run = new_run_id()
            client.start("call", run_id=run)
            wait_until(lambda: client.run(run)["status"] == "failed", 20.0)
            events = [event["type"] for event in client.all_events(run)]
            assert "RetryScheduled" not in events
            assert "loopback" in json.dumps(list(client.all_events(run)))
        assert receiver.got == []
        with serving(data) as (_, client):
            run = new_run_id()
            client.start("call", run_id=run)
            wait_until(lambda: receiver.got, 20.0)
