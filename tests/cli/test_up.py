"""`windlass up` as users start it: a process that starts, says so, and stops when it is told to."""

import json
import signal
import socket
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tests.cli.engines import engine, environment, serving
from tests.waiting import wait_until
from windlass.core import document, sharding
from windlass.core.vocabulary import ENDED
from windlass.gateway import text
from windlass.sdk.client import Client, new_run_id

NOOP = b"id: noop\nsteps: {a: {kind: noop}}"
SLEEP = b"id: sleep\nsteps: {a: {kind: shell, with: {argv: [sleep, '600']}}}"
WAIT = b"id: wait\nsteps: {a: {kind: wait, with: {for: 1h}}}"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def start(client: Client, body: bytes, workflow: str, **options: Any) -> str:
    client.apply(workflow, body, "application/yaml")
    run: str = options.pop("run_id", new_run_id())
    client.start(workflow, run_id=run, **options)
    return run


def ends_as(client: Client, run: str, status: str) -> dict[str, Any]:
    wait_until(lambda: client.run(run)["status"] in ENDED, 30)
    seen: dict[str, Any] = client.run(run)
    assert seen["status"] == status, seen
    return seen


def is_at_work(client: Client, run: str, step: int = 0) -> bool:
    return bool(client.run(run)["steps"][step]["status"] == "running")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_from_nothing_to_a_run_and_a_clean_stop(data: Path, number: int) -> None:
    with serving(data) as (up, client):
        ends_as(client, start(client, NOOP, "noop"), "succeeded")
        assert up.stop(number) == 0
        assert not up.err
    assert (data / "windlass.db").exists()


def test_people_are_told_where_it_is_and_what_to_try(tmp_path: Path) -> None:
    with engine("--port", "0", "--examples", cwd=tmp_path) as up:
        wait_until(lambda: "ran hello: succeeded" in up.says or up.ended, 30)
        assert up.stop() == 0
    said = "".join(up.out)
    assert "is ready at http://127.0.0.1:" in said
    assert "open to every program on this machine, without a login" in said
    assert "data  .windlass" in said
    assert " run nightly-report" in said
    assert " show RUN" in said
    assert "Ctrl-C" in said
    assert "fan-out, hello, nightly-report, ten-steps" in said
    assert not up.err
    assert (tmp_path / ".windlass" / "windlass.db").exists()


@pytest.mark.accepts("S0.68")
@pytest.mark.usefixtures("usual_ports")
def test_one_command_with_a_port_starts_a_whole_engine(data: Path) -> None:
    with engine("--data", str(data), "--port", "2551", cwd=data.parent) as up:
        wait_until(lambda: "is ready at http://127.0.0.1:2551" in up.says or up.ended, 30)
        with Client("http://127.0.0.1:2551") as client:
            ends_as(client, start(client, NOOP, "noop"), "succeeded")
        assert up.stop() == 0


@pytest.mark.accepts("S2.2")
def test_a_single_node_is_whole_by_itself(data: Path) -> None:
    """Nobody else is named, by option or variable; still every shard has its owner, and takes runs."""
    with serving(data, "--shards", "10") as (up, client):
        assert client.ready()
        runs = [start(client, NOOP, "noop", run_id=f"run-{n}") for n in range(50)]
        assert {sharding.of(run, 10) for run in runs} == set(range(10))
        for run in runs:
            ends_as(client, run, "succeeded")
        assert up.stop() == 0


def test_what_was_at_work_goes_on_after_a_clean_stop(data: Path) -> None:
    body = b"""
id: resumed
steps:
  first: {kind: noop}
  second: {kind: shell, needs: [first], with: {command: "test -e go || sleep 600"}}
"""
    # Given an engine that was stopped while a step was running
    with serving(data) as (up, client):
        run = start(client, body, "resumed")
        wait_until(lambda: is_at_work(client, run, step=1))
        assert up.stop() == 0
    (data / "go").touch()
    # When it is started again
    with serving(data) as (up, client):
        assert up.ready()["recovered"] == 1
        # Then the run goes on where it was
        ends_as(client, run, "succeeded")
        ends = [event["step"] for event in client.all_events(run) if event["type"] == "StepSucceeded"]
        assert ends == ["first", "second"]
        assert up.stop() == 0


def test_a_second_ctrl_c_stops_at_once(data: Path) -> None:
    with serving(data, "--log", "json") as (up, client):
        run = start(client, SLEEP, "sleep")
        wait_until(lambda: is_at_work(client, run))
        up.process.send_signal(signal.SIGINT)
        wait_until(lambda: "stopping" in up.says)
        assert up.stop() == 130
        assert "Traceback" not in up.says


def test_steps_that_end_soon_may_end_when_it_is_stopped(data: Path) -> None:
    body = b"id: short\nsteps: {a: {kind: shell, with: {command: 'until test -e go; do sleep 0.01; done'}}}"
    with serving(data, "--log", "json") as (up, client):
        run = start(client, body, "short")
        wait_until(lambda: is_at_work(client, run))
        up.process.send_signal(signal.SIGINT)
        wait_until(lambda: "stopping" in up.says)
        (data / "go").touch()
        assert up.wait() == 0
    with serving(data) as (up, client):
        assert up.ready()["recovered"] == 0
        ends_as(client, run, "succeeded")


