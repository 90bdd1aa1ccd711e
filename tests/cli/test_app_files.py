"""Files of Python on the command line: what is in them, and what is said about those that are broken."""

import json
import socket
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.cli.calls import command
from tests.cli.engines import engine, environment
from tests.waiting import wait_until
from windlass.cli import app_files, main, shared
from windlass.cli.app_files import AppWorkflow
from windlass.cli.ending import InvalidFile
from windlass.cli.values import raw_pairs, typed
from windlass.sdk.client import Client

GOOD = """
from windlass import step, workflow

print("imported")

@step
def double(n: int) -> int:
    return n * 2

@workflow
def inner(n: int) -> int:
    return double(n)

@workflow(id="twice-twice")
def outer(n: int, note: str = "") -> dict[str, object]:
    return {"n": inner(double(n)), "note": note}
"""

BROKEN = {
    "syntax": ("def f(:\n", "app.py:1", "SyntaxError"),
    "import": ("import os\nimport nowhere_at_all\n", "app.py:2", "No module named 'nowhere_at_all'"),
    "raises": ("\n\nraise ValueError('not today')\n", "app.py:3", "ValueError: not today"),
    "exits": ("import sys\nsys.exit(3)\n", "app.py:2", "SystemExit: 3"),
    "dies": ("import os\nos._exit(3)\n", "app.py", "ended the process that imports it (exit code 3)"),
    "schedule": (
        "from windlass import workflow, step\n@step\ndef s(n: int) -> int: return n\n"
        "@workflow(schedule='0 2 * * *')\ndef nightly(n: int) -> int: return s(n)\n",
        "app.py:4",
        "the input `n` (a whole number) is missing",
    ),
    "empty": ("x = 1\n", "app.py", "has no workflow; write @workflow before a function"),
    "branches": (
        "from windlass import workflow\n@workflow\ndef w(n: int) -> None:\n    if n > 3:\n        pass\n",
        "app.py:4",
        "use when=…",
    ),
    "twins": (
        "from windlass import workflow, step\n@step\ndef s() -> int: return 1\n"
        "@workflow\ndef a() -> int: return s()\n@workflow(id='a')\ndef b() -> int: return s()\n",
        "app.py:6",
        "a and b have the same id, a; give one another id",
    ),
    "no steps": (
        "from windlass import workflow\n@workflow\ndef w() -> None:\n    pass\n",
        "app.py:2",
        "has no step; call one",
    ),
}


@pytest.mark.parametrize(("text", "place", "words"), BROKEN.values(), ids=BROKEN.keys())
def test_what_is_wrong_has_its_file_and_line(tmp_path: Path, text: str, place: str, words: str) -> None:
    file = tmp_path / "app.py"
    file.write_text(text)
    with pytest.raises(InvalidFile) as refused:
        app_files.compiled(str(file))
    told = "\n".join([str(refused.value), *(fault.message for fault in refused.value.faults)])
    assert words in told
    lines = [f"{Path(refused.value.file).name}:{fault.line}" for fault in refused.value.faults]
    assert place in (lines or [Path(refused.value.file).name])


def test_a_file_that_no_worker_could_import_is_refused(tmp_path: Path) -> None:
    for name, words in (("my-app.py", "call it e.g. my_app.py"), ("json.py", "there is another module json")):
        (tmp_path / name).write_text(GOOD)
        with pytest.raises(InvalidFile, match=words):
            app_files.compiled(str(tmp_path / name))


