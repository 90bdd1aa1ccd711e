"""A journal that somebody locked, protected, cut, replaced or wrote with a newer Windlass."""

import re
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.bad_days.disks import Disk, disk
from tests.bad_days.house import House, house, started
from tests.bad_days.work import Work
from tests.waiting import wait_until

MEGABYTE = 1024 * 1024


@contextmanager
def locked(journal: Path) -> Iterator[None]:
    """By another program, for as long as this lasts."""
    with closing(sqlite3.connect(journal, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield


def refusal(data: Path, *, on: Disk | None = None) -> str:
    """The one line with which `windlass up` ends on this folder."""
    options = ["--data", str(data), "--port", "0"]
    with started(*options, cwd=data.parent.parent, prefix=on.prefix if on else ()) as up:
        assert up.wait() == 1
    assert up.out == []
    (line,) = up.err
    assert line.startswith("error: ")
    assert str(data) in line
    return line


def used(folder: Path) -> Path:
    """The data folder of an engine that was stopped: a run has ended in it."""
    with house(folder) as home:
        assert home.play({"id": "kept", "steps": {"a": {"kind": "noop"}}})["status"] == "succeeded"
        assert home.engine.stop() == 0
    return folder / "data"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A journal in which something was kept."""
    return (used(tmp_path_factory.mktemp("sound")) / "windlass.db").read_bytes()


@pytest.fixture
def journal(tmp_path: Path, sound: bytes) -> Path:
    """The same, for each test anew."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "windlass.db").write_bytes(sound)
    return tmp_path / "data" / "windlass.db"


def knows_the_run(home: House) -> bool:
    runs = home.api("GET", "runs").body["items"]
    return [run["status"] for run in runs] == ["succeeded"]


# While it runs


def test_a_journal_that_is_locked_for_a_while_delays_but_loses_nothing(tmp_path: Path) -> None:
    with house(tmp_path) as home, ThreadPoolExecutor(1) as thread:
        work = Work(home)
        work.begin()
        with locked(tmp_path / "data" / "windlass.db"):
            first = thread.submit(work.start, "late-0")
            wait_until(lambda: home.ready().status == 503)
            assert home.ready().body["status"].startswith("journal busy")
            answers = {**work.start_many(), "late-0": first.result()}
            for answer in answers.values():
                assert answer.status in (503, 504), answer
            assert [run["id"] for run in home.api("GET", "runs").body["items"]] == work.runs[::-1]
            work.gate.touch()
        work.ends_well(answers)
        assert home.engine.stop() == 0
        assert "the journal cannot be written; waiting  error=database is locked" in home.engine.says
    work.is_recorded_once(tmp_path / "data" / "windlass.db")


# When it starts


def test_a_locked_journal_is_refused_and_used_once_it_is_free(journal: Path, tmp_path: Path) -> None:
    with locked(journal):
        line = refusal(journal.parent)
    assert line.endswith(
        "cannot be written: database is locked; mend that, or name another folder with --data\n"
    )
    with house(tmp_path) as home:
        assert knows_the_run(home)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path, sound: bytes) -> None:
    with disk(tmp_path / "disk", 4 * MEGABYTE) as small:
        (small.here / "data").mkdir()
        (small.here / "data" / "windlass.db").write_bytes(sound)
        small.mount("-o", "remount,ro", str(small.place))
        line = refusal(small.place / "data", on=small)
        assert "cannot write beside the journal" in line
        assert line.endswith("Read-only file system; choose another folder with --data\n")
        line = refusal(small.place / "new", on=small)
        assert line.endswith("cannot be made: Read-only file system; name another folder with --data\n")
        small.mount("-o", "remount,rw", str(small.place))
        with house(tmp_path, data=small.place / "data", prefix=small.prefix) as home:
            assert knows_the_run(home)


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path, sound: bytes) -> None:
    with disk(tmp_path / "disk", 4 * MEGABYTE) as small:
        (small.here / "data").mkdir()
        (small.here / "data" / "windlass.db").write_bytes(sound)
        file = str(small.place / "data" / "windlass.db")
        small.mount("--bind", file, file)
        small.mount("-o", "remount,ro,bind", file)
        line = refusal(small.place / "data", on=small)
        assert "readonly database; mend that, or " in line
        assert line.endswith("folder with --data\n")


@pytest.mark.parametrize("part", [0.5, 0.1])
def test_a_truncated_journal_is_refused_and_left_alone(journal: Path, sound: bytes, part: float) -> None:
    journal.write_bytes(sound[: int(len(sound) * part)])
    line = refusal(journal.parent)
    assert re.search(r"is damaged \(.+\); restore it from a backup, rescue what is left with `sqlite3 ", line)
    assert line.endswith("or choose another folder with --data\n")
    assert journal.read_bytes() == sound[: int(len(sound) * part)]


def test_a_journal_cut_to_nothing_beside_commits_that_wait_is_refused(journal: Path) -> None:
    journal.with_name("windlass.db-wal").write_bytes(b"commits")
    journal.write_bytes(b"")
    line = refusal(journal.parent)
    assert "is damaged (the file is empty or gone, but commits wait beside it); restore it from a" in line
    assert journal.with_name("windlass.db-wal").read_bytes() == b"commits"


def test_a_journal_of_a_newer_windlass_is_refused_and_left_alone(journal: Path) -> None:
    with closing(sqlite3.connect(journal)) as cx:
        cx.execute("INSERT INTO migrations VALUES (9999, 'tomorrow')")
        cx.commit()
    before = journal.read_bytes()
    line = refusal(journal.parent)
    assert re.search(
        r"was written by a newer Windlass \(its schema is 9999, this one knows \d+\); install the newer one",
        line,
    )
    assert journal.read_bytes() == before


def test_a_file_full_of_garbage_is_refused_and_left_alone(journal: Path) -> None:
    journal.write_bytes(b"Dear diary, " * 1000)
    line = refusal(journal.parent)
    assert "is not a journal (it is no SQLite database); move it away, or choose another folder" in line
    assert journal.read_bytes() == b"Dear diary, " * 1000


def test_pages_full_of_garbage_are_refused(journal: Path, sound: bytes) -> None:
    journal.write_bytes(sound[:4096] + b"\xa5" * (len(sound) - 4096))
    assert "is damaged (" in refusal(journal.parent)


def test_a_database_of_another_program_is_refused_and_left_alone(journal: Path) -> None:
    journal.unlink()
    with closing(sqlite3.connect(journal)) as cx:
        cx.execute("CREATE TABLE diary (day TEXT)")
    before = journal.read_bytes()
    line = refusal(journal.parent)
    assert line.endswith(
        "is a database of another program; move it away, or choose another folder with --data\n"
    )
    assert journal.read_bytes() == before


def test_a_folder_in_place_of_the_journal_is_refused(journal: Path) -> None:
    journal.unlink()
    journal.mkdir()
    assert refusal(journal.parent).endswith("mend that, or choose another folder with --data\n")


def test_a_journal_on_a_full_disk_cannot_be_made_and_leaves_no_half_of_it(tmp_path: Path) -> None:
    with disk(tmp_path / "disk", 4 * MEGABYTE) as small:
        small.fill()
        line = refusal(small.place / "data", on=small)
        assert "No space left on device" in line or "is full" in line
        small.free()
        with house(tmp_path, data=small.place / "data", prefix=small.prefix) as home:
            assert home.play({"id": "kept", "steps": {"a": {"kind": "noop"}}})["status"] == "succeeded"