def test_a_taken_port_says_by_whom_and_what_to_do(data: Path, tmp_path: Path) -> None:
    with serving(tmp_path / "first") as (first, client):
        port = client.url.rpartition(":")[2]
        with engine("--data", str(data), "--port", port, cwd=tmp_path) as second:
            assert second.wait() == 1
    (line,) = second.err
    assert line.startswith(f"error: port {port} on 127.0.0.1 is taken by pid {first.pid} (")
    assert "--port" in line


def test_a_second_engine_on_the_same_data_is_refused_in_one_line(data: Path) -> None:
    with serving(data) as (first, client):
        with engine("--data", str(data), "--port", "0", cwd=data.parent) as second:
            assert second.wait() == 1
        (line,) = second.err
        assert line.startswith("error: ")
        assert str(data / "windlass.db") in line
        # The first one does not mind.
        ends_as(client, start(client, NOOP, "noop"), "succeeded")
        assert first.stop() == 0


def test_the_number_of_shards_is_written_once(data: Path) -> None:
    with serving(data, "--shards", "7") as (up, _):
        assert up.stop() == 0
    with engine("--data", str(data), "--port", "0", "--shards", "8", cwd=data.parent) as up:
        assert up.wait() == 1
    (line,) = up.err
    assert "was made with 7 shards, and 8 are asked for" in line
    with serving(data, "--shards", "7") as (_, client):
        assert client.ready()


def test_a_data_folder_that_cannot_be_made_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with engine("--data", str(tmp_path / "file" / "data"), "--port", "0", cwd=tmp_path) as up:
        assert up.wait() == 1
    (line,) = up.err
    assert "cannot be made: Not a directory" in line


def test_options_can_be_given_by_the_environment(tmp_path: Path) -> None:
    env = {"WINDLASS_PORT": "0", "WINDLASS_DATA": str(tmp_path / "elsewhere"), "WINDLASS_SLOTS": "2"}
    with engine("--json", cwd=tmp_path, env=env) as up:
        assert up.ready()["data"] == env["WINDLASS_DATA"]


def test_the_log_can_be_read_by_programs(data: Path) -> None:
    with serving(data, "--log", "json") as (up, client):
        start(client, WAIT, "wait")
        assert up.stop() == 0
    with serving(data, "--log", "json", "-v") as (up, _):
        assert up.stop() == 0
    lines = [json.loads(line) for line in up.err]
    assert all({"at", "level", "logger", "message"} <= line.keys() for line in lines)
    assert [line["message"] for line in lines][-2:] == ["stopping", "stopped"]
    (ready,) = [line for line in lines if line["message"] == "ready"]
    assert ready["url"].startswith("http://127.0.0.1:")


def test_python_steps_find_their_functions_in_the_app(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "sums.py").write_text("def add(a, b):\n    return a + b\n")
    body = b"id: sums\nsteps: {a: {kind: python, with: {call: 'sums:add', args: {a: 2, b: 3}}}}"
    with serving(data, "--app", str(folder / "sums.py")) as (up, client):
        assert ends_as(client, start(client, body, "sums"), "succeeded")["output"] == {"a": 5}
        assert up.stop() == 0


def test_an_app_that_is_not_there_is_a_usage_error(data: Path) -> None:
    with engine("--data", str(data), "--app", "no_such_module", cwd=data.parent) as up:
        assert up.wait() == 2
    assert "there is no module, file or folder 'no_such_module' here" in up.says


def test_a_step_meets_the_capability_it_requires(data: Path) -> None:
    body = b"id: needs\nsteps: {a: {kind: noop, requires: [gpu]}}"
    with serving(data, "--capability", "gpu") as (up, client):
        ends_as(client, start(client, body, "needs"), "succeeded")
        assert up.stop() == 0


def test_nobody_listens_after_it_has_stopped(data: Path) -> None:
    with serving(data) as (up, client):
        port = int(client.url.rpartition(":")[2])
        assert up.stop() == 0
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", port)) != 0


def documents() -> list[str]:
    found = (place.name for place in resources.files("windlass.examples").iterdir())
    return sorted(name for name in found if name.endswith(".yaml"))


@pytest.mark.parametrize("name", documents())
def test_every_example_is_sound_and_named_after_its_file(name: str) -> None:
    body = (resources.files("windlass.examples") / name).read_bytes()
    definition = document.read(text.parse(body, kind="yaml").document)
    assert f"{definition.id}.yaml" == name


def test_the_examples_end_as_they_say(data: Path) -> None:
    outcomes = {"hello": "succeeded", "fan-out": "succeeded", "nightly-report": "partial_success"}
    with serving(data) as (up, client):
        runs = {}
        for name in outcomes:
            body = (resources.files("windlass.examples") / f"{name}.yaml").read_bytes()
            runs[name] = start(client, body, name, input={"name": "Ada"})
        seen = {name: ends_as(client, runs[name], outcome) for name, outcome in outcomes.items()}
        assert seen["fan-out"]["output"] == {"gather": sum(n * n for n in range(1, 21))}
        assert seen["hello"]["context"] == {"greeted": "Ada"}
        assert seen["nightly-report"]["context"] == {"total": 410}
        assert up.stop() == 0


def test_the_demonstration_holds() -> None:
    command = [sys.executable, "-m", "windlass.demo"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "HELD: " in done.stdout
    assert not done.stderr