def test_workflows_are_found_with_those_that_they_start(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(GOOD)
    found = app_files.compiled(str(tmp_path / "app.py"))
    assert [(workflow.name, workflow.id) for workflow in found] == [
        ("inner", "inner"),
        ("outer", "twice-twice"),
    ]
    for name in ("outer", "twice-twice", ""):
        wanted = app_files.chosen("app.py", name, found)
        assert [workflow.id for workflow in wanted] == ["twice-twice", "inner"]
    assert [workflow.id for workflow in app_files.chosen("app.py", "inner", found)] == ["inner"]


def test_who_names_none_of_several_is_told_which_there_are() -> None:
    found = [AppWorkflow("a", {"id": "a"}, ()), AppWorkflow("b", {"id": "b"}, ())]
    with pytest.raises(click.UsageError, match=r"which one\?; write one of app.py:a, app.py:b"):
        app_files.chosen("app.py", "", found)
    with pytest.raises(click.UsageError, match=r"there is no workflow c in app.py; write one of"):
        app_files.chosen("app.py", "c", found)


def test_names_on_the_command_line() -> None:
    assert app_files.split("app.py:nightly") == ("app.py", "nightly")
    assert app_files.split("dir/app.py") == ("dir/app.py", "")
    assert app_files.split("nightly:x") is None
    assert app_files.split("a.yaml") is None


def test_values_are_as_their_inputs_are_declared(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text("[1, 2]")
    words = ("zip=01234", "n=3", "code=123", f"rows=@{tmp_path / 'rows.json'}", "at=@@home", "free=[1")
    given = raw_pairs(_context(), _parameter(), words)
    declared = {"zip": {"type": "string"}, "code": "string", "n": {"type": "integer"}}
    assert typed(given, declared) == {
        "zip": "01234",
        "n": 3,
        "code": "123",
        "rows": [1, 2],
        "at": "@home",
        "free": "[1",
    }
    with pytest.raises(click.BadParameter, match="cannot be read: No such file"):
        raw_pairs(_context(), _parameter(), ("a=@nowhere",))


def _context() -> click.Context:
    return click.Context(click.Command("x"))


def _parameter() -> click.Parameter:
    return click.Option(["-i"])


def test_up_with_a_file_says_what_it_saved_and_run_finds_it(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(GOOD)
    with engine("app.py", "--port", "0", cwd=tmp_path) as up:
        wait_until(lambda: "saved twice-twice: created" in up.says or up.ended, 60)
        assert "run inner" in up.says
        url = next(word for line in up.out for word in line.split() if word.startswith("http://"))
        done = command(
            "--server", url, "run", "app.py:outer", "-i", "n=3", "-i", "note=7", "--json", cwd=tmp_path
        )
        assert json.loads(done.stdout)["output"] == {"n": 12, "note": "7"}, done.stderr
        assert "imported" in done.stderr
        applied = command("--server", url, "apply", "app.py", "--json", cwd=tmp_path)
        assert [item["outcome"] for item in json.loads(applied.stdout)["items"]] == ["unchanged"] * 2
        with Client(url) as client:
            assert {workflow["id"] for workflow in client.workflows()} == {"inner", "twice-twice"}
        assert up.stop() == 0


def test_up_with_a_broken_file_starts_nothing(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(BROKEN["branches"][0])
    done = command("up", "app.py", "--port", "0", cwd=tmp_path)
    assert done.returncode == 7
    assert "app.py:4:1: if, while, and, or, not, in over values of a run cannot be decided" in done.stderr
    assert not (tmp_path / ".windlass").exists()


def test_validate_looks_into_files_of_python(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(GOOD)
    done = command("validate", "app.py", cwd=tmp_path)
    assert done.returncode == 0
    assert "app.py: sound (twice-twice, 2 steps)" in done.stdout
    other = command("up", "app.yaml", cwd=tmp_path)
    assert "app.yaml is no file of Python; save other documents with `windlass apply`" in other.stderr


def test_where_no_engine_runs_one_is_started_for_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "app.py").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    with socket.socket() as nobody:  # it is bound, and does not listen
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setattr(shared, "DEFAULT_URL", f"http://127.0.0.1:{nobody.getsockname()[1]}")
        ran = CliRunner().invoke(main, ["run", "app.py:inner", "-i", "n=4", "--json"])
        assert json.loads(ran.stdout)["output"] == 8, ran.output
        assert ran.exit_code == 0
        left = CliRunner().invoke(main, ["run", "app.py:inner", "-i", "n=4", "--detach"])
        assert left.exit_code == 5  # there is nobody to leave it with
    # What it kept is there for the next one, and nobody else has the folder.
    with engine("--port", "0", "--json", cwd=tmp_path) as up, Client(up.ready()["url"]) as client:
        assert [run["status"] for run in client.runs()["items"]] == ["succeeded"]


def test_files_beside_it_are_not_taken_for_modules_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "app.py").write_text(GOOD)
    for name in ("windlass", "json", "click"):
        (tmp_path / f"{name}.py").write_text("raise AssertionError('nobody asked for this file')\n")
    monkeypatch.chdir(tmp_path)
    assert [workflow.id for workflow in app_files.compiled("app.py")] == ["inner", "twice-twice"]


def test_files_that_are_in_each_others_way_start_nothing(tmp_path: Path) -> None:
    for name, text in {
        "a/app.py": GOOD,
        "b/app.py": GOOD,
        "other.py": GOOD.replace("n * 2", "n * 3"),
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    same_name = command("up", "a/app.py", "b/app.py", "--port", "0", cwd=tmp_path)
    assert same_name.returncode == 2
    assert "a/app.py and b/app.py are one module to workers, app" in same_name.stderr
    same_id = command("up", "a/app.py", "other.py", "--port", "0", cwd=tmp_path)
    assert same_id.returncode == 2
    assert "both a/app.py and other.py have a workflow inner; give one another id" in same_id.stderr
    assert not (tmp_path / ".windlass").exists()
