"""The examples as a newcomer starts them: `windlass up FILE.py`, and `windlass run`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli.calls import Done, command
from tests.cli.engines import Engine, engine
from tests.waiting import wait_until
from windlass.sdk.client import Client

FOLDER = Path(__file__).parents[2] / "examples"
APPS = ("etl", "order_saga", "purchase_approval", "nightly", "fan_out", "child_workflows")
GOOD = {"id": "A-1", "item": "anchor", "count": 2, "price": 40, "address": "Harbour 7"}


class Up(NamedTuple):
    engine: Engine
    folder: Path

    @property
    def url(self) -> str:
        return str(self.engine.ready()["url"])


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    folder = tmp_path_factory.mktemp("newcomer")
    files = [str(FOLDER / f"{name}.py") for name in APPS]
    options = ("--data", "data", "--json", "--port", "0", "--allow-unsandboxed", "--files", ".")
    with engine(*files, *options, cwd=folder, env={"WINDLASS_NO_CODE": "false"}) as started:
        started.ready()
        yield Up(started, folder)
        assert started.stop() == 0
        assert not started.err


def ran(url: str, *words: str | Path, cwd: Path | None = None) -> Done:
    return command("--server", url, "run", *words, "--json", cwd=cwd)


def seen(done: Done) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_all_workflows_are_there_once_it_is_ready(up: Up) -> None:
    with Client(up.url) as client:
        found = {workflow["id"] for workflow in client.workflows()}
    assert found == {"access", "etl", "nightly", "onboarding", "order", "purchase", "word_count"}


def test_etl_runs_with_inputs_from_the_command_line(up: Up, tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("day,product,amount\n2026-01-01,rope,10\n2026-01-02,rope,5\n")
    target = tmp_path / "report.json"
    words = ("-i", "day=2026-01-01", "-i", f"source={tmp_path / 'sales.csv'}", "-i", f"target={target}")
    done = ran(up.url, "etl", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(target.read_text())["total"] == 10
    assert seen(done)["output"] == json.loads(target.read_text())


def test_a_saga_is_undone_in_real_processes(up: Up, tmp_path: Path) -> None:
    (tmp_path / "order.json").write_text(json.dumps({**GOOD, "address": ""}))
    done = ran(up.url, FOLDER / "order_saga.py:order", "-i", "order=@order.json", cwd=tmp_path)
    assert done.returncode == 1
    steps = {step["id"]: step for step in seen(done)["steps"]}
    assert steps["undo:charge"]["output"] == "gave 80.00 back on charge-A-1"
    assert steps["undo:reserve"]["output"] == "released 2 x anchor for A-1"
    assert steps["ship"]["error"]["type"] == "NoAddress"
    good = ran(up.url, "order", "-i", f"order={json.dumps(GOOD)}")
    assert seen(good)["output"]["parcel"] == "parcel to Harbour 7"


def test_fan_out_and_child_runs(up: Up, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("rope rope and")
    counted = ran(up.url, "word_count", "-i", f"files={json.dumps([str(tmp_path / 'a.txt')])}", "-i", "top=1")
    assert seen(counted)["output"] == {"rope": 2}
    # It reads as a number, and the input is declared as text.
    for named in ("onboarding", str(FOLDER / "child_workflows.py:onboarding")):
        onboarded = ran(up.url, named, "-i", "name=Ada", "-i", "team=7")
        assert "the rooms of 7" in seen(onboarded)["output"]["letter"]


def test_an_approval_is_given_from_the_command_line(up: Up) -> None:
    started = ran(up.url, "purchase", "-i", "item=winch", "-i", "price=900", "--detach")
    run = seen(started)["executionId"]
    with Client(up.url) as client:
        wait_until(lambda: _status(client, run, "ask") == "running", 30)
        done = command("--server", up.url, "approve", run, "ask", "--comment", "well spent")
        assert done.returncode == 0, done.stderr
        wait_until(lambda: _status(client, run, "sleep") == "running", 30)
        client.order(run, "cancel")


def _status(client: Client, run: str, step: str) -> str:
    return str({each["id"]: each["status"] for each in client.run(run)["steps"]}[step])


def test_the_schedule_of_the_file_is_there(up: Up) -> None:
    done = command("--server", up.url, "schedule", "list", "--json")
    assert "nightly" in done.stdout, done.stdout + done.stderr


def test_code_steps_run_in_the_sandbox_that_there_is(up: Up) -> None:
    done = ran(up.url, FOLDER / "code_steps.yaml", "-i", "numbers=[3, 1, 2]", "--timeout", "50s")
    assert done.returncode == 0, done.stdout + done.stderr
    assert seen(done)["output"] == {"sorted": "1\n2\n3\n", "largest": "3\n"}


def test_rows_stream_from_file_to_file(up: Up) -> None:
    (up.folder / "orders-2026-01-01.csv").write_text("amount,who\n900,ada\n1200,grace\n3000,barbara\n")
    done = ran(up.url, FOLDER / "etl_pipeline.yaml", "-i", "day=2026-01-01")
    assert seen(done)["output"] == {"read": 3, "kept": 2}, done.stdout + done.stderr
    assert (up.folder / "large-2026-01-01.csv").read_text() == "1200,grace\n3000,barbara\n"


def test_a_graph_runs_as_it_was_drawn(up: Up) -> None:
    done = ran(up.url, FOLDER / "etl_graph.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (up.folder / "names.txt").read_text() == "ADA\nGRACE\nBARBARA\n"


def test_a_schedule_may_be_written_in_yaml(up: Up) -> None:
    done = ran(up.url, FOLDER / "nightly.yaml")
    assert seen(done)["status"] == "succeeded", done.stdout + done.stderr
    assert int(seen(done)["output"]["old"]) >= 0
    listed = command("--server", up.url, "schedule", "list", "--json")
    assert "nightly-cleanup" in listed.stdout
