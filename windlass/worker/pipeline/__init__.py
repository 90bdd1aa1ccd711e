"""Runs a step of kind `pipeline`: rows flow from its sources through its stages into its sinks.

    worker ── minder ──▶ the pipeline's process (child.py)
                            source ──▶ transform ──▶ sink        rows go in chunks: lists of texts,
                               └──────────────────▶ sink         one chunk at a time through the whole graph

It runs in a process of its own, which holds none of the users' code, so that it can be killed at any moment.
No chunk is read before the one before it has gone all the way: what is in memory does not grow with the rows.
File sinks write into a file beside the one they are to leave, and take its place when all has gone well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from windlass.core.task import Task

CHUNK_ROWS: Final = 1000
CHUNK_BYTES: Final = 128 * 1024  # of a file, at a time
ROW_CHARS_MAX: Final = 1024 * 1024

BOOTSTRAP: Final = (
    "import sys; sys.path.append(sys.argv[1]); from windlass.worker.pipeline.child import main; main()"
)

Rows = list[str]  # a chunk: never changed by who is handed it, for others may be, too
Facts = Mapping[str, int | float | str]  # what a stage has found out, for the output of the step


class Request(msgspec.Struct, frozen=True):
    """What the process is asked for. Relative paths are under the first folder."""

    task: Task
    folders: tuple[str, ...]


class Trouble(Exception):
    """Why a pipeline cannot go on; `type` is what users see, and write under `retry.not_on`."""

    def __init__(self, type: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.type = type
        self.retryable = retryable


def forbidden(message: str) -> Trouble:
    return Trouble("Forbidden", message)


def bad_row(message: str) -> Trouble:
    return Trouble("BadRow", message)
