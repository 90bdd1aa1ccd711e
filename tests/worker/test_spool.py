"""Results on disk: whole or not at all, bounded, for one process, and there again after its death."""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.waiting import wait_until
from tests.worker.rig import a_task
from windlass.core.names import WorkerId
from windlass.worker import spool as spools
from windlass.worker.home import open_home
from windlass.worker.spool import DiskSpool, FolderTaken, MemorySpool, Result, Spool

ME = WorkerId("w1")
ROOT = Path(__file__).resolve().parents[2]


def a_result(number: int, size: int = 10) -> Result:
    return Result(a_task("noop").name, f"token-{number}", b"x" * size, 1.5, 0.5)


@contextmanager
def opened(folder: Path, worker: WorkerId = ME, **bounds: int) -> Iterator[DiskSpool]:
    spool = DiskSpool(folder, worker, **bounds)
    try:
        yield spool
    finally:
        spool.close()


def files(folder: Path, suffix: str = ".result") -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix == suffix)


@pytest.mark.parametrize("kind", ["memory", "disk"])
def test_a_result_is_there_until_it_is_dropped(tmp_path: Path, kind: str) -> None:
    with opened(tmp_path) as disk:
        spool: Spool = disk if kind == "disk" else MemorySpool()
        results = [a_result(n) for n in (1, 2, 3)]
        for result in results:
            spool.put(result)
        if kind == "disk":
            disk.written().result(5)
        assert [spool.read(result.token) for result in results] == results
        spool.drop("token-2")
        spool.drop("of something else")
        assert spool.read("token-2") is None
        assert "token-2" not in spool
        assert "token-1" in spool
        assert spool.names() == {"token-1": results[0].name, "token-3": results[2].name}


def test_the_next_process_finds_what_the_last_one_left_in_its_order(tmp_path: Path) -> None:
    results = [a_result(n) for n in range(12)]
    with opened(tmp_path) as spool:
        for result in results:
            spool.put(result)
        spool.drop("token-3")
    del results[3]
    with opened(tmp_path) as spool:
        assert list(spool.names().items()) == [(result.token, result.name) for result in results]
        assert [spool.read(result.token) for result in results] == results
        spool.put(newest := a_result(99))
    with opened(tmp_path) as spool:
        assert list(spool.names())[-1] == newest.token


def test_what_is_written_leaves_memory_and_what_was_dropped_leaves_the_disk(tmp_path: Path) -> None:
    with opened(tmp_path) as spool:
        spool.put(a_result(1))
        spool.put(a_result(2))
        spool.written().result(5)
        assert [entry.result for entry in spool._entries.values()] == [None, None]
        assert len(files(tmp_path)) == 2
        spool.drop("token-1")
        spool.written().result(5)
        assert len(files(tmp_path)) == 1


def test_it_is_full_by_number_and_by_size_and_what_runs_still_fits(tmp_path: Path) -> None:
    with opened(tmp_path, results_max=2) as spool:
        spool.put(a_result(1))
        assert not spool.full
        spool.put(a_result(2))
        assert spool.full
        spool.put(a_result(3))
        assert len(spool.names()) == 3
        spool.drop("token-1")
        spool.drop("token-2")
        assert not spool.full
    with opened(tmp_path, bytes_max=1000) as spool:
        spool.put(a_result(4, size=1000))
        assert spool.full
        spool.drop("token-4")
        assert not spool.full


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_a_broken_file_is_set_aside_and_said_once(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(tmp_path) as spool:
        spool.put(a_result(1, size=100))
        spool.put(a_result(2))
    path = tmp_path / files(tmp_path)[0]
    raw = path.read_bytes()
    path.write_bytes({"cut": raw[:-5], "flipped": raw[:50] + b"!" + raw[51:], "empty": b""}[damage])
    for _ in range(2):
        with opened(tmp_path) as spool:
            assert list(spool.names()) == ["token-2"]
    assert [record.message for record in caplog.records] == ["a result cannot be read; it is set aside"]
    assert len(files(tmp_path, ".corrupt")) == 1


def test_a_file_that_breaks_under_a_living_worker_is_not_said_to_anybody(tmp_path: Path) -> None:
    with opened(tmp_path) as spool:
        spool.put(a_result(1))
        spool.written().result(5)
        (tmp_path / files(tmp_path)[0]).write_bytes(b"broken")
        assert spool.read("token-1") is None
        assert spool.names() == {}


def test_half_a_file_of_a_dead_writer_is_removed(tmp_path: Path) -> None:
    (tmp_path / "0000000000000001.new").write_bytes(b"half")
    with opened(tmp_path) as spool:
        assert spool.names() == {}
    assert files(tmp_path, ".new") == []


def test_a_disk_that_is_full_costs_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(path: Path, raw: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spools, "_write_whole", fail)
    with opened(tmp_path) as spool:
        results = [a_result(1), a_result(2)]
        for result in results:
            spool.put(result)
        spool.written().result(5)
        assert [spool.read(result.token) for result in results] == results
    assert [record.message for record in caplog.records] == ["results cannot be written"]


def test_results_of_a_worker_with_another_name_stay_where_they_are(tmp_path: Path) -> None:
    with opened(tmp_path) as spool:
        spool.put(a_result(1))
    with opened(tmp_path, WorkerId("w2")) as spool:
        assert spool.names() == {}
        spool.put(a_result(2))
    with opened(tmp_path) as spool:
        assert list(spool.names()) == ["token-1"]


def test_two_processes_cannot_use_one_folder(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as other:  # another description: flock takes it for another process
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(FolderTaken, match="--data"):
            DiskSpool(tmp_path, ME)
    with opened(tmp_path) as spool:
        assert spool.names() == {}


PUTS = """
import sys
from pathlib import Path
from windlass.worker.spool import DiskSpool, Result
spool = DiskSpool(Path(sys.argv[1]), "w1")
for number in range(100_000):
    spool.put(Result(("default", "r", "s", 1), f"token-{number}", b"x" * 5000, 0.0, 0.0))
    spool.written().result()
    print(number, flush=True)
"""


def test_what_was_written_survives_the_death_of_its_writer_at_any_moment(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PUTS, str(tmp_path)], stdout=subprocess.PIPE, cwd=ROOT, text=True
    ) as process:
        assert process.stdout is not None
        told = [int(process.stdout.readline()) for _ in range(20)]
        os.kill(process.pid, signal.SIGKILL)
        told += map(int, process.stdout.read().split())
    wait_until(lambda: process.poll() is not None)
    with opened(tmp_path) as spool:
        names = list(spool.names())
        assert names[: len(told)] == [f"token-{number}" for number in told]
        for token in names:
            result = spool.read(token)
            assert result is not None
            assert result.outcome == b"x" * 5000
    assert files(tmp_path, ".corrupt") == []


def test_a_worker_without_a_name_keeps_the_one_it_made_up_and_two_have_two(tmp_path: Path) -> None:
    first = open_home(None, "", above=tmp_path, made_up="host-1")
    second = open_home(None, "", above=tmp_path, made_up="host-2")
    assert [first.name, second.name] == ["host-1", "host-2"]
    assert first.folder != second.folder
    first.spool.close()
    again = open_home(None, "", above=tmp_path, made_up="host-3")
    assert (again.name, again.folder) == ("host-1", first.folder)
    again.spool.close()
    second.spool.close()
    named = open_home(None, "gpu:1", above=tmp_path, made_up="host-4")
    assert (named.name, named.folder) == ("gpu:1", (tmp_path / "worker-gpu_1").resolve())
    named.spool.close()
