"""`windlass logs`, and lines on their way through a real engine: live, and through `kill -9`."""

import json
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.cli.engines import environment, serving, windlass
from tests.waiting import wait_until
from windlass.cli import main
from windlass.core.errors import NotFound
from windlass.core.task import Json
from windlass.sdk.client import Client
from windlass.sdk.refusals import NotReachable
from windlass.sdk.sse import Event, read_events

STEPS = {"one": "echo out; echo err >&2; printf '\\033[2Jclear\\n'", "two": "seq 1 5"}
DEADLINE_S = 20.0

Command = Callable[..., Result]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(tmp_path_factory.mktemp("engine") / "data") as (_, client):
        save(client, "two-steps", **STEPS)
        client.start("two-steps", run_id="printed")
        wait_for_end(client, "printed")
        yield client


@pytest.fixture
def call(server: Client) -> Command:
    """A command, as typed, on a terminal that knows colours."""

    def invoke(*words: str, color: bool = False) -> Result:
        return CliRunner().invoke(main, ["--server", server.url, *words], color=color)

    return invoke


def save(client: Client, ident: str, **commands: str) -> None:
    names = list(commands)
    steps = {
        name: {"kind": "shell", "with": {"command": command}, "needs": names[:n][-1:]}
        for n, (name, command) in enumerate(commands.items())
    }
    document = json.dumps({"id": ident, "steps": steps}).encode()
    client.apply(ident, document, "application/json")


def wait_for_end(client: Client, run: str) -> None:
    wait_until(lambda: client.run(run)["status"] not in ("running", "queued"), DEADLINE_S)


def wait_for_lines(client: Client, run: str, count: int) -> None:
    wait_until(lambda: len(list(client.all_logs(run))) == count, DEADLINE_S)


def test_each_line_says_whose_it_is_when_there_are_several_steps(call: Command) -> None:
    result = call("logs", "printed")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert sorted(lines[:3]) == ["one │ err", "one │ out", "one │ �[2Jclear"]
    assert lines[3:] == [f"two │ {n}" for n in range(1, 6)]


def test_lines_of_stderr_have_another_colour(call: Command) -> None:
    coloured = call("logs", "printed", "--step", "one", color=True).stdout.splitlines()
    assert sorted(coloured) == ["\x1b[33merr\x1b[0m", "out\x1b[0m", "�[2Jclear\x1b[0m"]


def test_one_step_and_the_last_lines_can_be_asked_for(call: Command) -> None:
    assert call("logs", "printed", "--step", "two", "--tail", "2").stdout == "4\n5\n"
    assert call("logs", "printed", "--tail", "1").stdout == "two │ 5\n"


def test_lines_as_json_have_their_number_time_and_stream(call: Command) -> None:
    items = json.loads(call("logs", "printed", "--json").stdout)["items"]
    assert [item["n"] for item in items] == list(range(1, 9))
    assert set(items[0]) == {"n", "at", "step", "attempt", "stream", "text"}
    followed = call("logs", "printed", "-f", "--json").stdout.splitlines()
    assert list(map(json.loads, followed)) == items


def test_times_can_be_shown(call: Command) -> None:
    (line,) = call("logs", "printed", "--step", "two", "--tail", "1", "--times").stdout.splitlines()
    clock, _, text = line.partition(" ")
    assert (len(clock), text) == (len("12:34:56.789"), "5")


@pytest.mark.parametrize("options", [[], ["-f"], ["--json"]])
def test_a_run_that_is_not_there_is_said_so(call: Command, options: list[str]) -> None:
    result = call("logs", "nobody", *options)
    assert result.exit_code == 7
    assert "there is no run nobody" in result.output


