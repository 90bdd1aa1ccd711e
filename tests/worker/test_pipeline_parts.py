"""The parts of a pipeline's process, one by one: rows of files, rows seen before, numbers in rows."""

import csv
import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.rig import a_task
from windlass.worker.pipeline import Trouble
from windlass.worker.pipeline import lines as reading
from windlass.worker.pipeline import seen as remembering
from windlass.worker.pipeline.files import Folders
from windlass.worker.pipeline.lines import lines, records
from windlass.worker.pipeline.numbers import field_of, number
from windlass.worker.pipeline.parts import Parts
from windlass.worker.pipeline.seen import Seen

TEXTS = st.text('ab\n\r," é数', max_size=60)


def file_of(data: bytes) -> int:
    """A file that nobody else knows of."""
    file = os.memfd_create("rows")
    os.write(file, data)
    os.lseek(file, 0, os.SEEK_SET)
    return file


def read(data: bytes, encoding: str = "utf-8") -> list[str]:
    return [row for chunk in lines(file_of(data), "f", encoding) for row in chunk]


@given(text=TEXTS, chunk_bytes=st.integers(1, 9), encoding=st.sampled_from(["utf-8", "gb18030"]))
def test_the_lines_of_a_file_are_the_same_however_it_is_cut(
    text: str, chunk_bytes: int, encoding: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "CHUNK_BYTES", chunk_bytes)
        found = read(text.encode(encoding), encoding)
    *ended, rest = text.split("\n")
    assert found == [line.removesuffix("\r") for line in [*ended, *([rest] if rest else [])]]


FIELDS = st.lists(st.lists(st.text('ab\r\n;" ', max_size=6), min_size=2, max_size=4), max_size=8)


@given(table=FIELDS, chunk_bytes=st.integers(1, 9), end=st.sampled_from(["\n", "\r\n"]))
def test_the_rows_of_a_csv_file_are_those_that_were_written(
    table: list[list[str]], chunk_bytes: int, end: str
) -> None:
    """By an independent writer, read back row by row with an independent reader."""
    if end == "\n":  # the writer would not quote it, and nobody could tell it from the end of a line
        table = [[field.replace("\r", "") for field in row] for row in table]
    written = io.StringIO(newline="")
    csv.writer(written, delimiter=";", lineterminator=end).writerows(table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "CHUNK_BYTES", chunk_bytes)
        file = file_of(written.getvalue().encode())
        chunks = records(lines(file, "f", "utf-8", keep_cr=True), "f", ";")
        rows = [row for chunk in chunks for row in chunk]
    assert [next(csv.reader(io.StringIO(row, newline=""), delimiter=";")) for row in rows] == table


def test_a_quote_in_the_middle_of_a_field_is_a_sign_like_any_other() -> None:
    def of(text: str) -> list[str]:
        return [row for chunk in records(iter([text.split("\n")]), "f", ",") for row in chunk]

    assert of('5" pipe,1\n6" pipe,2') == ['5" pipe,1', '6" pipe,2']
    assert of('a,"b\nc" rest,d\ne') == ['a,"b\nc" rest,d', "e"]
    assert of('""\n"",""\n\n"x"') == ['""', '"",""', '"x"']


@given(
    rows=st.lists(st.text("abc", max_size=2), max_size=80),
    in_memory=st.integers(0, 12),
    size=st.integers(1, 7),
)
def test_rows_are_seen_once_in_memory_and_on_disk(rows: list[str], in_memory: int, size: int) -> None:
    seen, found = Seen(in_memory), list[str]()
    for start in range(0, len(rows), size):
        found += seen.new(rows[start : start + size])
    seen.close()
    assert found == list(dict.fromkeys(rows))


def test_what_was_seen_leaves_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembering, "CACHE_KIB", 100)
    seen = Seen(in_memory=10)
    seen.new(list(map(str, range(20_000))))
    # It is so large that it is on disk, but it has no name there any more.
    (name,) = [name for name in open_files() if "etilqs_" in name]
    assert name.endswith(" (deleted)")
    seen.close()


def open_files() -> Iterator[str]:
    for fd in os.listdir("/proc/self/fd"):
        try:
            yield os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            continue


def test_who_append_to_one_file_at_the_same_time_lose_no_rows(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("old")
    folders = Folders([str(tmp_path)])
    begun = []
    for run in ("one", "two", "three"):
        parts = Parts(folders, a_task("pipeline", {}))
        part, other = (parts.begin(path, append=True) for path in ("log.txt", "new.txt"))
        for each in (part, other):
            each.write(f"{run} a\n{run} b\n".encode())
            each.sync()
        begun.append(parts)
    (tmp_path / "log.txt").chmod(0o640)
    for parts in begun:
        parts.keep()
    added = [f"{run} {row}" for run in ("one", "two", "three") for row in "ab"]
    assert (tmp_path / "log.txt").read_text().splitlines() == ["old", *added]
    assert (tmp_path / "new.txt").read_text().splitlines() == added
    assert sorted(os.listdir(tmp_path)) == ["log.txt", "new.txt"]


def test_of_two_that_may_not_overwrite_a_file_only_the_first_leaves_one(tmp_path: Path) -> None:
    first, second = (Parts(Folders([str(tmp_path)]), a_task("pipeline", {})) for _ in range(2))
    for parts in (first, second):
        parts.begin("a.json", overwrite=False)
        parts.begin("b.txt")
    first.keep()
    made = (tmp_path / "b.txt").stat().st_ino
    with pytest.raises(Trouble, match=r"a\.json is there already"):
        second.keep()
    second.drop()
    assert sorted(os.listdir(tmp_path)) == ["a.json", "b.txt"]
    assert (tmp_path / "b.txt").stat().st_ino == made


def test_who_appends_to_a_file_that_is_taken_away_leaves_its_own_rows(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("old\n")
    parts = Parts(Folders([str(tmp_path)]), a_task("pipeline", {}))
    parts.begin("log.txt", append=True).write(b"new\n")
    (tmp_path / "log.txt").unlink()
    parts.keep()
    assert (tmp_path / "log.txt").read_text() == "new\n"


def test_a_disk_that_is_full_is_told_as_such() -> None:
    seen = Seen(in_memory=1)
    seen.new(["a", "b"])
    assert seen._disk is not None
    seen._disk.execute("PRAGMA max_page_count = 1")
    with pytest.raises(Trouble, match="disk is full") as full:
        seen.new([f"row {i}" for i in range(10_000)])
    assert (full.value.type, full.value.retryable) == ("OSError", True)
    seen.close()


@given(st.lists(st.text(alphabet='a",;\n '), min_size=1, max_size=5), st.sampled_from([",", ";", "a,"]))
def test_a_field_of_a_row_is_the_one_that_was_written(fields: list[str], delimiter: str) -> None:
    quoted = ['"' + field.replace('"', '""') + '"' for field in fields]
    assert [field_of(delimiter.join(quoted), i, delimiter) for i in range(len(fields) + 1)] == [*quoted, ""]


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("7", 7), (" -7 ", -7), ('"7"', 7), ('" 7 "', 7), ("7.50", 7.5), (".5", 0.5), ("1e3", 1000.0),
        ("", None), ("x", None), ("nan", None), ("inf", None), ("1_0", None), ("7 8", None), ("²", None),
        ("\u0667", None), ('"', None), ("0x10", None), (str(2**64), 2**64),
    ],
)  # fmt: skip
def test_a_number_is_a_number_and_nothing_else(field: str, expected: float | None) -> None:
    assert number(field) == expected
