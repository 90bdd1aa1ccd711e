"""What workers say, made fit to be passed on: nothing of it is believed to be sound."""

from __future__ import annotations

import math
from typing import Final

import msgspec

from windlass.core.log import LINE_BYTES_MAX, Line, Printed
from windlass.core.task import CONTEXT_BYTES_MAX, VALUE_BYTES_MAX, Failure, Json, Outcome
from windlass.engine.greeting import Rejection
from windlass.wire import crew

PROGRESS_BYTES_MAX: Final = 64 * 1024
OUTCOME_BYTES_MAX: Final = VALUE_BYTES_MAX + CONTEXT_BYTES_MAX + 64 * 1024
TOOK_S_MAX: Final = 366 * 86400.0
TRIP_S_MAX: Final = 60.0
TRIP_WEIGHT: Final = 0.2  # of the newest one in the average
UNREADABLE: Final = (msgspec.MsgspecError, ValueError, RecursionError)


def share(given: float) -> float:
    """Of a whole; what makes no sense is nothing."""
    return min(max(given, 0.0), 1.0) if math.isfinite(given) else 0.0


def took_s(given: float) -> float:
    return min(max(given, 0.0), TOOK_S_MAX) if math.isfinite(given) else 0.0


def trip_s(known: float, given: float) -> float:
    """The average, with one more in it."""
    if not math.isfinite(given) or given <= 0:
        return known
    given = min(given, TRIP_S_MAX)
    return known + TRIP_WEIGHT * (given - known) if known else given


def details(body: bytes) -> Json:
    """Raises Rejection. What is too long is nothing: the task lives, and that is what counts."""
    if len(body) > PROGRESS_BYTES_MAX:
        return None
    try:
        return msgspec.json.decode(body)
    except UNREADABLE:
        raise Rejection("protocol", "the details of a task's progress are no JSON") from None


def outcome(body: bytes) -> Outcome:
    """What cannot be read is a failure: the step has to end all the same."""
    if len(body) > OUTCOME_BYTES_MAX:
        return Failure("TooLarge", f"the result is {len(body):,} bytes as JSON", retryable=False)
    try:
        return crew.decode_outcome(body)
    except UNREADABLE as error:
        return Failure("BadResult", f"the worker's result cannot be read: {error}", retryable=False)


def printed(given: Printed) -> Printed:
    return msgspec.structs.replace(given, lines=[_bounded(line) for line in given.lines])


def _bounded(line: Line) -> Line:
    if len(line.text) <= LINE_BYTES_MAX:
        return line
    return msgspec.structs.replace(line, text=line.text[:LINE_BYTES_MAX])
