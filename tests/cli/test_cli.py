"""The commands against a running engine."""

import importlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from tests.cli.engines import environment, serving, windlass
from tests.waiting import wait_until
from windlass.cli import COMMANDS, main
from windlass.sdk.client import Client, new_run_id

OUTCOMES = {
    "succeeded": "steps: {a: {kind: noop, with: {value: 7}}}",
    "failed": "steps: {a: {kind: shell, with: {command: 'echo no >&2; exit 3'}}}",
    "partial_success": "steps: {a: {kind: shell, with: {command: 'exit 1'}, on_failure: skip}}",
    "waiting": "steps: {a: {kind: wait, with: {for: 1h}}}",
}

# Commands that work on this machine, with the journal itself; the others only talk to an engine.
BESIDE_THE_JOURNAL = {"up", "backup", "restore", "doctor"}

Command = Callable[..., Result]
Save = Callable[[str, str], Path]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(tmp_path_factory.mktemp("engine") / "data") as (_, client):
        yield client


@pytest.fixture
def call(server: Client) -> Command:
    """A command, as typed, at the running engine."""

    def invoke(*words: str) -> Result:
        return CliRunner().invoke(main, ["--server", server.url, *words])

    return invoke


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """A workflow of that id in a file of its own."""

    def write(ident: str, steps: str) -> Path:
        path = tmp_path / f"{ident}.yaml"
        path.write_text(f"id: {ident}\n{steps}\n")
        return path

    return write


@pytest.mark.parametrize(("outcome", "code"), [("succeeded", 0), ("failed", 1), ("partial_success", 4)])
def test_the_exit_code_says_how_the_run_ended(call: Command, save: Save, outcome: str, code: int) -> None:
    result = call("run", str(save(f"ends-{outcome}", OUTCOMES[outcome])))
    assert result.exit_code == code, result.output
    assert outcome in result.stdout
    assert not result.stderr


def test_a_failed_run_says_which_step_and_why(call: Command, save: Save) -> None:
    result = call("run", str(save("why", OUTCOMES["failed"])))
    assert "✗ a" in result.stdout
    assert "ExitCode" in result.stdout


def test_a_cancelled_run_ends_with_its_own_code(call: Command, save: Save) -> None:
    # Given a run that waits, and was cancelled
    document = str(save("cancelled", OUTCOMES["waiting"]))
    run = call("run", document, "--detach", "--run-id", "to-cancel").stdout.split()[-1]
    assert run == "to-cancel"
    assert call("cancel", run, "--reason", "enough").exit_code == 0
    # When it is watched: the same id starts nothing new
    result = call("run", document, "--run-id", run)
    # Then
    assert result.exit_code == 3, result.output
    assert "enough" in result.stdout


def test_a_run_is_not_waited_for_longer_than_asked_and_goes_on(call: Command, save: Save) -> None:
    result = call("run", str(save("slow", OUTCOMES["waiting"])), "--run-id", "slow-1", "--timeout", "100ms")
    assert result.exit_code == 6
    assert "the run goes on: look with `windlass show slow-1`" in result.stderr
    assert json.loads(call("show", "slow-1", "--json").stdout)["status"] == "running"


