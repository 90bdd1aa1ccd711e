"""The client against servers that answer as they are told to."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from windlass.core.errors import Fault, Invalid, NotFound, Refused, Unavailable, Unknown, WindlassError
from windlass.sdk.client import Client, new_run_id
from windlass.sdk.refusals import Broken, NotReachable

Answer = tuple[int, object]
Clients = Callable[..., Client]


@dataclass
class Script:
    """The answers to give, in order, and what was asked. An answer of None closes the link without a word."""

    answers: list[Answer | None]
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    url: str = ""


Servers = Callable[[list[Answer | None]], Script]


@pytest.fixture
def answering() -> Iterator[Servers]:
    with _servers() as start:
        yield start


@pytest.fixture
def client() -> Iterator[Clients]:
    """Clients that wait in no time: their clock goes on when they sleep."""
    with ExitStack() as stack:
        now = [0.0]

        def sleep(seconds: float) -> None:
            now[0] += seconds

        def make(url: str, patience_s: float = 5.0) -> Client:
            made = Client(url, timeout_s=5.0, clock=lambda: now[0], sleep=sleep)
            made.patience_s = made.busy_s = patience_s
            return stack.enter_context(made)

        yield make


def test_a_server_that_is_not_there_is_named(unused_port: int, client: Clients) -> None:
    with pytest.raises(NotReachable) as caught:
        client(f"http://127.0.0.1:{unused_port}").runs()
    assert f"http://127.0.0.1:{unused_port}" in str(caught.value)
    assert caught.value.reason == "connection refused"


def test_a_start_is_repeated_with_the_same_id_when_nothing_was_decided(
    answering: Servers, client: Clients
) -> None:
    server = answering([(503, {"error": "Unavailable", "message": "opening"}), (200, {"executionId": "r1"})])
    assert client(server.url).start("w", run_id="r1") == {"executionId": "r1"}
    assert len(server.asked) == 2
    assert [json.loads(body)["runId"] for *_, body in server.asked] == ["r1", "r1"]
    keys = {headers["Idempotency-Key"] for _, _, headers, _ in server.asked}
    assert len(keys) == 1


def test_a_link_that_breaks_before_the_answer_is_made_again(answering: Servers, client: Clients) -> None:
    server = answering([None, (200, {"items": []})])
    assert client(server.url).runs() == {"items": []}
    assert len(server.asked) == 2


def test_a_kept_link_that_the_server_closed_costs_no_patience(answering: Servers, client: Clients) -> None:
    server = answering([(200, {"n": 1}), None, (200, {"n": 2})])
    asking = client(server.url, 0.0)
    assert asking.run("a") == {"n": 1}
    assert asking.run("a") == {"n": 2}


def test_patience_comes_to_an_end(answering: Servers, client: Clients) -> None:
    server = answering([(503, {"error": "Unavailable", "message": "too much is waiting"})] * 50)
    with pytest.raises(Unavailable, match="too much is waiting"):
        client(server.url, 3.0).runs()
    assert 2 <= len(server.asked) <= 4


def test_it_waits_as_long_as_the_server_asks_it_to(answering: Servers, client: Clients) -> None:
    server = answering([(503, {"error": "Unavailable", "message": "busy"})] * 50)
    server.headers["Retry-After"] = "60"
    with pytest.raises(Unavailable):
        client(server.url, 30.0).runs()
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Invalid),
        (403, Refused),
        (404, NotFound),
        (409, Refused),
        (413, Invalid),
        (415, Invalid),
        (422, Invalid),
        (500, Broken),
        (504, Unknown),
    ],
)
def test_an_error_is_what_the_engine_called_it(
    answering: Servers, client: Clients, status: int, kind: type[WindlassError]
) -> None:
    server = answering([(status, {"error": "E", "message": "in words"})] * 50)
    with pytest.raises(kind, match="in words"):
        client(server.url, 0.0).run("r")


def test_the_faults_of_a_document_keep_their_places(answering: Servers, client: Clients) -> None:
    details = [{"pointer": "/steps/a", "message": "`kind` is missing", "line": 3, "column": 5}]
    server = answering([(422, {"error": "Invalid request", "message": "1 fault", "details": details})])
    with pytest.raises(Invalid) as caught:
        client(server.url).apply("w", b"id: w", "application/yaml")
    assert caught.value.faults == (Fault("/steps/a", "`kind` is missing", line=3, column=5),)


def test_a_document_that_is_there_becomes_its_next_version(answering: Servers, client: Clients) -> None:
    server = answering(
        [
            (409, {"error": "Workflow already exists", "message": "there is one"}),
            (200, {"workflowId": "w", "version": 3, "changed": True}),
        ]
    )
    applied = client(server.url).apply("w", b"id: w", "application/yaml")
    assert (applied.version, applied.outcome) == (3, "changed")
    assert [(method, path) for method, path, *_ in server.asked] == [
        ("POST", "/api/v1/workflows"),
        ("PUT", "/api/v1/workflows/w"),
    ]
    assert {headers["Content-Type"] for _, _, headers, _ in server.asked} == {"application/yaml"}


def test_another_program_at_the_address_is_told_apart(answering: Servers, client: Clients) -> None:
    server = answering([(404, "<html>no such page</html>")])
    with pytest.raises(Broken, match="is no Windlass"):
        client(server.url).runs()


def test_ids_cannot_leave_their_place_in_the_path(answering: Servers, client: Clients) -> None:
    server = answering([(200, {})])
    client(server.url).run("../workflows?x=1")
    assert server.asked[0][1] == "/api/v1/runs/..%2Fworkflows%3Fx%3D1"


@pytest.mark.parametrize("url", ["", "127.0.0.1:8080", "ftp://127.0.0.1", "http://", "http://127.0.0.1:x"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match=r"write e.g. http://127.0.0.1:8080"):
        Client(url)


def test_run_ids_are_ordered_by_time_and_differ() -> None:
    ids = [new_run_id() for _ in range(100)]
    assert len(set(ids)) == 100
    assert all(ident.startswith("exec_") for ident in ids)


def test_the_ids_of_runs_begin_as_the_strategy_by_type_wants_it() -> None:
    assert new_run_id("ml-training:nightly").startswith("ml-training:exec_")
    assert new_run_id("nightly:ml-training").startswith("exec_")


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def _servers() -> Iterator[Servers]:
    running: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def start(answers: list[Answer | None]) -> Script:
        script = Script(answers)
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(script))
        server.daemon_threads = True
        script.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((server, thread))
        return script

    try:
        yield start
    finally:
        for server, thread in running:
            server.shutdown()
            server.server_close()
            thread.join(10)


def _handler(script: Script) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 5

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            script.asked.append((self.command, self.path, dict(self.headers), body))
            answer = script.answers.pop(0)
            if answer is None:
                self.close_connection = True
                return
            status, content = answer
            raw = content.encode() if isinstance(content, str) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in script.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "text/html" if isinstance(content, str) else "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        do_POST = do_PUT = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
