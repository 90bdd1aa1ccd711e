"""Code steps as users meet them: on an engine that was just started, and on a worker beside it."""

import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

from tests.cli.engines import engine, environment, serving, windlass
from tests.waiting import wait_until
from windlass.sdk.client import Client
from windlass.worker.languages import read

SUM = {
    "id": "sum",
    "steps": {
        "only": {
            "kind": "code",
            "with": {
                "language": "sh",
                "code": "read a b; echo $((a + b)) | tee sum.txt",
                "stdin": "19 23\n",
                "outputs": ["sum.txt"],
                "limits": {"timeout": "20s"},
            },
        }
    },
}
WITH_CODE = {"WINDLASS_NO_CODE": "false"}
LANGUAGES = """
[[language]]
name = "upper"
file = "main.txt"
programs.sh = ["sh"]
version = ["{sh}", "-c", "echo 1.0"]
run = ["{sh}", "-c", "tr a-z A-Z < main.txt"]
"""


def offered(client: Client) -> set[str]:
    return {name for worker in client.workers()["items"] for name in worker["capabilities"]}


def started_with(client: Client, document: dict[str, Any]) -> None:
    client.apply(document["id"], json.dumps(document).encode(), "application/json")
    client.start(document["id"], run_id="r1")


def test_code_runs_on_an_engine_soon_after_it_has_started(tmp_path: Path) -> None:
    options = ("--data", "data", "--json", "--port", "0", "--allow-unsandboxed")
    with engine(*options, cwd=tmp_path, env=WITH_CODE) as started:
        client = Client(started.ready()["url"])
        started_with(client, SUM)
        wait_until(lambda: client.run("r1")["status"] not in ("pending", "running"), 60.0)
        (step,) = client.run("r1")["steps"]
        assert step["output"]["stdout"] == "42\n", step
        assert step["output"]["files"] == {"sum.txt": "42\n"}
        client.close()
        assert started.stop() == 0


def test_an_engine_that_is_told_so_runs_no_code(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--no-code") as (_, client):
        assert offered(client) == {"http", "noop", "pipeline", "python", "shell"}


def test_a_worker_runs_the_languages_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "languages.toml").write_text(LANGUAGES)
    step = {"kind": "code", "with": {"language": "upper", "version": "1", "code": "loud\n"}}
    with serving(tmp_path / "data") as (_, client):
        words = [*windlass(), "worker", "--connect", client.url, "--languages", "languages.toml"]
        with (tmp_path / "said").open("w") as said:
            worker = subprocess.Popen(
                [*words, "--allow-unsandboxed"],
                cwd=tmp_path,
                stdout=said,
                stderr=said,
                env=environment(WITH_CODE),
            )
        try:
            started_with(client, {"id": "loud", "steps": {"only": step}})
            wait_until(lambda: client.run("r1")["status"] not in ("pending", "running"), 60.0)
            assert client.run("r1")["steps"][0]["output"]["stdout"] == "LOUD\n"
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(30) == 0, (tmp_path / "said").read_text()
        finally:
            worker.kill()
            worker.wait()


def test_a_file_of_languages_that_makes_no_sense_keeps_an_engine_from_starting(tmp_path: Path) -> None:
    (tmp_path / "languages.toml").write_text("[[language]]\nname = 3\n")
    options = ("--data", "data", "--port", "0", "--languages", "languages.toml")
    with engine(*options, cwd=tmp_path, env=WITH_CODE) as started:
        assert started.wait() == 7
        assert "languages.toml" in started.says and "str" in started.says


def test_the_documentation_shows_a_file_of_languages_that_works(tmp_path: Path) -> None:
    text = Path(__file__).parents[2].joinpath("docs/workers.md").read_text()
    (shown,) = [
        block for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL) if "[[language]]" in block
    ]
    (tmp_path / "shown.toml").write_text(shown)
    book = read(tmp_path / "shown.toml")
    assert (book.languages[0].name, book.most.timeout_s, book.most.memory_bytes) == ("tcl", 600.0, 8 * 10**9)
