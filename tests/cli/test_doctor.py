"""`windlass doctor` finds what is wrong with a place, says what to do, and changes nothing."""

import json
import shutil
import signal
import socket
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.cli.calls import Done, command
from tests.cli.engines import serving
from windlass.cli import checkup
from windlass.cli.checkup import Place, sandboxes_said
from windlass.sdk.client import new_run_id
from windlass.worker.sandbox import Protections, Tried

NOOP = b"id: noop\nsteps: {a: {kind: noop}}"


def doctor(data: Path, *words: str) -> Done:
    return command("doctor", "--data", data, *words)


def found(done: Done) -> dict[str, tuple[str, str]]:
    """What `--json` says: check → (status, message)."""
    answer: dict[str, Any] = json.loads(done.stdout)
    assert answer["ok"] == (done.returncode == 0)
    return {item["check"]: (item["status"], item["message"]) for item in answer["items"]}


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """A data folder in which an engine has worked."""
    with serving(tmp_path / "data") as (up, client):
        client.apply("noop", NOOP, "application/yaml")
        client.start("noop", run_id=new_run_id())
        assert up.stop() == 0
    return tmp_path / "data"


def change(data: Path, *statements: str) -> None:
    with closing(sqlite3.connect(data / "windlass.db", isolation_level=None)) as cx:
        for statement in statements:
            cx.execute(statement)


def test_an_empty_place_is_fit(tmp_path: Path) -> None:
    done = doctor(tmp_path / "data", "--port", "0")
    assert done.returncode == 0, done.stdout
    assert {line.split("  ")[0] for line in done.stdout.splitlines()} == set(checkup.CHECKS)
    assert "fail" not in done.stdout
    assert not list(tmp_path.iterdir())


def test_a_running_engine_is_recognised(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as (up, client):
        port = client.url.rpartition(":")[2]
        seen = found(doctor(tmp_path / "data", "--port", port, "--json"))
        assert {state for state, _ in seen.values()} <= {"ok", "warn"}
        assert f"held by process {up.pid}" in seen["lock"][1]
        assert seen["port"] == ("ok", f"127.0.0.1:{port} is our engine's")
        assert seen["server"] == ("ok", f"{client.url} is ready")
        assert "undamaged" in seen["journal"][1]
        # It was not disturbed.
        assert up.stop() == 0
        assert not up.err


def test_an_engine_at_another_address_is_noticed(used: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, serving(used) as (up, client):
        port = str(taken.getsockname()[1])
        taken.close()
        seen = found(doctor(used, "--port", port, "--json"))
        assert seen["server"][0] == "warn"
        assert f"process {up.pid} has the journal and does not answer" in seen["server"][1]
        named = found(doctor(used, "--port", port, "--server", client.url, "--json"))
        assert named["server"] == ("ok", f"{client.url} is ready")


def spoil(data: Path) -> None:
    content = bytearray((data / "windlass.db").read_bytes())
    content[4096 * 3 : 4096 * 6] = b"\xa5" * (4096 * 3)
    (data / "windlass.db").write_bytes(content)


def overwrite(data: Path) -> None:
    (data / "windlass.db").write_text("something else entirely " * 500)


def make_newer(data: Path) -> None:
    change(data, "INSERT INTO migrations VALUES (999, 'later')")


def set_clock_back(data: Path) -> None:
    change(data, f"UPDATE runs SET started_at = {time.time() + 3600}")


@pytest.mark.parametrize(
    ("harm", "check", "words"),
    [
        (spoil, "journal", "is damaged"),
        (overwrite, "journal", "it is no SQLite database"),
        (make_newer, "journal", "newer Windlass"),
        (set_clock_back, "clock", "behind the newest run"),
    ],
)
def test_what_is_wrong_is_found(used: Path, harm: Callable[[Path], None], check: str, words: str) -> None:
    harm(used)
    before = (used / "windlass.db").read_bytes()
    done = doctor(used, "--port", "0", "--json")
    assert done.returncode == 1
    state, message = found(done)[check]
    assert state == "fail"
    assert words in message
    assert (used / "windlass.db").read_bytes() == before
    told = doctor(used, "--port", "0")
    assert told.returncode == 1
    assert f"1 to mend: {check}" in told.stdout


def test_a_journal_whose_engine_was_killed_is_sound(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as (up, client):
        client.apply("noop", NOOP, "application/yaml")
        up.stop(signal.SIGKILL)
    seen = found(doctor(tmp_path / "data", "--port", "0", "--json"))
    assert seen["journal"][0] == "ok"
    assert seen["lock"] == ("ok", "nobody has the journal open")


def test_a_file_where_the_folder_should_be_is_found(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    state, message = found(doctor(tmp_path / "file" / "data", "--port", "0", "--json"))["data folder"]
    assert state == "fail"
    assert "name another folder with --data" in message


def test_a_port_of_somebody_else_is_found_and_who_has_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = doctor(tmp_path, "--port", port, "--json")
    assert done.returncode == 1
    state, message = found(done)["port"]
    assert state == "fail"
    assert "is taken by process" in message and "--port" in message


def test_a_named_server_has_to_answer(tmp_path: Path) -> None:
    done = doctor(tmp_path, "--port", "0", "--server", "http://127.0.0.1:9", "--json")
    assert done.returncode == 1
    assert found(done)["server"][0] == "fail"


@pytest.mark.parametrize(
    ("free", "kind", "state"),
    [
        (50_000_000_000, "ext4", "ok"),
        (500_000_000, "ext4", "warn"),
        (50_000_000, "ext4", "fail"),
        (50_000_000_000, "nfs4", "warn"),
        (50_000_000_000, "tmpfs", "warn"),
    ],
)
def test_the_disk_is_local_and_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, kind: str, state: str
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": free}))
    monkeypatch.setattr(checkup, "_filesystem", lambda _: kind)
    place = Place(tmp_path, "127.0.0.1", 0, "http://127.0.0.1:9", named=False, environ={})
    assert checkup.CHECKS["disk"](place)[0] == state


def test_every_sandbox_is_said_with_why_it_does_not_work_and_what_the_best_lacks() -> None:
    held = Protections(filesystem=True, network=True, processes=True, memory_watched=True, cpu=True)
    tried = [
        Tried("bubblewrap+cgroup", False, "no control group could be made"),
        Tried("bubblewrap", True, "", replace(held, disk=True, inodes=True, seccomp=True, environment=True)),
        Tried("landlock", True, "", held),
        Tried("gvisor", False, "runsc is not installed"),
    ]
    state, said = sandboxes_said(tried)
    assert state == "ok" and said == (
        "bubblewrap, which does not bound memory_hard. "
        "bubblewrap+cgroup does not: no control group could be made; bubblewrap works; "
        "landlock works; gvisor (with --sandbox gvisor) does not: runsc is not installed"
    )
    only_on_request = [*(Tried(one.name, False, "forbidden") for one in tried[:3]), Tried("gvisor", True, "")]
    state, said = sandboxes_said(only_on_request)
    assert state == "warn" and "do not run" in said and said.endswith("gvisor (with --sandbox gvisor) works")
