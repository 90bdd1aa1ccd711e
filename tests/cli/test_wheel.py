"""What users install: the wheel, in an empty environment, started in an empty folder with an empty home."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.cli.engines import environment
from tests.waiting import wait_until

REPOSITORY = Path(__file__).resolve().parents[2]
UV = REPOSITORY / ".tools" / "bin" / "uv"
PINS = REPOSITORY / "requirements.txt"
INSTALL_S = 100.0


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `make wheel` builds it, in the environment that runs the tests: that is not made anew."""
    folder = tmp_path_factory.mktemp("dist")
    settings = [f"BIN={Path(sys.executable).parent}", f"DIST={folder}"]
    done = run("make", "--directory", REPOSITORY, "--assume-old", "env", "wheel", *settings)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`windlass`, installed into an environment that holds it and what it needs, and nothing else."""
    home = tmp_path_factory.mktemp("installed") / "venv"
    python = home / "bin" / "python"
    if UV.exists():
        install: list[str | Path] = [UV, "pip", "install", "--quiet", "--python", python]
        commands: list[list[str | Path]] = [[UV, "venv", "--quiet", "--python", sys.executable, home]]
    else:
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        commands = [[sys.executable, "-m", "venv", home]]
    commands += [[*install, "--require-hashes", "-r", PINS], [*install, "--no-deps", wheel]]
    for words in commands:
        done = run(*words)
        assert done.returncode == 0, (
            f"{' '.join(map(str, words))} failed: the packages pinned in {PINS.name} have to be "
            f"within reach for this test, in a registry or a cache\n{done.stdout}{done.stderr}"
        )
    return home / "bin" / "windlass"


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, words)), capture_output=True, text=True, env=environment(tools()), timeout=INSTALL_S
    )


def tools() -> dict[str, str]:
    """Tools are told what the Makefile tells them: to trust whom this machine trusts, if it says so."""
    trusted = Path("/etc/ssl/certs/ca-certificates.crt").exists()
    settings = {"UV_PYTHON_DOWNLOADS": "never", "UV_LINK_MODE": "copy"}
    return settings | ({"UV_SYSTEM_CERTS": "true"} if trusted else {})


def test_the_wheel_holds_what_the_engine_reads_at_run_time(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    folders = ("examples", "journal")
    data = [path for folder in folders for path in (REPOSITORY / "windlass" / folder).rglob("*.*")]
    wanted = {str(path.relative_to(REPOSITORY)) for path in data if path.suffix in (".yaml", ".sql")}
    assert len(wanted) >= 6
    assert wanted <= names
    assert {"windlass/gateway/page/docs.html", "windlass/gateway/page/ui/index.html"} <= names
    assert not [name for name in names if name.startswith(("tests", "bench", "ui")) or name.endswith(".pyc")]


def test_from_the_wheel_to_a_run_in_an_empty_folder(program: Path, tmp_path: Path) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    home.mkdir()
    here.mkdir()
    env = {"HOME": str(home), "PATH": os.defpath, "LANG": "C.UTF-8"}

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(program), *words], capture_output=True, text=True, cwd=here, env=env, timeout=60
        )

    said = here.parent / "said"
    with said.open("w") as output, subprocess.Popen(
        [str(program), "up", "--examples", "--port", "0"], stdout=output, stderr=output, cwd=here, env=env
    ) as up:  # fmt: skip
        try:
            # It starts, and has run an example by itself
            wait_until(lambda: "ran hello: succeeded" in said.read_text() or up.poll() is not None, 30)
            assert up.poll() is None, said.read_text()
            url = next(word for word in said.read_text().split() if word.startswith("http://"))
            # It runs another one when asked to
            result = call("--server", url, "run", "fan-out", "--json")
            assert result.returncode == 0, result.stdout + result.stderr
            assert json.loads(result.stdout)["output"] == {"gather": sum(n * n for n in range(1, 21))}
            listed = json.loads(call("--server", url, "runs", "--json").stdout)
            assert {run["status"] for run in listed["items"]} == {"succeeded"}
            # And stops when it is told to
            up.terminate()
            assert up.wait(20) == 0
        finally:
            up.kill()
    assert "stopped" in said.read_text()
    assert [path.name for path in here.iterdir()] == [".windlass"]
    # Nothing but what it need not find out again.
    assert [path.relative_to(home) for path in home.glob("*/*")] in ([], [Path(".cache/windlass")])
    assert call("version").stdout.startswith("windlass ")