def test_ctrl_c_leaves_the_run_going_and_says_so(server: Client, save: Save) -> None:
    path = save("interrupted", OUTCOMES["waiting"])
    command = [*windlass(), "--server", server.url, "run", str(path), "--run-id", "interrupted-1"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as watching:
        try:
            assert watching.stdout is not None
            # Lines come as things happen; this one when the wait has begun.
            assert any("waits until" in line for line in watching.stdout)
            watching.send_signal(signal.SIGINT)
            _, said = watching.communicate(timeout=20)
        finally:
            watching.kill()
    assert watching.returncode == 130
    assert "the run goes on" in said
    assert "Traceback" not in said
    assert server.run("interrupted-1")["status"] == "running"


def test_the_same_run_id_starts_once(call: Command, save: Save) -> None:
    document = str(save("once", OUTCOMES["succeeded"]))
    first, again = (
        json.loads(call("run", document, "--run-id", "once-1", "--json").stdout) for _ in range(2)
    )
    assert first == again
    other = call("run", document, "--run-id", "once-1", "-i", "x=1")
    assert other.exit_code == 7
    assert len(json.loads(call("runs", "--workflow", "once", "--json").stdout)["items"]) == 1


def test_values_are_json_where_they_read_as_json(call: Command, save: Save) -> None:
    words = ["-i", "n=5", "-i", 'list=[1, "a"]', "-i", "text=5 o'clock", "-i", "eq=a=b", "-i", "nan=NaN"]
    labels = ["--label", "team=7", "-c", "shared=true"]
    result = call("run", str(save("values", OUTCOMES["succeeded"])), "--json", *words, *labels)
    seen = json.loads(result.stdout)
    assert seen["input"] == {"n": 5, "list": [1, "a"], "text": "5 o'clock", "eq": "a=b", "nan": "NaN"}
    assert seen["labels"] == {"team": "7"}
    assert seen["context"] == {"shared": True}


def test_apply_says_what_it_did(call: Command, save: Save) -> None:
    path = str(save("applied", OUTCOMES["succeeded"]))
    assert call("apply", path).stdout == "applied: created\n"
    assert call("apply", path).stdout == "applied: unchanged (version 1)\n"
    save("applied", OUTCOMES["failed"])
    assert call("apply", path).stdout == "applied: version 2\n"


def test_an_unsound_document_is_refused_with_every_place(call: Command, save: Save) -> None:
    path = save("unsound", "steps:\n  a: {kind: shel}\n  b:\n    kind: noop\n    needs: [nobody]")
    result = call("apply", str(path))
    assert result.exit_code == 7
    first, second, last = result.stderr.splitlines()
    assert first.startswith(f"{path}:3:")
    assert second.startswith(f"{path}:6:")
    assert "nobody" in second
    assert last.startswith("error: ")


def test_text_that_is_no_yaml_is_refused_with_its_place(call: Command, tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("id: broken\nsteps: {a: [}\n")
    result = call("run", str(path))
    assert result.exit_code == 7
    assert result.stderr.startswith(f"{path}:2:")


def test_the_places_of_faults_are_there_for_programs(call: Command, save: Save) -> None:
    path = save("unsound", "steps: {a: {kind: shel}}")
    (detail,) = json.loads(call("apply", str(path), "--json").stdout)["details"]
    assert (detail["file"], detail["line"], detail["pointer"]) == (str(path), 2, "/steps/a/kind")


@pytest.mark.parametrize(
    "words",
    [[name, "nobody"] for name in ("show", "events", "cancel", "run", "delete", "graph", "explain")],
    ids=lambda words: words[0],
)
def test_what_is_not_there_is_refused_in_one_line(call: Command, words: list[str]) -> None:
    result = call(*words)
    assert result.exit_code == 7
    assert result.stderr.startswith("error: ")
    assert len(result.stderr.splitlines()) == 1
    assert "nobody" in result.stderr


def test_a_file_that_is_not_there_is_a_usage_error(call: Command) -> None:
    result = call("run", "missing.yaml")
    assert result.exit_code == 2
    assert "missing.yaml cannot be read: No such file or directory" in result.stderr


@pytest.mark.parametrize(
    "words", [["run", "x", "-i", "novalue"], ["run", "x", "--timeout", "soon"], ["walk"]]
)
def test_what_is_not_understood_is_a_usage_error(call: Command, words: list[str]) -> None:
    assert call(*words).exit_code == 2


def test_a_server_that_does_not_answer_is_named_with_the_next_step() -> None:
    result = CliRunner().invoke(main, ["--server", "http://127.0.0.1:9", "runs"])
    assert result.exit_code == 5
    advice = "start one with `windlass up`, or name another with --server"
    assert (
        result.stderr == f"error: no Windlass answers at http://127.0.0.1:9: {advice} (connection refused)\n"
    )
    assert not result.stdout


def test_the_server_can_be_named_by_the_environment(server: Client) -> None:
    result = CliRunner().invoke(main, ["runs", "--json"], env={"WINDLASS_URL": server.url})
    assert result.exit_code == 0
    assert "items" in json.loads(result.stdout)


def test_every_command_prints_bare_json(call: Command, save: Save) -> None:
    document = str(save("as-json", OUTCOMES["waiting"]))
    call("run", document, "--run-id", "as-json-1", "--detach")
    commands: list[list[str]] = [
        ["version"],
        ["apply", document],
        ["workflows"],
        ["runs"],
        ["show", "as-json-1"],
        ["events", "as-json-1"],
        ["pause", "as-json-1"],
        ["resume", "as-json-1"],
        ["cancel", "as-json-1"],
        ["run", document, "--run-id", "as-json-1"],
        ["run", document, "--detach"],
        ["validate", document],
        ["graph", document],
        ["graph", "as-json-1", "--mermaid"],
        ["explain", "as-json-1"],
        ["retry-stuck"],
        ["completion", "bash"],
        ["backup", "somewhere", "--data", "nowhere"],
        ["runs", "--all"],
        ["show", "nobody"],
        ["delete", "nobody"],
    ]
    for words in commands:
        for placed in ([*words, "--json"], ["--json", *words]):
            result = call(*placed)
            assert isinstance(json.loads(result.stdout), dict | list), placed
            assert not result.stderr, placed


def test_a_run_can_be_paused_and_goes_on(call: Command, save: Save) -> None:
    call("run", str(save("paused", OUTCOMES["waiting"])), "--run-id", "paused-1", "--detach")
    assert call("pause", "paused-1").stdout == "paused-1: paused\n"
    assert call("resume", "paused-1").stdout == "paused-1: running\n"
    assert call("cancel", "paused-1").stdout == "paused-1: cancelled\n"
    assert call("resume", "paused-1").exit_code == 7


def test_lists_are_plain_columns_where_there_is_no_terminal(call: Command, save: Save) -> None:
    run = new_run_id()
    call("run", str(save("listed", OUTCOMES["succeeded"])), "--run-id", run)
    head, row = call("runs", "--workflow", "listed").stdout.splitlines()
    assert head.split() == ["run", "workflow", "status", "started", "took"]
    assert row.split()[:4] == [run, "listed", "v1", "succeeded"]
    assert "\x1b" not in row
    assert "listed" in call("workflows").stdout
    assert "RunEnded" in call("events", run).stdout
    assert "succeeded" in call("show", run).stdout


def test_pages_of_a_list_follow_each_other(call: Command, save: Save) -> None:
    document = str(save("paged", OUTCOMES["succeeded"]))
    started = [json.loads(call("run", document, "--json").stdout)["id"] for _ in range(3)]
    first = json.loads(call("runs", "--workflow", "paged", "--limit", "2", "--json").stdout)
    rest = json.loads(call("runs", "--workflow", "paged", "--after", first["next"], "--json").stdout)
    assert [run["id"] for run in [*first["items"], *rest["items"]]] == started[::-1]


def test_progress_shows_retries_and_what_comes_of_them(call: Command, save: Save) -> None:
    steps = "steps: {a: {kind: shell, with: {command: 'exit 1'}, retry: {attempts: 2, backoff: 10ms}}}"
    result = call("run", str(save("retried", steps)))
    assert "attempt 1: ExitCode" in result.stdout
    assert "tries again" in result.stdout
    assert result.exit_code == 1


def test_events_come_while_the_run_goes_on(server: Client, save: Save) -> None:
    """The line of a step is printed when the step ends, not when the run does."""
    steps = "steps: {a: {kind: noop}, b: {kind: wait, needs: [a], with: {for: 1h}}}"
    command = [*windlass(), "--server", server.url, "run", str(save("live", steps)), "--run-id", "live-1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as watching:
        try:
            assert watching.stdout is not None
            lines: Iterator[str] = iter(watching.stdout)
            assert any("✓ a" in line for line in lines)
            server.order("live-1", "cancel")
            assert any("cancelled" in line for line in lines)
            wait_until(lambda: watching.poll() is not None)
        finally:
            watching.kill()
    assert watching.returncode == 3


def test_asking_an_engine_needs_nothing_of_an_engine() -> None:
    """The commands start quickly because they import little."""
    code = "import sys; from windlass.cli import main\n"
    code += "for name in sys.argv[1:]: main.get_command(None, name)\n"
    code += "print(*sys.modules)"
    names = [name for name in COMMANDS if name not in BESIDE_THE_JOURNAL]
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=True)
    assert not {"aiohttp", "asyncio", "sqlite3", "uvloop"} & set(done.stdout.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_they_say_themselves(name: str) -> None:
    place, text = COMMANDS[name]
    module, _, attribute = place.partition(":")
    command: Any = getattr(importlib.import_module(module), attribute)
    assert isinstance(command, click.Command)
    assert command.name == name
    assert command.get_short_help_str(limit=200) == text
    assert CliRunner().invoke(main, [name, "--help"]).exit_code == 0


def test_what_a_step_says_does_not_steer_the_terminal(call: Command, save: Save) -> None:
    steps = r"""steps: {a: {kind: shell, with: {command: "printf '\\033[2J\\233gone' >&2; exit 1"}}}"""
    run = new_run_id()
    shown = [call("run", str(save("evil", steps)), "--run-id", run), call("show", run), call("events", run)]
    for result in shown:
        assert "gone" in result.stdout
        assert not {"\x1b", "\x9b"} & set(result.stdout)


def test_help_documents_the_exit_codes() -> None:
    for words in (["--help"], ["run", "--help"]):
        text = CliRunner().invoke(main, words).stdout
        assert "6  --timeout passed; the run goes on" in text
