"""The pipeline's process: runs one pipeline after another until it is killed or has grown large.

It talks to its minder over two pipes, as the Python child does (worker/child.py). What it prints is the log.
"""

from __future__ import annotations

import os
import resource
import sys
from io import TextIOWrapper
from typing import Final

import msgspec

from windlass.core.faults import Faults
from windlass.core.fields import Fields
from windlass.core.pipeline_step import KEYS, Pipeline, read
from windlass.core.task import Failure, Json, Outcome, Success
from windlass.worker import frames
from windlass.worker.minder import ANSWER_FD, KEEP, PROGRESS, REPLACE, REQUEST_FD
from windlass.worker.pipeline import Request, Trouble
from windlass.worker.pipeline.files import Folders
from windlass.worker.pipeline.flow import Flow, Tell
from windlass.worker.pipeline.parts import Parts
from windlass.worker.telling import Telling
from windlass.worker.values import TooLarge

KEPT_KIB_MAX: Final = 128 * 1024  # one that has held more is not kept for the next


def main() -> None:
    for fd in (REQUEST_FD, ANSWER_FD):
        os.set_inheritable(fd, False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    decode, encode = msgspec.json.Decoder(Request).decode, msgspec.json.Encoder().encode
    while (request := frames.request()) is not None:
        outcome = run(decode(request), Telling(lambda details: frames.answer(PROGRESS, details)))
        sys.stdout.flush()
        small = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < KEPT_KIB_MAX
        frames.answer(KEEP if small else REPLACE, encode(outcome))


def run(request: Request, tell: Tell) -> Outcome:
    """Files are there when this is a Success, and no trace of them when it is a Failure."""
    faults = Faults()
    pipeline = read(Fields(request.task.with_, "with", faults, KEYS), filled=True)
    if faults.count:
        message = "; ".join(f"{fault.pointer}: {fault.message}" for fault in faults.listed)
        return Failure("BadStep", message, retryable=False)
    folders = Folders(request.folders)
    return _run(pipeline, folders, Parts(folders, request.task), _bounded(tell))


def _run(pipeline: Pipeline, folders: Folders, parts: Parts, tell: Tell) -> Outcome:
    flow = Flow(pipeline, tell)
    try:
        flow.run(folders, parts)
        parts.keep()
    except Trouble as trouble:
        parts.drop()
        flow.blame(str(trouble))
        return Failure(trouble.type, str(trouble), retryable=trouble.retryable, stages=flow.reports())
    except (OSError, MemoryError) as error:
        parts.drop()
        flow.blame(str(error))
        return Failure(type(error).__name__, str(error) or "out of memory", stages=flow.reports())
    sys.stdout.writelines(f"{note}\n" for note in flow.notes())
    return Success(flow.output(), stages=flow.reports())


def _bounded(tell: Tell) -> Tell:
    """So many stages with such long names that they are too much to tell: it lives, all the same."""

    def bounded(details: Json) -> None:
        try:
            tell(details)
        except TooLarge:
            tell(None)

    return bounded
