"""Pipelines as users meet them: on an engine that was just started, on a worker, and over a crash."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from tests.cli.engines import environment, serving, windlass
from tests.waiting import wait_until
from tests.worker.pipelines import pipeline, sink, source, transform
from windlass.cli import main
from windlass.core.task import Task
from windlass.sdk.client import Client


def started(client: Client, task: Task, **step: Any) -> None:
    document = {"id": "w", "steps": {"only": {"kind": "pipeline", "with": task.with_, **step}}}
    client.apply("w", json.dumps(document).encode(), "application/json")
    client.start("w", run_id="r1")


def ended(client: Client) -> dict[str, Any]:
    wait_until(lambda: client.run("r1")["status"] not in ("pending", "running"), 60.0)
    run = client.run("r1")
    assert run["status"] == "succeeded", run
    (step,) = run["steps"]
    found: dict[str, Any] = step["output"]
    return found


def test_a_pipeline_runs_on_an_engine_that_was_told_where_files_are(tmp_path: Path) -> None:
    files = tmp_path / "shared"
    files.mkdir()
    (files / "in.csv").write_text("id,name\n1,ann\n7,bob\n9,eve\n")
    with serving(tmp_path / "data", "--files", str(files)) as (_, client):
        started(
            client,
            pipeline(
                source("file.csv", path="in.csv", skipHeader=True),
                transform("filter", condition="id > 5"),
                sink("file.text", path="out/large.csv"),
                sink("console.log", "show"),
                edges="in>by by>out by>show",
            ),
        )
        output = ended(client)
        events = list(client.all_events("r1"))
        printed = [line["text"] for line in client.logs("r1")["items"]]
    assert {event["stage"] for event in events if event["type"] == "StageStarted"} == {
        "in",
        "by",
        "out",
        "show",
    }
    records = {event["stage"]: event["records"] for event in events if event["type"] == "StageEnded"}
    assert records == {"in": 3, "by": 2, "out": 2, "show": 2}
    assert printed == ["7,bob", "9,eve"]
    assert (files / "out/large.csv").read_text() == "7,bob\n9,eve\n"
    assert output["stages"]["by"] == {"records": 2}
    assert output["records"] == 4


def test_a_pipeline_on_a_worker_has_files_in_its_data_folder(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--slots", "1") as (_, client):
        words = ["worker", "--connect", client.url, "--data", "home", "--capabilities", "there"]
        with (tmp_path / "said").open("w") as said:
            worker = subprocess.Popen(
                [*windlass(), *words], cwd=tmp_path, env=environment(), stdout=said, stderr=said
            )
        try:
            numbers = source("sequence.numbers", end=3)
            started(client, pipeline(numbers, sink("file.text", path="n.txt")), requires=["there"])
            assert ended(client)["records"] == 3
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.wait(30.0)
    assert (tmp_path / "home/files/n.txt").read_text() == "1\n2\n3\n"
    assert not (tmp_path / "data/files").exists()


def test_after_a_crash_of_the_engine_a_pipeline_starts_again_from_its_sources(tmp_path: Path) -> None:
    rows, data = 3_000_000, tmp_path / "data"

    def parts() -> list[Path]:
        return [part for part in data.glob("files/.windlass-*.part") if part.stat().st_size]

    task = pipeline(source("sequence.numbers", end=rows), sink("file.text", path="big.txt"))
    with serving(data) as (engine, client):
        started(client, task)
        wait_until(parts)
        engine.stop(signal.SIGKILL)
        assert not (data / "files/big.txt").exists()
    (left,) = parts()
    with serving(data) as (_, client):
        assert ended(client)["stages"]["out"]["records"] == rows
    assert not left.exists()
    assert [file.name for file in (data / "files").iterdir()] == ["big.txt"]
    with (data / "files/big.txt").open() as file:
        assert sum(1 for _ in file) == rows


def test_a_folder_for_files_has_to_be_there() -> None:
    result = CliRunner().invoke(main, ["up", "--files", "/nowhere/at/all"])
    assert result.exit_code == 2
    assert "there is no folder '/nowhere/at/all'; make it first" in result.output
