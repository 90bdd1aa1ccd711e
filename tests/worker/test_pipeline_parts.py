"""The parts of a pipeline's process, one by one: rows of files, rows seen before, numbers in rows."""

import csv
import io
import os
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.worker.pipeline import lines as reading
from windlass.worker.pipeline import seen as remembering
from windlass.worker.pipeline.lines import lines, records
from windlass.worker.pipeline.numbers import number
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


FIELDS = st.lists(st.lists(st.text('ab\n;" ', max_size=6), min_size=2, max_size=4), max_size=8)


@given(table=FIELDS, chunk_bytes=st.integers(1, 9))
def test_the_rows_of_a_csv_file_are_those_that_were_written(table: list[list[str]], chunk_bytes: int) -> None:
    """By an independent writer, read back row by row with an independent reader."""
    written = io.StringIO()
    csv.writer(written, delimiter=";", lineterminator="\n").writerows(table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "CHUNK_BYTES", chunk_bytes)
        chunks = records(lines(file_of(written.getvalue().encode()), "f", "utf-8"), "f", ";")
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
