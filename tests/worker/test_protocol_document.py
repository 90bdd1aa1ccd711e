"""docs/worker-protocol.md is true: its frames, its tables, and the worker that stands in it."""

import json
import re
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cli.engines import serving, windlass
from windlass.core.task import Failure, Success, Task
from windlass.wire import crew

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "worker-protocol.md").read_text()
FRAMES = re.findall(r"```hex from the (worker|node)\n(.*?)```\n```json\n(.*?)\n```", DOCUMENT, re.DOTALL)
MESSAGES = {
    message.__name__: message
    for message in (*typing.get_args(crew.FromWorker), *typing.get_args(crew.FromNode))
}


@pytest.mark.parametrize(("side", "dump", "meaning"), FRAMES, ids=[meaning[:12] for _, _, meaning in FRAMES])
def test_the_frames_in_the_document_are_what_is_sent(side: str, dump: str, meaning: str) -> None:
    frame = bytes.fromhex(dump)
    messages: Any = crew.from_worker(frame) if side == "worker" else crew.from_node(frame)
    assert crew.encode(messages) == frame
    assert _readable(msgspec.msgpack.decode(frame)) == json.loads(meaning)


def test_there_are_frames_of_the_whole_conversation() -> None:
    shown = {message[0] for _, _, meaning in FRAMES for message in json.loads(meaning)}
    assert {"Greet", "Welcome", "Rejected", "Run", "Beat", "Beaten", "Printed", "Ended", "Kept"} <= shown


def _readable(value: Any) -> Any:
    match value:
        case bytes():
            return value.decode()
        case list():
            return [_readable(item) for item in value]
        case dict():
            return {key: _readable(item) for key, item in value.items()}
        case _:
            return value


@pytest.mark.parametrize("name", MESSAGES)
def test_the_document_gives_every_field_of_every_message_in_its_order(name: str) -> None:
    section = re.search(rf"^### {name}\n(.*?)(?=^##|\Z)", DOCUMENT, re.MULTILINE | re.DOTALL)
    assert section is not None, f"{name} is not described"
    rows = re.findall(r"^\| `(\w+)` \|(.*)$", section[1], re.MULTILINE)
    fields = msgspec.structs.fields(MESSAGES[name])
    assert [row for row, _ in rows] == [field.name for field in fields]
    if not fields:
        assert "No fields." in section[1]
    for (row, text), field in zip(rows, fields, strict=True):
        assert ("Default:" in text) == (not field.required), row


def test_the_document_speaks_of_no_other_messages() -> None:
    sections = set(re.findall(r"^### (\w+)$", DOCUMENT, re.MULTILINE))
    assert sections == set(MESSAGES)


def test_the_document_names_every_key_of_a_task_and_of_a_result() -> None:
    section = DOCUMENT.partition("## Tasks and results")[2].partition("## The rules")[0]
    keys = {field.encode_name for field in msgspec.structs.fields(Task)}
    assert {key for key in keys if f"`{key}`" not in section} == set()
    results = {field.encode_name for kind in (Success, Failure) for field in msgspec.structs.fields(kind)}
    assert {key for key in results if f'"{key}"' not in section} == set()


def test_last_fields_may_be_missing_and_fields_too_many_are_ignored() -> None:
    assert crew.from_worker(msgspec.msgpack.encode([["Beat", 1, 0.0, 0.0]])) == [crew.Beat(1, 0.0, 0.0)]
    assert crew.from_worker(msgspec.msgpack.encode([["Leaving", "tomorrow"]])) == [crew.Leaving()]


WORKFLOW = """
id: loud
steps:
  shout: {kind: code, with: {language: shout, code: hello world}}
"""


def test_the_worker_in_the_document_works(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    (tmp_path / "shouter.py").write_text(code)
    (tmp_path / "loud.yaml").write_text(WORKFLOW)
    with serving(tmp_path / "data") as (started, client):
        words = [sys.executable, "shouter.py", client.url.replace("http", "ws", 1)]
        with (tmp_path / "said").open("w") as said:
            worker = subprocess.Popen(words, cwd=tmp_path, stdout=said, stderr=said)
        try:
            run = [*windlass(), "--server", client.url, "run", "loud.yaml", "--json", "--timeout", "30s"]
            done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=60)
            told = done.stdout + done.stderr + started.says + (tmp_path / "said").read_text()
            assert done.returncode == 0, told
            assert "HELLO WORLD" in done.stdout
            assert '"shouter"' in done.stdout
        finally:
            worker.kill()
            worker.wait()
