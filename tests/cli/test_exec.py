"""`windlass exec`: a program that runs in a sandbox somewhere, as if it ran here."""

import base64
import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from tests.cli.calls import at_terminal
from tests.cli.engines import engine, environment, windlass
from tests.sdk.servers import answering
from tests.waiting import wait_until
from windlass.cli import code_files, exec_ending, main
from windlass.sdk.client import Client
from windlass.worker.languages import ours

# A language whose compiler talks to stdout, and refuses what is bad.
LANGUAGES = """
[[language]]
name = "talkative"
file = "main.txt"
programs.sh = ["sh"]
version = ["{sh}", "-c", "echo 1.0"]
compile = ["{sh}", "-c", "echo compiling; cp main.txt made; ! grep -q bad made || ! echo error: bad"]
makes = ["made"]
run = ["{sh}", "-c", "cat made; echo ran >&2"]
"""
ENDLESS = "echo here; while :; do sleep 1; done"

Command = Callable[..., Result]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("engine")
    (folder / "languages.toml").write_text(LANGUAGES)
    options = (
        "--data",
        "data",
        "--json",
        "--port",
        "0",
        "--allow-unsandboxed",
        "--languages",
        "languages.toml",
    )
    with (
        engine(*options, cwd=folder, env={"WINDLASS_NO_CODE": "false"}) as started,
        Client(started.ready()["url"]) as client,
    ):
        yield client


@pytest.fixture
def call(server: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command, as typed in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def invoke(*words: str, input: str | None = None) -> Result:
        return CliRunner().invoke(main, ["--server", server.url, "exec", *words], input=input)

    return invoke


def save(name: str, text: str) -> str:
    Path(name).write_text(text)
    return name


def test_what_it_prints_comes_exactly_and_each_stream_by_itself(call: Command) -> None:
    printed = "a\r\nb \x1b[1mü\x01\n\n" + "x" * 20_000 + "\n" + "many\n" * 11_000 + "no end"
    Path("text").write_bytes(printed.encode())
    done = call(save("prints.sh", "printf 'to stderr' >&2; cat text"), "--file", "text")
    assert done.exit_code == 0, done.stderr
    assert done.stdout_bytes == printed.encode()
    assert done.stderr_bytes == b"to stderr"


@pytest.mark.parametrize(
    ("program", "options", "code", "line"),
    [
        ("echo out; exit 3", [], 3, ""),
        ("echo out; sleep 30", ["--timeout", "3s"], 124, "bash: took longer than 3s"),
        ("echo out; kill -SEGV $$", [], 139, "bash: was killed by SIGSEGV"),
    ],
)
def test_the_exit_code_and_one_line_say_how_it_ended(
    call: Command, program: str, options: list[str], code: int, line: str
) -> None:
    done = call(save("ends.sh", program), *options)
    assert done.exit_code == code, done.stderr
    assert done.stdout == "out\n"
    assert re.fullmatch(rf"{line}.* \(task_\w+\)\n" if line else "", done.stderr)


@pytest.mark.parametrize(
    ("status", "failure", "result", "code"),
    [
        ("failed", "CpuLimit", {"exceeded": "cpu", "exitCode": None}, 152),
        ("failed", "DiskLimit", {"exceeded": "disk", "exitCode": 1}, 153),
        ("failed", "OutputLimit", {"exceeded": "output", "exitCode": 0}, 141),
        ("failed", "Signal", {"signal": "signal 34", "exitCode": None}, 162),
        ("failed", "TooMuch", None, 1),
        ("failed", "Lost", None, 1),
        ("failed", "CompileError", {"exitCode": 3}, 1),
        ("timeout", "Timeout", None, 124),
        ("cancelled", "Cancelled", {"exitCode": 0}, 3),
        ("executing", "", None, 1),  # it is stuck
    ],
)
def test_every_other_end_has_its_exit_code_and_its_line(
    status: str, failure: str, result: dict[str, object] | None, code: int
) -> None:
    told = {"type": failure, "message": "it went wrong"} if failure else None
    seen = {"taskId": "task_1", "status": status, "language": "c", "final": bool(failure), "failure": told}
    seen["result"] = None if result is None else {"output": "", "error": "", **result}
    assert exec_ending.code_of(seen) == code
    words = "it went wrong (task_1)" if failure else "it does not go on (task_1); `windlass explain task_1`"
    assert exec_ending.line_of(seen).startswith(f"c: {words}")


def test_too_much_memory_has_the_exit_code_of_a_kill(call: Command) -> None:
    program = save("hoards.py", "hoard = [bytes([1]) * 1_000_000 for n in range(600)]\nprint(len(hoard))")
    done = call(program, "--memory", "50MB", "--timeout", "20s")
    assert (done.exit_code, done.stdout) == (137, "")
    assert "python: used more than 50MB of memory (task_" in done.stderr


def test_a_compiler_talks_to_stderr_whatever_it_does(call: Command) -> None:
    save("good.txt", "program\n")
    done = call("-l", "talkative", "good.txt")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "program\n", "compiling\nran\n")
    again = call("-l", "talkative", "good.txt")  # is not compiled again
    assert (again.exit_code, again.stdout, again.stderr) == (0, "program\n", "ran\n")
    done = call("-l", "talkative", save("bad.txt", "bad\n"))
    assert (done.exit_code, done.stdout) == (1, "")
    assert re.fullmatch(r"compiling\nerror: bad\ntalkative: it was not compiled \(task_\w+\)\n", done.stderr)


