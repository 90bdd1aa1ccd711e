"""Shell steps: programs, their surroundings, and what they leave."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.worker.rig import a_task, play, shell, working
from windlass.core.task import Failure, Outcome, Success, Task


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go; every test checks that none is left."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def outcome_of(folder: Path, task: Task) -> Outcome:
    outcomes: list[Outcome] = []

    async def story() -> None:
        async with working(folder) as rig:
            outcomes.append(await rig.run(task))

    play(story())
    assert list((folder / "scratch").iterdir()) == []
    return outcomes[0]


def value_of(folder: Path, task: Task) -> Any:
    outcome = outcome_of(folder, task)
    assert isinstance(outcome, Success), outcome
    return outcome.value


def failure_of(folder: Path, task: Task) -> Failure:
    outcome = outcome_of(folder, task)
    assert isinstance(outcome, Failure), outcome
    return outcome


def test_a_program_runs_with_its_arguments_in_the_data_folder(tmp_path: Path) -> None:
    script = tmp_path / "publish.sh"
    script.write_text('#!/bin/sh\necho "$@"; pwd >&2')
    script.chmod(0o755)
    task = a_task("shell", {"argv": ["./publish.sh", "--all", "a b", 5, True]})
    assert value_of(tmp_path, task) == {
        "exitCode": 0,
        "stdout": "--all a b 5 true\n",
        "stderr": f"{tmp_path}\n",
    }


def test_a_command_goes_through_the_shell_with_env_cwd_and_stdin(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    task = shell('echo "$GREETING $(cat) $(basename $PWD)"', env={"GREETING": "hé"}, cwd="sub", stdin="you\n")
    assert value_of(tmp_path, task)["stdout"] == "hé you sub\n"


@pytest.mark.accepts("S2.12")
def test_a_program_finds_its_run_and_context_and_can_change_the_context(tmp_path: Path) -> None:
    command = (
        'echo "$WINDLASS_RUN $WINDLASS_WORKFLOW $WINDLASS_STEP $WINDLASS_ATTEMPT"; cat "$WINDLASS_INPUT"; '
        'test -e "$WINDLASS_CONTEXT" || echo \'{"rows": 3}\' > "$WINDLASS_CONTEXT"'
    )
    given: dict[str, Any] = {"input": [1], "context": {"a": 1}, "parents": {"fetch": {"status": 200}}}
    task = a_task("shell", {"command": command}, **given)
    outcome = outcome_of(tmp_path, task)
    assert isinstance(outcome, Success)
    first, second = outcome.value["stdout"].split("\n", 1)
    assert first == f"run-1 nightly {task.step} 1"
    assert json.loads(second) == given
    assert outcome.context == {"rows": 3}


def test_a_program_does_not_see_the_secrets_of_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDLASS_JOURNAL", "postgresql://user:secret@host")
    monkeypatch.setenv("LC_TIME", "C")
    lines = value_of(tmp_path, shell("env"))["stdout"].splitlines()
    assert f"PATH={os.environ['PATH']}" in lines
    assert "LC_TIME=C" in lines
    assert not any("secret" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{oops", "does not hold JSON"),
        ("[1]", "must hold a JSON object, not list"),
        ("", "does not hold JSON"),
    ],
)
def test_a_bad_context_file_fails_the_step_and_says_so(tmp_path: Path, text: str, words: str) -> None:
    failure = failure_of(tmp_path, shell(f"printf '%s' '{text}' > $WINDLASS_CONTEXT"))
    assert (failure.type, failure.retryable) == ("BadContext", False)
    assert words in failure.message


@pytest.mark.accepts("S2.14")
def test_a_nonzero_exit_fails_with_the_end_of_stderr(tmp_path: Path) -> None:
    failure = failure_of(tmp_path, shell("echo first >&2; echo 'disk full' >&2; exit 7"))
    assert (failure.type, failure.message, failure.retryable) == (
        "ExitCode",
        "exited with 7: disk full",
        True,
    )
    assert failure.detail == "first\ndisk full\n"


def test_a_program_killed_by_a_signal_fails_with_its_name(tmp_path: Path) -> None:
    failure = failure_of(tmp_path, shell("kill -TERM $$"))
    assert (failure.type, failure.message) == ("ProcessDied", "was killed by SIGTERM")


@pytest.mark.parametrize(
    ("with_", "words"),
    [
        ({"argv": ["no-such-program"]}, "'no-such-program' not found in PATH"),
        ({"argv": ["./none.sh"]}, "'./none.sh' not found in /"),
        ({"argv": ["./plain.txt"]}, "not executable"),
        ({"argv": ["./bare.sh"]}, "#! line"),
        ({"command": "true", "cwd": "nowhere"}, "nowhere: No such file or directory"),
        ({}, "either argv (a list) or command"),
        ({"argv": ["a"], "command": "b"}, "either argv (a list) or command"),
        ({"argv": "ls -l"}, "$.argv"),
        ({"argv": ["a\0b"]}, "NUL"),
        ({"command": "true", "env": {"A=B": "c"}}, "'='"),
        ({"comand": "true"}, "`comand`"),
    ],
)
def test_what_cannot_be_started_is_said_clearly_and_not_retried(
    tmp_path: Path, with_: dict[str, Any], words: str
) -> None:
    (tmp_path / "plain.txt").write_text("text")
    (tmp_path / "bare.sh").write_text("echo no first line")
    (tmp_path / "bare.sh").chmod(0o755)
    failure = failure_of(tmp_path, a_task("shell", with_))
    assert not failure.retryable
    assert words in failure.message


def test_long_output_is_cut_and_says_so(tmp_path: Path) -> None:
    value = value_of(tmp_path, shell("head -c 3000000 /dev/zero | tr '\\0' x; echo end; echo short >&2"))
    mark, text = value["stdout"].split("\n", 1)
    assert mark == f"[{3000004 - 1048576} bytes cut]"
    assert len(text) == 1048576
    assert text.endswith("xend\n")
    assert value["stderr"] == "short\n"


def test_output_that_is_not_text_is_replaced_where_it_is_not(tmp_path: Path) -> None:
    assert value_of(tmp_path, shell("printf 'a\\377b'"))["stdout"] == "a\ufffdb"


def test_a_pipe_that_breaks_ends_the_writer_quietly(tmp_path: Path) -> None:
    # Python ignores SIGPIPE; the programs it starts must not.
    assert value_of(tmp_path, shell("yes | head -n 1"))["stderr"] == ""


def test_a_large_stdin_arrives_whole(tmp_path: Path) -> None:
    assert value_of(tmp_path, shell("wc -c", stdin="x" * 3_000_000))["stdout"].strip() == "3000000"
