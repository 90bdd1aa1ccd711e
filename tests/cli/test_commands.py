"""The smaller commands: delete, validate, explain, retry-stuck, completion, and lists with filters."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.cli.calls import at_terminal, command
from tests.cli.engines import environment, serving, windlass
from tests.waiting import wait_until
from windlass.cli import COMMANDS, main
from windlass.core.vocabulary import ENDED
from windlass.sdk.client import Client, new_run_id

NOOP = b"id: noop\nsteps: {a: {kind: noop}}"
WAIT = b"id: wait\nsteps: {a: {kind: wait, with: {for: 1h}}}"
UNSOUND = "id: unsound\nsteps:\n  a: {kind: shel}\n  b:\n    kind: noop\n    needs: [nobody]\n"

Command = Callable[..., Result]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(tmp_path_factory.mktemp("engine") / "data") as (_, client):
        yield client


@pytest.fixture
def call(server: Client) -> Command:
    def invoke(*words: str) -> Result:
        return CliRunner().invoke(main, ["--server", server.url, *words])

    return invoke


def apply(client: Client, workflow: str, steps: str = "{a: {kind: noop}}") -> str:
    client.apply(workflow, f"id: {workflow}\nsteps: {steps}".encode(), "application/yaml")
    return workflow


def ends(client: Client, run: str) -> None:
    wait_until(lambda: client.run(run)["status"] in ENDED)


def test_deleted_workflows_are_gone_and_their_runs_are_not(server: Client, call: Command) -> None:
    first, second = apply(server, "gone-1"), apply(server, "gone-2")
    server.start(first, run_id="of-gone")
    result = call("delete", first, second)
    assert result.exit_code == 0, result.output
    assert result.stdout == "gone-1: deleted\ngone-2: deleted\n"
    assert not {first, second} & {found["id"] for found in server.workflows()}
    wait_until(lambda: server.run("of-gone")["status"] == "succeeded")


def test_what_is_not_there_is_named_and_the_others_are_deleted(server: Client, call: Command) -> None:
    apply(server, "there")
    result = call("delete", "not-there", "there")
    assert result.exit_code == 7
    assert result.stdout == "there: deleted\n"
    assert "there is no workflow not-there" in result.stderr
    assert json.loads(call("delete", "not-there", "--json").stdout)["error"] == "not_found"


def test_delete_asks_at_a_terminal(server: Client) -> None:
    apply(server, "asked")
    words = ("--server", server.url, "delete", "asked")
    code, shown = at_terminal(*words, answers=[("Delete asked?", "n")])
    assert code == 1 and "nothing was deleted" in shown, shown
    assert "asked" in {found["id"] for found in server.workflows()}
    code, shown = at_terminal(*words, answers=[("Delete asked?", "y")])
    assert code == 0, shown
    assert "asked" not in {found["id"] for found in server.workflows()}
    apply(server, "asked")
    code, shown = at_terminal(*words, "--yes")
    assert (code, "Delete asked?" in shown) == (0, False)


def test_validate_needs_no_server_and_names_every_place(tmp_path: Path) -> None:
    sound, unsound, broken = (tmp_path / name for name in ("sound.yaml", "unsound.yaml", "broken.json"))
    sound.write_bytes(NOOP)
    unsound.write_text(UNSOUND)
    broken.write_text('{"id": "broken", "steps": {]}')
    dead = ["--server", "http://127.0.0.1:9"]
    good = CliRunner().invoke(main, [*dead, "validate", str(sound)])
    assert (good.exit_code, good.stdout) == (0, f"{sound}: sound (noop, 1 step)\n")
    bad = CliRunner().invoke(main, [*dead, "validate", str(sound), str(unsound), str(broken)])
    assert bad.exit_code == 7
    assert "sound (noop" in bad.stdout
    first, second, third, last = bad.stderr.splitlines()
    assert first.startswith(f"{unsound}:3:") and second.startswith(f"{unsound}:6:")
    assert third.startswith(f"{broken}:1:")
    assert last == "error: 2 of 3 are not sound"
    items = json.loads(CliRunner().invoke(main, ["validate", str(sound), str(unsound), "--json"]).stdout)[
        "items"
    ]
    assert [item["valid"] for item in items] == [True, False]
    assert [detail["pointer"] for detail in items[1]["details"]] == ["/steps/a/kind", "/steps/b/needs/0"]


def test_validate_says_what_apply_says(call: Command, tmp_path: Path) -> None:
    path = tmp_path / "unsound.yaml"
    path.write_text(UNSOUND)
    assert call("validate", str(path)).stderr == call("apply", str(path)).stderr


def test_what_a_server_answered_can_be_validated(server: Client, tmp_path: Path) -> None:
    apply(server, "answered")
    path = tmp_path / "answered.json"
    path.write_text(json.dumps(server.workflow("answered")))
    assert CliRunner().invoke(main, ["validate", str(path)]).exit_code == 0


def test_validate_reads_what_is_piped_in() -> None:
    result = CliRunner().invoke(main, ["validate", "-"], input=NOOP)
    assert result.stdout == "-: sound (noop, 1 step)\n"
    result = CliRunner().invoke(main, ["validate", "-"], input=b"id: x")
    assert result.exit_code == 7
    assert result.stderr.startswith("stdin:1:")


def test_runs_are_found_by_label_and_by_time(server: Client, call: Command) -> None:
    apply(server, "found")
    for n in range(3):
        server.start("found", run_id=f"found-{n}", labels={"team": "sales" if n else "law"})
        ends(server, f"found-{n}")

    def ids(*words: str) -> list[str]:
        result = call("runs", "--workflow", "found", "--json", *words)
        assert result.exit_code == 0, result.output
        return [run["id"] for run in json.loads(result.stdout)["items"]]

    assert ids("--label", "team=sales") == ["found-2", "found-1"]
    assert ids("--since", "10m") == ["found-2", "found-1", "found-0"]
    assert ids("--before", "10m") == []
    middle = server.run("found-1")["startedAt"]
    assert ids("--before", middle) == ["found-0"]
    assert ids("--since", middle)[0] == "found-2"
    assert ids("--since", (datetime.now(UTC) + timedelta(days=1)).isoformat()) == []
    assert "found-0" not in call("runs", "--label", "team=sales").stdout


def test_runs_are_found_by_the_beginning_of_their_id_or_a_part_of_their_workflow(
    server: Client, call: Command
) -> None:
    server.apply(
        "Sought.flow", b'{"id": "Sought.flow", "steps": {"a": {"kind": "noop"}}}', "application/json"
    )
    for run in ("needle-1", "needle-2", "hay-1"):
        server.start("Sought.flow", run_id=run)
    for text, found in {
        "needle": ["needle-2", "needle-1"],
        "sought.F": ["hay-1", "needle-2", "needle-1"],
    }.items():
        rows = call("runs", "--search", text).stdout.splitlines()[1:]
        assert [row.split()[0] for row in rows] == found
    assert call("runs", "--search", "NEEDLE").stdout == "no such runs\n"


def test_runs_that_wait_for_somebody_are_listed_with_what_they_wait_for(
    server: Client, call: Command
) -> None:
    for kind in ("approval", "signal", "noop"):
        body = json.dumps({"id": f"for-{kind}", "steps": {"a": {"kind": kind}}}).encode()
        server.apply(f"for-{kind}", body, "application/json")
        server.start(f"for-{kind}", run_id=f"for-{kind}-1")
    head, *rows = call("runs", "--waiting").stdout.splitlines()
    assert head.split()[-2:] == ["waits", "for"]
    waiting = {row.split()[0]: row.split()[-1] for row in rows}
    assert waiting == {"for-signal-1": "signal", "for-approval-1": "approval"}
    assert call("runs", "--waiting", "--all").stdout.splitlines()[1:] == rows
    assert call("approve", "for-approval-1", "a").exit_code == 0
    assert call("signal", "for-signal-1", "a").exit_code == 0
    assert call("runs", "--waiting").stdout == "no such runs\n"


@pytest.mark.parametrize("words", [["--since", "soon"], ["--before", "32.13.2026"], ["--label", "team"]])
def test_a_filter_that_is_none_is_a_usage_error(call: Command, words: list[str]) -> None:
    result = call("runs", *words)
    assert result.exit_code == 2
    assert "write e.g." in result.stderr


def test_all_runs_are_listed_page_by_page(
    server: Client, call: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windlass.cli.runs.PAGE", 2)
    apply(server, "many")
    started = []
    for _ in range(5):
        started.append(new_run_id())
        server.start("many", run_id=started[-1])
        ends(server, started[-1])
    listed = json.loads(call("runs", "--workflow", "many", "--all", "--json").stdout)
    assert listed["next"] is None
    assert [run["id"] for run in listed["items"]] == started[::-1]
    head, *rows = call("runs", "--workflow", "many", "--all").stdout.splitlines()
    assert head.split()[0] == "run"
    assert [row.split()[0] for row in rows] == started[::-1]
    assert json.loads(call("runs", "--workflow", "nobody", "--all", "--json").stdout)["items"] == []
    assert call("runs", "--workflow", "nobody", "--all").stdout == "no such runs\n"


def test_explain_says_why_a_run_does_not_move(server: Client, call: Command) -> None:
    steps = "{a: {kind: noop, requires: [crane]}, b: {kind: wait, with: {for: 1h}}}"
    apply(server, "unmoved", steps)
    server.start("unmoved", run_id="unmoved-1")
    wait_until(lambda: server.run("unmoved-1")["steps"][1]["status"] == "running")
    result = call("explain", "unmoved-1")
    assert result.exit_code == 0, result.output
    first, *others = result.stdout.splitlines()
    assert "crane" in first
    assert any("Step b waits until" in line for line in others)
    told = json.loads(call("explain", "unmoved-1", "--json").stdout)
    assert told["sentence"] == first
    assert {reason["kind"] for reason in told["reasons"]} >= {"capability", "wait"}
    server.order("unmoved-1", "cancel")
    assert call("explain", "nobody").exit_code == 7


def test_what_is_stuck_is_listed_and_goes_on_when_told_to(tmp_path: Path) -> None:
    data = tmp_path / "data"
    # Given two runs that an engine had set aside
    with serving(data) as (up, client):
        client.apply("wait", WAIT, "application/yaml")
        for n in (1, 2):
            client.start("wait", run_id=f"stuck-{n}")
        assert up.stop() == 0
    set_aside(data, "stuck-1", "stuck-2")
    with serving(data) as (up, client):

        def call(*words: str) -> Result:
            return CliRunner().invoke(main, ["--server", client.url, "retry-stuck", *words])

        # When they are asked for, then they are listed, with the reason
        listed = call()
        assert listed.exit_code == 0, listed.output
        assert "stuck-1" in listed.stdout and "planted" in listed.stdout
        assert [item["id"] for item in json.loads(call("--json").stdout)["items"]] == ["stuck-1", "stuck-2"]
        assert "stuck-1" in CliRunner().invoke(main, ["--server", client.url, "runs"]).stdout
        # And go on when they are told to
        assert call("stuck-1").exit_code == 0
        wait_until(lambda: client.run("stuck-1")["status"] == "running")
        again = call("--all", "--json")
        assert again.exit_code == 0, again.output
        wait_until(lambda: client.run("stuck-2")["status"] == "running")
        assert call().stdout == call("--all").stdout == "nothing is stuck\n"
        assert call("nobody").exit_code == 7
        assert call("stuck-1", "--all").exit_code == 2


def set_aside(data: Path, *runs: str) -> None:
    """As an engine does with a run that it can neither read nor decide."""
    with closing(sqlite3.connect(data / "windlass.db")) as cx, cx:
        for n, run in enumerate(runs):
            (shard, hash32) = cx.execute("SELECT shard, hash FROM runs WHERE id = ?", (run,)).fetchone()
            row = (shard, f"run/default/{run}", hash32, "default", float(n), "planted by a test")
            cx.execute("INSERT INTO stuck VALUES (?, ?, ?, ?, ?, ?)", row)
            cx.execute("UPDATE runs SET status = 'stuck', error = 'planted' WHERE id = ?", (run,))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_that_the_shell_can_read(shell: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0
    assert "_WINDLASS_COMPLETE" in result.stdout
    program = shutil.which(shell)
    if program is not None:  # without that shell there is nobody who could misread it
        (tmp_path / "script").write_text(result.stdout)
        subprocess.run([program, "-n", str(tmp_path / "script")], check=True)


def complete(*words: str, env: dict[str, str] | None = None) -> dict[str, str]:
    """What a shell hears that asks how to go on after these words: value → kind."""
    asked = {
        "_WINDLASS_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["windlass", *words]),
        "COMP_CWORD": str(len(words)),
    }
    program = str(Path(sys.executable).parent / "windlass")
    done = subprocess.run(
        [program], capture_output=True, text=True, env=environment({**asked, **(env or {})}), timeout=30
    )
    assert not done.stderr
    pairs = [line.split(",", 1) for line in done.stdout.splitlines() if line]
    return {value: kind for kind, value in pairs}


def test_a_shell_completes_commands_options_files_and_ids(server: Client) -> None:
    apply(server, "complete-me")
    server.start("complete-me", run_id="complete-run")
    env = {"WINDLASS_URL": server.url}
    assert set(complete("re", env=env)) == {
        *("reject", "release", "rerun", "resume", "retry-stuck", "restore"),
    }
    assert "--label" in complete("runs", "--la", env=env)
    assert complete("apply", "x", env=env) == {"x": "file"}
    assert "complete-me" in complete("delete", "comp", env=env)
    assert complete("run", "comp", env=env) == {"comp": "file", "complete-me": "plain"}
    assert "complete-run" in complete("show", "complete-r", env=env)


def test_a_shell_hears_nothing_bad_when_no_engine_answers() -> None:
    assert complete("show", "x", env={"WINDLASS_URL": "http://127.0.0.1:9"}) == {}


def test_the_commands_come_with_an_example_each() -> None:
    for name in COMMANDS:
        text = CliRunner().invoke(main, [name, "--help"]).stdout
        assert f"windlass {name}" in text.partition("Example")[2], name


def test_each_command_and_each_exit_code_is_in_the_manual() -> None:
    manual = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    assert not [name for name in COMMANDS if f"`{name}" not in manual]
    codes = CliRunner().invoke(main, ["--help"]).stdout.partition("Exit codes:")[2].split("\n  ")
    assert not [line for line in codes[1:] if f"| {line.split()[0]} |" not in manual]


def test_progress_is_shown_at_a_terminal_and_nowhere_else(server: Client, tmp_path: Path) -> None:
    files = []
    for n in range(5):
        files.append(tmp_path / f"bulk-{n}.yaml")
        files[-1].write_text(f"id: bulk-{n}\nsteps: {{a: {{kind: noop}}}}")
    quiet = command("--server", server.url, "apply", *files)
    assert quiet.stdout.splitlines() == [f"bulk-{n}: created" for n in range(5)]
    assert not quiet.stderr
    code, shown = at_terminal("--server", server.url, "apply", *files)
    assert code == 0, shown
    assert "saving" in shown and "5/5" in shown
    assert all(f"bulk-{n}" in shown for n in range(5))
    code, shown = at_terminal("--server", server.url, "apply", *files, "--json")
    assert "saving" not in shown


def test_ctrl_c_ends_a_command_with_its_code_and_one_line(tmp_path: Path) -> None:
    # Given a command that reads from a pipe to which nobody writes
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    with (
        subprocess.Popen(
            [*windlass(), "validate", str(pipe)], stderr=subprocess.PIPE, text=True, env=environment()
        ) as process,
        writer_of(pipe),
    ):
        # A signal that comes just before the read begins would not end it: the read must have begun.
        wait_until(lambda: waits_for(process.pid, pipe))
        # When
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    # Then
    assert process.returncode == 130
    assert said.splitlines() == ["error: interrupted"]


def waits_for(pid: int, pipe: Path) -> bool:
    """Whether the process has opened the pipe and sleeps: it has begun to read."""
    with suppress(OSError):
        opened = [os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()]
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return str(pipe) in opened and state == "S"
    return False


@contextmanager
def writer_of(pipe: Path) -> Iterator[None]:
    """The other end of a pipe, which can be opened as soon as somebody reads."""
    opened: list[int] = []

    def is_read() -> bool:
        with suppress(OSError):
            opened.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        return bool(opened)

    wait_until(is_read, 20)
    try:
        yield
    finally:
        os.close(opened[0])


def test_ctrl_c_at_a_question_is_no(server: Client) -> None:
    apply(server, "kept")
    code, shown = at_terminal("--server", server.url, "delete", "kept", answers=[("Delete kept?", "\x03")])
    assert code == 130, shown
    assert "kept" in {found["id"] for found in server.workflows()}