def test_a_program_may_come_from_standard_input_and_its_own_input_from_a_file(call: Command) -> None:
    save("numbers", "19 23\n")
    done = call("-l", "sh", "--stdin", "numbers", "-", input="read a b; echo $((a + b))")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "42\n", "")
    done = call(save("reads", "#!/bin/sh\ntr a-z A-Z"), "--stdin", "-", input="loud")
    assert (done.exit_code, done.stdout) == (0, "LOUD")
    done = call("-l", "sh", "--stdin", "-", "-", input="")
    assert done.exit_code == 2 and "only one of" in done.stderr


def test_files_go_along_and_come_back(call: Command, tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(bytes(range(256)))
    program = save("copies.sh", "mkdir sub; cp in.bin sub/out.bin; echo text > out.txt; exit 2")
    words = [program, "--file", "in.bin=bytes", "--output", "sub/out.bin", "--output", "out.txt"]
    done = call(*words, "--output-dir", "new")
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", "")
    assert (tmp_path / "new/sub/out.bin").read_bytes() == bytes(range(256))
    assert (tmp_path / "new/out.txt").read_text() == "text\n"

    (tmp_path / "new/out.txt").write_text("mine")
    done = call(*words, "--output-dir", "new")
    assert done.exit_code == 2 and "is there already; --force" in done.stderr
    assert (tmp_path / "new/out.txt").read_text() == "mine"

    (tmp_path / "elsewhere").write_text("precious")
    (tmp_path / "new/out.txt").unlink()
    (tmp_path / "new/out.txt").symlink_to(tmp_path / "elsewhere")
    assert call(*words, "--output-dir", "new", "--force").exit_code == 2
    assert (tmp_path / "new/out.txt").read_text() == "text\n"
    assert (tmp_path / "elsewhere").read_text() == "precious"


def test_a_file_that_is_not_left_is_an_error(call: Command) -> None:
    done = call(save("leaves.sh", "true"), "--output", "nothing")
    assert done.exit_code == 1
    assert re.fullmatch(r"bash: it left no nothing \(task_\w+\)\n", done.stderr)


@pytest.mark.parametrize("name", ["../out", "/tmp/out", "a/../../out", "way/out"])
def test_nothing_is_written_outside_of_the_folder(call: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/way").symlink_to(tmp_path)
    done = call(save("leaves.sh", "true"), "--output", name, "--output-dir", "in")
    assert done.exit_code == 2, done.stderr
    assert f"--output '{name}'" in done.stderr


def test_a_file_that_came_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    wanted = code_files.places(("out",), tmp_path, force=False)
    (tmp_path / "out").write_text("mine")
    with pytest.raises(Exception, match="file exists"):
        code_files.keep({"out": {"base64": base64.b64encode(b"theirs").decode()}}, wanted, force=False)
    assert (tmp_path / "out").read_text() == "mine"


def test_json_is_the_task_and_nothing_else(call: Command) -> None:
    done = call(save("says.sh", "echo out; echo err >&2; exit 3"), "--json")
    assert done.exit_code == 3
    assert done.stderr == ""
    seen = json.loads(done.stdout)
    assert (seen["status"], seen["result"]["output"], seen["result"]["error"]) == ("failed", "out\n", "err\n")


def test_a_detached_task_is_named_and_goes_on(call: Command, server: Client) -> None:
    task = call(save("says.sh", "echo later"), "--detach").stdout.strip()
    assert [news.data.get("text") for news in server.follow_task(task)] == ["later", None]


def test_the_same_program_is_not_run_again_if_its_result_will_do(call: Command) -> None:
    program = save("draws.sh", "echo $RANDOM $RANDOM $RANDOM")
    first, again = call(program, "--cache").stdout, call(program, "--cache").stdout
    assert first == again != call(program).stdout


def test_another_attempt_is_shown_as_far_as_it_prints_something_else(call: Command) -> None:
    done = call(save("fails.sh", "echo same; exit 1"), "--retries", "1")
    assert (done.exit_code, done.stdout) == (1, "same\n")
    assert re.fullmatch(r"task_\w+: attempt 2\n", done.stderr)


def test_ctrl_c_cancels_what_is_shown_while_it_runs(server: Client, tmp_path: Path) -> None:
    (tmp_path / "endless.sh").write_text(ENDLESS)
    words = [*windlass(), "--server", server.url, "exec", "--timeout", "60s", "endless.sh"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment()
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130
    found = re.fullmatch(r"error: interrupted: (task_\w+) is cancelled\n", said)
    assert found, said
    assert server.task(found[1])["status"] == "cancelled"


def test_a_task_that_nobody_reads_any_more_is_cancelled(server: Client, tmp_path: Path) -> None:
    (tmp_path / "endless.sh").write_text("while :; do echo y; sleep 0.01; done")
    words = [*windlass(), "--server", server.url, "exec", "--timeout", "60s", "endless.sh"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment()
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "y\n"
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1
    wait_until(lambda: server.tasks(limit=1)["items"][0]["status"] == "cancelled")


def test_where_both_streams_are_one_screen_no_line_is_torn(server: Client, tmp_path: Path) -> None:
    (tmp_path / "mixes.sh").write_text("echo out; sleep 0.2; echo err >&2; printf end; sleep 30")
    code, screen = at_terminal("--server", server.url, "exec", tmp_path / "mixes.sh", "--timeout", "1s")
    lines = screen.replace("\r\n", "\n").splitlines()
    assert code == 124
    assert lines[:3] == ["out", "err", "end"]
    assert lines[3].startswith("bash: took longer than 1s (task_")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--language", "cobol"], 5, r"error: .*can run cobol.*; languages here: bash, .*talkative"),
        (["--version", "1234"], 5, r"error: .*can run bash 1234.*; versions here: \d"),
        (["--version", "new"], 7, r"--version: 'new' is no version"),
        (["--cpu", "0"], 7, r"--cpu: expected a number from 0.01 to 1024"),
        (["--timeout", "soon"], 2, r"'soon' is no duration"),
        (["--memory", "much"], 2, r"'much' is no size"),
        (["--file", "../up=says.sh"], 2, r"cannot be the name of a file"),
        (["--stdin", "nowhere"], 2, r"nowhere cannot be read: no such file"),
    ],
)
def test_what_cannot_be_run_is_said_with_advice(
    call: Command, words: list[str], code: int, said: str
) -> None:
    done = call(save("says.sh", "echo out"), *words)
    assert done.exit_code == code, done.stderr
    assert done.stdout == ""
    assert re.search(said, done.stderr), done.stderr


def test_without_a_server_the_advice_is_that_of_all_commands(tmp_path: Path) -> None:
    (tmp_path / "says.sh").write_text("echo out")
    done = CliRunner().invoke(main, ["--server", "http://127.0.0.1:9", "exec", str(tmp_path / "says.sh")])
    assert done.exit_code == 5
    assert "start one with `windlass up`" in done.stderr


def test_a_server_that_looks_for_languages_yet_is_asked_again(tmp_path: Path) -> None:
    (tmp_path / "says.sh").write_text("echo out")
    nobody = {"code": 50301, "message": "No available client nodes", "detail": "none", "retryAfter": 30}
    none, found = ({"items": [{"capabilities": names}]} for names in (["shell"], ["code", "code/bash"]))
    begun = {"code": 0, "message": "success", "data": {"taskId": "task_1", "cached": False}}
    with answering((503, nobody), (200, none), (503, nobody), (200, found), (200, begun)) as script:
        done = CliRunner().invoke(
            main, ["--server", script.url, "exec", "--detach", str(tmp_path / "says.sh")]
        )
    assert (done.exit_code, done.stdout, done.stderr) == (0, "task_1\n", "")
    keys = {asked.headers["Idempotency-Key"] for asked in script.asked if asked.method == "POST"}
    assert len(script.asked) == 5 and len(keys) == 1


@pytest.mark.parametrize(
    ("name", "code", "language"),
    [
        ("a.py", "", "python"),
        ("dir.py/A.GO", "", "golang"),
        ("a.sh", "#!/usr/bin/env python3", "bash"),
        ("run", "#!/usr/bin/env python3\n", "python"),
        ("run", "#! /usr/local/bin/python3.11 -u\n", "python"),
        ("run", "#!/usr/bin/env -S X=1 node --test\n", "javascript"),
        ("-", "#!/bin/sh\n", "bash"),
    ],
)
def test_the_name_or_else_the_first_line_tells_the_language(name: str, code: str, language: str) -> None:
    assert code_files.language_in(name, code) == language


@pytest.mark.parametrize("code", ["", "#!", "#!/usr/bin/env", "#!/usr/bin/awk -f", "x\n#!/bin/sh"])
def test_a_language_that_is_not_told_is_asked_for(code: str) -> None:
    with pytest.raises(click.UsageError, match="say it with --language"):
        code_files.language_in("run", code)


def test_every_language_that_workers_look_for_is_known_by_the_name_of_a_file() -> None:
    for language in ours().languages:
        assert code_files.language_in(language.file, "") == language.name


def test_the_manual_has_every_exit_code() -> None:
    told = CliRunner().invoke(main, ["exec", "--help"]).stdout.partition("Exit codes:")[2]
    manual = (Path(__file__).parents[2] / "docs/cli.md").read_text()
    lines = [line.strip() for line in told.splitlines()[1:] if line.strip()]
    assert len(lines) > 5
    for line in lines:
        codes, _, words = line.partition("  ")
        assert f"| {codes} | {words} |" in manual
