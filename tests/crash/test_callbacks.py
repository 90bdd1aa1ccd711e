"""An engine that is killed between a task's end and its callback: the next one makes the call."""

from __future__ import annotations

import json
import signal
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.cli.engines import engine, serving
from tests.cli.test_code import WITH_CODE, offered
from tests.crash.test_webhooks import receiving
from tests.waiting import wait_until
from windlass.sdk.client import Client

TASK = {"language": "bash", "code": "echo hello"}
ALLOWED = ("--allow-network", "127.0.0.1")


def submit(url: str, task: dict[str, Any]) -> str:
    """The id of the task."""
    asked = urllib.request.Request(
        f"{url}/api/v1/tasks", json.dumps(task).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(asked, timeout=30.0) as answer:
        return str(json.load(answer)["data"]["taskId"])


def test_what_a_killed_engine_owed_is_called_by_the_next_one(tmp_path: Path) -> None:
    options = ("--data", "data", "--json", "--port", "0", "--allow-unsandboxed", *ALLOWED)
    with receiving() as receiver:
        # Given a receiver that is not well when the task ends, and an engine that is killed then
        with engine(*options, cwd=tmp_path, env=WITH_CODE) as started:
            url = started.ready()["url"]
            with closing(Client(url)) as client:
                wait_until(lambda: "code/bash" in offered(client), 60.0)
            callback = f"http://127.0.0.1:{receiver.server_port}/in"
            task = submit(url, {**TASK, "callbackUrl": callback})
            wait_until(lambda: receiver.got, 30.0)
            started.stop(signal.SIGKILL)
        assert not receiver.heard(200)
        # When both are well again
        receiver.status = 200
        with serving(tmp_path / "data", *ALLOWED):
            # Then it hears the same as before, under the same id
            wait_until(lambda: receiver.heard(200), 30.0)
        (told,) = receiver.heard(200)
        assert told == receiver.heard(503)[0]
        assert told["type"] == "task.completed"
        assert (told["data"]["taskId"], told["data"]["result"]["output"]) == (task, "hello\n")
    assert len({headers["Webhook-Id"] for headers, _, _ in receiver.got}) == 1
    assert {headers["X-Request-ID"] for headers, _, _ in receiver.got} == {task}
    assert not any("Webhook-Signature" in headers for headers, _, _ in receiver.got)
