"""What an engine started dies with it, or with the run that wanted it; what runs did can be read in SQL."""

import json
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.engines import Engine, serving
from tests.waiting import wait_until
from tests.worker.rig import a_marker, marked
from windlass.core.task import Json
from windlass.core.vocabulary import ENDED
from windlass.sdk.client import Client

# Two forks and a session of its own: whoever looks at parents or groups does not find it.
AWAY = """
import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "300"])
    os._exit(0)
os.wait()
"""
STEPS = f"""
import os
from windlass import Result

def flee(marker, file):
    os.environ["MARKER"] = marker
    exec({AWAY!r})
    with open(file, "w") as pid:
        pid.write(str(os.getpid()))
    while True:
        pass

def cook(ctx):
    return Result("done", context={{"dish": ctx.context["wanted"], "wanted": None}})
"""


@pytest.fixture
def app(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "steps.py").write_text(STEPS)
    return folder


@contextmanager
def an_engine(app: Path) -> Iterator[tuple[Engine, Client]]:
    with serving(app.parent / "data", "--app", str(app), "--slots", "4") as (up, client):
        yield up, client


def a_python_step(app: Path, marker: str) -> Json:
    """It loops, as the process whose pid is in a file then; its grandchild sleeps."""
    arguments = {"marker": marker, "file": str(app / "pid")}
    return {"kind": "python", "with": {"call": "steps:flee", "args": arguments}}


def a_shell_step(marker: str) -> Json:
    """It sleeps, and so does its grandchild."""
    command = '"$PYTHON" -S -c "$AWAY"; exec sleep 300'
    env = {"PYTHON": sys.executable, "AWAY": AWAY, "MARKER": marker}
    return {"kind": "shell", "with": {"command": command, "env": env}}


def start(client: Client, steps: dict[str, Json], **options: Any) -> str:
    client.apply("workflow", json.dumps({"id": "workflow", "steps": steps}).encode(), "application/json")
    client.start("workflow", run_id="run", **options)
    return "run"


def asleep(marker: str) -> int:
    """How many of the marked processes are `sleep`: those that got away, and the shell step itself."""
    return sum(1 for pid in marked(marker) if _status(pid)[:1] == ["sleep"])


def loops(app: Path) -> bool:
    """Whether the Python step is there, and is not merely waiting for somebody to note that it has ended."""
    file = app / "pid"
    pid = file.read_text() if file.exists() else ""
    return bool(pid) and _status(int(pid))[1:] not in ([], ["Z"])


def _status(pid: int) -> list[str]:
    """The name and the state of a process; nothing if there is none."""
    try:
        head, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    except OSError:
        return []
    return [head.partition("(")[2], rest.split()[0]]


def test_killing_only_the_engine_leaves_no_process_behind(app: Path) -> None:
    marker = a_marker()
    with an_engine(app) as (up, client):
        # Given steps at work whose grandchildren have left their families
        start(client, {"python": a_python_step(app, marker), "shell": a_shell_step(marker)})
        wait_until(lambda: loops(app) and asleep(marker) == 3, 30)
        # When that one pid is killed
        up.process.kill()
        # Then nothing is left of them.
        wait_until(lambda: not loops(app) and not marked(marker), 10)
        up.wait()


@pytest.mark.parametrize(("kind", "sleeping"), [("python", 1), ("shell", 2)])
def test_cancelling_a_run_ends_its_steps_for_real(app: Path, kind: str, sleeping: int) -> None:
    marker = a_marker()
    step = a_python_step(app, marker) if kind == "python" else a_shell_step(marker)
    with an_engine(app) as (up, client):
        # Given a step that will not end by itself, and its grandchild that got away
        run = start(client, {"only": step, "never": {"kind": "noop", "needs": ["only"]}})
        wait_until(lambda: loops(app) == (kind == "python") and asleep(marker) == sleeping, 30)
        # When the run is cancelled
        assert client.order(run, "cancel", reason="enough")["status"] == "cancelled"
        # Then both are gone, and the run stays cancelled
        wait_until(lambda: not loops(app) and not marked(marker), 10)
        seen = client.run(run)
        assert seen["status"] == "cancelled"
        assert [step["status"] for step in seen["steps"]] == ["cancelled", "cancelled"]
        # also after the engine was started again.
        assert up.stop() == 0
    with an_engine(app) as (up, client):
        assert up.ready()["recovered"] == 0
        assert client.run(run)["status"] == "cancelled"
        assert marked(marker) == []


@pytest.mark.accepts("S2.20")
def test_the_context_a_run_was_started_with_is_in_the_view_merged_with_what_steps_added(app: Path) -> None:
    wanted = {"wanted": "soup", "guests": 4}
    with an_engine(app) as (_, client):
        # Given a run as soon as it was started, with a step nobody can do
        run = start(client, {"only": {"kind": "noop", "requires": ["a cook"]}}, context=wanted)
        # Then its parameters can be read
        assert json.loads(history(app, run)["wf_context"]) == wanted
        client.order(run, "cancel")
        # and after a step has changed the context, what they have become.
        steps = {"cook": {"kind": "python", "with": {"call": "steps:cook"}}}
        body = json.dumps({"id": "kitchen", "steps": steps}).encode()
        client.apply("kitchen", body, "application/json")
        client.start("kitchen", run_id="dinner", context=wanted)
        wait_until(lambda: client.run("dinner")["status"] in ENDED, 30)
        row = history(app, "dinner")
        assert row["instance_status"] == "SUCCEED"
        assert json.loads(row["wf_context"]) == {"wanted": None, "guests": 4, "dish": "soup"}
        (step,) = query(app, "SELECT * FROM dag_node_execution WHERE workflow_instance_id = 'dinner'")
        assert (step["node_id"], step["status"], step["worker_address"]) == ("cook", "SUCCEED", "local")


def history(app: Path, run: str) -> dict[str, Any]:
    (row,) = query(app, f"SELECT * FROM workflow_build_history WHERE id = '{run}'")
    return row


def query(app: Path, sql: str) -> list[dict[str, Any]]:
    """By somebody who knows nothing of Windlass but the file."""
    with closing(sqlite3.connect(f"file:{app.parent / 'data' / 'windlass.db'}?mode=ro", uri=True)) as cx:
        cx.row_factory = sqlite3.Row
        return [dict(row) for row in cx.execute(sql).fetchall()]
