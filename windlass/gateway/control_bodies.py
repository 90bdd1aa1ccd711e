"""Bodies that carry values into a run: signals, and what a run is to be made of once more."""

from __future__ import annotations

import re
from typing import Final, TypeVar

import msgspec

from windlass.core import plain
from windlass.core.control_steps import SIGNAL
from windlass.core.errors import Fault, Invalid
from windlass.core.faults import Faults
from windlass.core.task import VALUE_BYTES_MAX, Json
from windlass.gateway import bodies, storable
from windlass.gateway.answers import Problem
from windlass.gateway.control_shapes import Rerun, Signal
from windlass.gateway.guard import Kind
from windlass.gateway.parameters import ID

T = TypeVar("T")

_SIGNAL: Final = re.compile(SIGNAL)


def signal(body: bytes, kind: Kind) -> Signal:
    """Raises Invalid with its faults, or a Problem: 400, no JSON; 413, too large."""
    given = _read(body, kind, Signal)
    # Once more: the pattern of the type lets a line break at the end pass.
    if not _SIGNAL.fullmatch(given.name):
        raise _wrong("/name", "use 1 to 100 letters, digits and the characters . _ : -")
    check({"data": given.data})
    return given


def rerun(body: bytes, kind: Kind) -> Rerun:
    """What is asked for, all of it optional. Raises as `signal` does."""
    given = _read(body, kind, Rerun) if body.strip() else Rerun()
    if given.run_id is not None and not ID.fullmatch(given.run_id):
        raise _wrong("/runId", "use 1 to 200 letters, digits and the characters . _ : -")
    check({"patch": given.patch})
    if given.input is not msgspec.UNSET:
        check({"input": given.input})
    return given


def check(given: dict[str, Json]) -> None:
    """Whether the journal can keep these values, which are members of the body."""
    encoded = msgspec.json.encode(given)
    if len(encoded) > VALUE_BYTES_MAX:
        (name,) = given
        words = f"`{name}` takes {len(encoded)} bytes as JSON and may take {VALUE_BYTES_MAX}"
        message = f"{words}; pass large data by reference"
        raise Problem(413, "Too large", message, details=[Fault(f"/{name}", message)])
    flaw = storable.flaw(encoded)
    if flaw is None:
        return
    if len(encoded) <= plain.DOCUMENT_BYTES_MAX:
        faults = Faults()
        plain.check(given, faults)
        faults.refuse("the request")
    raise _wrong("", flaw)


def _read(body: bytes, kind: Kind, shape: type[T]) -> T:
    if kind == "json":
        try:
            return msgspec.json.decode(body, type=shape)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass  # what is wrong with it is said below
    return bodies.shaped(body, kind, shape)


def _wrong(pointer: str, words: str) -> Invalid:
    return Invalid("the request has a fault", [Fault(pointer, words)])
