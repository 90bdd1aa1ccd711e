"""What is told of a task that has ended: all of it, or as much as fits."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from windlass.core import callbacks
from windlass.core.callbacks import BODY_BYTES_MAX, Address
from windlass.core.events import RunEnded
from windlass.core.names import run_key

TASK: dict[str, Any] = {
    "taskId": "task_1",
    "status": "completed",
    "language": "python",
    "result": {"output": "hello\n", "error": "", "exitCode": 0, "files": None},
    "metadata": {"userId": "u"},
}


def told(task: dict[str, Any]) -> dict[str, Any]:
    body = callbacks.body(task, 1_700_000_000.0)
    assert len(body) <= BODY_BYTES_MAX
    said: dict[str, Any] = msgspec.json.decode(body)
    return said


def test_a_task_that_fits_is_told_whole() -> None:
    assert told(TASK) == {"type": "task.completed", "timestamp": "2023-11-14T22:13:20.000Z", "data": TASK}


@pytest.mark.parametrize("status", ["completed", "failed", "timeout", "cancelled"])
def test_the_type_says_how_it_ended(status: str) -> None:
    assert told({**TASK, "status": status})["type"] == f"task.{status}"


@pytest.mark.parametrize("output", ["x" * 2_000_000, "\0" * 1_000_000, "ä" * 1_000_000])
def test_an_output_that_does_not_fit_is_cut_and_that_is_said(output: str) -> None:
    result = {"output": output, "error": "y" * 100, "exitCode": 3}
    data = told({**TASK, "result": result})["data"]
    assert data["truncated"] is True
    assert len(data["result"]["output"]) > 100_000
    assert output.startswith(data["result"]["output"])
    assert data["result"]["error"] == "y" * 100, "what is short stays whole"
    assert (data["taskId"], data["result"]["exitCode"]) == ("task_1", 3)


def test_files_are_left_out_where_not_all_of_them_fit() -> None:
    result = {"output": "hello", "files": {"a": {"base64": "A" * 2_000_000}}}
    data = told({**TASK, "result": result})["data"]
    assert data["result"] == {"output": "hello"}
    assert data["truncated"] is True


def test_of_a_task_with_too_much_of_everything_its_name_and_its_end_are_told() -> None:
    many = {f"key {n}": n for n in range(200_000)}
    data = told({**TASK, "status": "failed", "metadata": many})["data"]
    assert data == {"taskId": "task_1", "status": "failed", "language": "python", "truncated": True}


def test_runs_of_one_name_have_ends_of_their_own() -> None:
    one = callbacks.ident(run_key("r"), RunEnded(status="failed", at=1.0))
    others = [
        callbacks.ident(run_key("r", "theirs"), RunEnded(status="failed", at=1.0)),
        callbacks.ident(run_key("r"), RunEnded(status="failed", at=2.0)),
        callbacks.ident(run_key("s"), RunEnded(status="failed", at=1.0)),
    ]
    assert len({one, *others}) == 4


def test_no_webhook_is_taken_for_a_callback() -> None:
    assert callbacks.is_callback(callbacks.place(Address("https://example.org/in")))
    assert callbacks.is_callback(callbacks.place(Address("nonsense")))
    assert not callbacks.is_callback("wh_5f3a09bc11d2e487")
