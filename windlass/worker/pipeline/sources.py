"""Where rows come from."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from itertools import islice
from typing import Final, assert_never

from windlass.core.stage_configs import (
    Collection,
    CsvFile,
    RandomNumbers,
    SequenceNumbers,
    Source,
    TextFile,
)
from windlass.worker.pipeline import CHUNK_BYTES, CHUNK_ROWS, Rows
from windlass.worker.pipeline.files import Folders
from windlass.worker.pipeline.lines import lines, records

_EVEN: Final = 2**32  # of so many numbers, a random one can be had from a float without a bias worth naming


def rows_of(source: Source, folders: Folders) -> Iterator[Rows]:
    """Its rows in chunks, made when they are asked for. Raises Trouble, also while it is read."""
    match source:
        case RandomNumbers():
            return _random(source)
        case SequenceNumbers():
            return _sequence(source)
        case TextFile():
            return lines(folders.read(source.path), source.path, source.encoding)
        case CsvFile():
            return _csv(source, folders)
        case Collection():
            return _collection(source)
        case _:
            assert_never(source)


def check(source: Source, folders: Folders) -> None:
    """Whether its file is there: better known before other sources have been read for an hour."""
    if isinstance(source, TextFile | CsvFile):
        os.close(folders.read(source.path))


def _random(source: RandomNumbers) -> Iterator[Rows]:
    """Others at each attempt: nobody can count on them."""
    chance, span = random.Random(), source.high - source.low + 1
    numbers = range(source.low, source.high + 1)
    left = source.count
    while left > 0:
        count = min(left, CHUNK_ROWS)
        left -= count
        if span <= _EVEN:
            yield list(map(str, chance.choices(numbers, k=count)))
        else:
            yield [str(chance.randint(source.low, source.high)) for _ in range(count)]


def _sequence(source: SequenceNumbers) -> Iterator[Rows]:
    step = source.step
    end = source.end + (1 if step > 0 else -1)
    numbers = iter(range(source.start, end, step))
    while rows := list(map(str, islice(numbers, CHUNK_ROWS))):
        yield rows


def _csv(source: CsvFile, folders: Folders) -> Iterator[Rows]:
    read = lines(folders.read(source.path), source.path, source.encoding, keep_cr=True)
    rows = records(read, source.path, source.delimiter)
    return _without_first(rows) if source.skip_header else rows


def _without_first(chunks: Iterator[Rows]) -> Iterator[Rows]:
    for chunk in chunks:
        if chunk[1:]:
            yield chunk[1:]
        break
    yield from chunks


def _collection(source: Collection) -> Iterator[Rows]:
    rows: Rows = []
    size = 0
    for row in source.rows:
        rows.append(row)
        size += len(row)
        if len(rows) >= CHUNK_ROWS or size > CHUNK_BYTES:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows
