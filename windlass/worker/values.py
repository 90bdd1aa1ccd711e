"""Python values on their way to JSON: what JSON cannot hold is refused with its place, never changed."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator
from typing import Any

from windlass.core.task import VALUE_BYTES_MAX

DEPTH_MAX = 200
SCALARS = {str, int, float, bool, type(None)}


class NotJson(Exception):
    """Says where in the value the trouble is, and what it is."""


class TooLarge(Exception):
    pass


def to_json(value: object, *, name: str = "value", bytes_max: int = VALUE_BYTES_MAX) -> bytes:
    """`value` as JSON. Raises NotJson or TooLarge; `name` is what the messages call the value."""
    fault = first_fault(value, name)
    if fault is not None:
        raise NotJson(fault)
    try:
        raw = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        raise NotJson(next(_half_characters(value, name))) from None
    except ValueError as error:  # an int of more digits than Python likes to print
        raise NotJson(f"{name}: {error}") from None
    if len(raw) > bytes_max:
        raise TooLarge(
            f"{name} is {len(raw):,} bytes as JSON; at most {bytes_max:,} are allowed. "
            "Store it elsewhere and return where it is."
        )
    return raw


# Where something is: the place it is in, and its key or index there. Written out only when there is a fault.
Place = tuple["Place | None", object]


def first_fault(value: Any, name: str) -> str | None:  # Any: the point is to find out what it is
    """The first thing JSON cannot hold. Text is not looked into: encoding finds lone surrogates faster."""
    above: set[int] = set()
    todo: list[tuple[Any, Place, bool]] = [(value, (None, name), False)]
    while todo:
        item, place, leaving = todo.pop()
        if leaving:
            above.discard(id(item))
        elif item is None or isinstance(item, (str, int)):
            continue
        elif isinstance(item, float):
            if not math.isfinite(item):
                return f"{_write(place)} is {float(item)}, which JSON does not know"
        elif not isinstance(item, (dict, list, tuple)):
            return f"{_write(place)} is {_a(item)}, which JSON cannot hold{_advice(item)}"
        elif id(item) in above:
            return f"{_write(place)} contains itself"
        elif len(above) >= DEPTH_MAX:
            return f"{_write(place)} is nested more than {DEPTH_MAX} levels deep"
        else:
            for key in _odd_keys(item) if isinstance(item, dict) else ():
                return f"{_write(place)} has the key {key!r}, {_a(key)}: keys must be text"
            if not _is_flat(item.values() if isinstance(item, dict) else item):
                above.add(id(item))
                todo.append((item, place, True))
                inside = item.items() if isinstance(item, dict) else enumerate(item)
                todo += [(below, (place, at), False) for at, below in reversed(list(inside))]
    return None


def _is_flat(values: Collection[object]) -> bool:
    """Whether a glance is enough: only plain values, and no number that JSON does not know."""
    types = set(map(type, values))
    return types <= SCALARS and not (
        float in types and any(type(item) is float and not math.isfinite(item) for item in values)
    )


def _odd_keys(item: dict[object, object]) -> list[object]:
    return [] if set(map(type, item)) <= {str} else [key for key in item if not isinstance(key, str)]


def _half_characters(value: Any, name: str, place: Place | None = None) -> Iterator[str]:
    """Where lone surrogates are, once it is known that there are some."""
    here: Place = place or (None, name)
    if isinstance(value, str) and any(0xD800 <= ord(char) <= 0xDFFF for char in value):
        yield f"{_write(here)} is a str with a lone surrogate (half a character), which JSON cannot hold"
    elif isinstance(value, (dict, list, tuple)):
        for at, below in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(value, dict):
                for _ in _half_characters(at, name):
                    yield f"{_write(here)} has the key {at!a}, with a lone surrogate, which JSON cannot hold"
            yield from _half_characters(below, name, (here, at))


def _write(place: Place) -> str:
    above, at = place
    if above is None:
        return str(at)
    return f"{_write(above)}[{json.dumps(at)}]"


def _a(item: object) -> str:
    name = type(item).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _advice(item: object) -> str:
    match type(item).__name__:
        case "set" | "frozenset" | "generator" | "map" | "filter" | "dict_keys" | "dict_values":
            return ": make it a list"
        case "datetime" | "date" | "time":
            return ": use .isoformat()"
        case "bytes" | "bytearray":
            return ": decode it, or use base64"
        case "Decimal" | "UUID" | "Path" | "PosixPath":
            return ": use str()"
        case "Result":
            return ": only the step itself may return a Result"
        case _:
            return ""