@contextmanager
def following(client: Client, run: str, *options: str) -> Iterator["subprocess.Popen[str]"]:
    command = [*windlass(), "--server", client.url, "logs", "-f", run, *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as started:
        try:
            yield started
        finally:
            started.kill()


def test_lines_are_followed_while_the_step_prints_them(server: Client, tmp_path: Path) -> None:
    files = [tmp_path / name for name in "ab"]
    parts = [f"echo {file.name}; while [ ! -e {file} ]; do sleep 0.01; done" for file in files]
    save(server, "follow", only=f"{'; '.join(parts)}; echo end")
    server.start("follow", run_id="followed")
    with following(server, "followed") as shown:
        assert shown.stdout is not None
        for file in files:  # each is printed before the step goes on
            assert shown.stdout.readline() == f"{file.name}\n"
            assert server.run("followed")["status"] == "running"
            file.touch()
        assert shown.stdout.readline() == "end\n"
        assert shown.wait(DEADLINE_S) == 0


def test_ctrl_c_stops_following_and_nothing_else(server: Client) -> None:
    save(server, "endless", only="echo here; while :; do sleep 1; done")
    server.start("endless", run_id="endless")
    with following(server, "endless") as shown:
        assert shown.stdout is not None and shown.stderr is not None
        assert shown.stdout.readline() == "here\n"
        shown.send_signal(signal.SIGINT)
        assert shown.wait(DEADLINE_S) == 130
        assert shown.stderr.read() == ""
    assert server.run("endless")["status"] == "running"
    server.order("endless", "cancel")


def test_lines_survive_kill_9_and_their_numbers_go_on(tmp_path: Path) -> None:
    go = tmp_path / "go"
    command = f"echo attempt $WINDLASS_ATTEMPT; while [ ! -e {go} ]; do sleep 0.01; done; echo done"
    for life in (1, 2, 3):
        with serving(tmp_path / "data") as (engine, client):
            if life == 1:
                save(client, "crashing", only=command)
                client.start("crashing", run_id="r")
            wait_for_lines(client, "r", life)
            if life < 3:
                engine.process.kill()
                engine.wait()
            else:
                go.touch()
                wait_for_end(client, "r")
                lines = list(client.all_logs("r"))
    assert [line["n"] for line in lines] == [1, 2, 3, 4]
    assert [line["attempt"] for line in lines] == [1, 2, 3, 3]
    assert [line["text"] for line in lines] == ["attempt 1", "attempt 2", "attempt 3", "done"]


def test_a_bound_can_be_raised_and_lowered_and_the_log_says_where_it_ends(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--log-lines", "3") as (_, client):
        save(client, "much", only="seq 1 1000000")
        client.start("much", run_id="r")
        wait_for_end(client, "r")
        *lines, last = client.all_logs("r")
        assert [line["text"] for line in lines] == ["1", "2", "3"]
        assert last["stream"] == "system"
        assert "`windlass up --log-lines` or `--log-bytes`" in last["text"]


def test_what_was_printed_is_kept_when_the_engine_is_asked_to_stop(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as (engine, client):
        save(client, "stopping", only="echo here; while :; do sleep 1; done")
        client.start("stopping", run_id="r")
        assert next(client.follow_logs("r"))["text"] == "here"
        assert engine.stop() == 0
    with serving(tmp_path / "data") as (_, client):
        assert [line["text"] for line in islice(client.all_logs("r"), 1)] == ["here"]


class Breaking(BaseHTTPRequestHandler):
    """Sends what it is told to and closes the link, one piece after the other."""

    pieces: list[bytes]
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(self.pieces.pop(0) if self.pieces else b"")

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def breaking(*pieces: bytes) -> Iterator[tuple[Client, list[str]]]:
    asked: list[str] = []
    handler = type("Handler", (Breaking,), {"pieces": list(pieces), "asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        now = [0.0]
        try:
            url = f"http://127.0.0.1:{server.server_address[1]}"
            with Client(url, clock=lambda: now[0], sleep=lambda s: now.__setitem__(0, now[0] + s)) as client:
                yield client, asked
        finally:
            server.shutdown()
            serving.join()


def event(n: int) -> bytes:
    data: Json = {"n": n, "text": str(n)}
    return b"id: %d\nevent: line\ndata: %b\n\n" % (n, json.dumps(data).encode())


def test_a_stream_that_breaks_is_resumed_after_the_last_line() -> None:
    pieces = [
        event(4) + event(5) + event(6)[:-1],
        b": still here\n\n",
        event(6) + b"event: end\ndata: {}\n\n",
    ]
    with breaking(*pieces) as (client, asked):
        assert [line["n"] for line in client.follow_logs("r", tail=3)] == [4, 5, 6]
    assert [("tail=3" in path, path.rpartition("after=")[2]) for path in asked] == [
        (True, "0"),
        (False, "5"),
        (False, "5"),
    ]


def test_patience_with_a_stream_that_stays_broken_comes_to_an_end() -> None:
    with breaking(event(1)) as (client, asked), pytest.raises(NotReachable, match="the stream was closed"):
        list(client.follow_logs("r"))
    assert 2 < len(asked) < 10


def test_what_cannot_be_followed_is_an_error_at_once(server: Client) -> None:
    with pytest.raises(NotFound):
        list(server.follow_logs("nobody"))


def test_events_are_read_whole_or_not_at_all() -> None:
    lines = b'id: 1\nevent: line\ndata: {"a":\ndata: 1}\n\n: hi\n\ndata: x\n\nevent: line\ndata: half\n'
    assert list(read_events(lines.splitlines(keepends=True))) == [
        Event("line", '{"a":\n1}', "1"),
        Event(""),
        Event("message", "x", "1"),
    ]
