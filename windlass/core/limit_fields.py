"""Limits across runs as documents write them: `concurrency` and `rate`, of a workflow or a step."""

from __future__ import annotations

import re
from typing import Final, Literal, cast

from windlass.core import durations
from windlass.core.definition import Limit
from windlass.core.faults import code, found, quote
from windlass.core.fields import Fields
from windlass.core.limit_key import KEY_MAX, MOST_MAX
from windlass.core.task import Json

CONCURRENCY_KEYS: Final = ("key", "limit", "on_conflict")
RATE_KEYS: Final = ("key", "limit", "per")
CONFLICTS: Final = ("queue", "skip", "replace")

_SHORT_RATE: Final = re.compile(r"([0-9]{1,9}) ?/ ?([^/ ]{1,50})")
_EXPRESSION: Final = "${{"
_CONCURRENCY: Final = "a number such as 1, or an object such as {key: orders, limit: 1}"
_RATE: Final = "text such as 10/1m, or an object such as {key: api, limit: 10, per: 1m}"


def read(fields: Fields, default_key: str, *, step: bool) -> tuple[Limit, ...]:
    """What the keys `concurrency` and `rate` of a workflow or step say. Only without faults is it of use."""
    limits = (_concurrency(fields, default_key, step=step), _rate(fields, default_key))
    return tuple(limit for limit in limits if limit is not None)


def _concurrency(fields: Fields, default_key: str, *, step: bool) -> Limit | None:
    if not fields.has("concurrency"):
        return None
    given = fields.given["concurrency"]
    if _is_whole(given):
        most = fields.whole("concurrency", low=1, high=MOST_MAX)
        return None if most is None else Limit(default_key, most)
    inner = _inner(fields, "concurrency", _CONCURRENCY, CONCURRENCY_KEYS)
    if inner is None:
        return None
    key, most = _key(inner, default_key), _most(inner, "limit: 1")
    on_conflict = inner.choice("on_conflict", CONFLICTS) or "queue"
    if step and on_conflict != "queue":
        inner.wrong("on_conflict", f"a step can only queue; write {code(on_conflict)} at the workflow")
    if key is None or most is None:
        return None
    # One of CONFLICTS, as `choice` made sure.
    return Limit(key, most, None, cast(Literal["queue", "skip", "replace"], on_conflict))


def _rate(fields: Fields, default_key: str) -> Limit | None:
    if not fields.has("rate"):
        return None
    given = fields.given["rate"]
    if isinstance(given, str):
        return _short_rate(fields, given, default_key)
    inner = _inner(fields, "rate", _RATE, RATE_KEYS)
    if inner is None:
        return None
    key, most, per_s = _key(inner, default_key), _most(inner, "limit: 10"), inner.duration("per")
    if not inner.has("per"):
        inner.missing("per", "write e.g. per: 1m")
    elif per_s == 0:
        inner.wrong("per", "a period is longer than 0; write e.g. per: 1m")
    return Limit(key, most, per_s) if key is not None and most is not None and per_s else None


def _short_rate(fields: Fields, given: str, default_key: str) -> Limit | None:
    parts = _SHORT_RATE.fullmatch(given)
    if parts is None:
        fields.wrong("rate", f"expected {_RATE}, found the text {quote(given)}")
        return None
    most = int(parts[1])
    if not 1 <= most <= MOST_MAX:
        fields.wrong("rate", f"{most} is no limit; write a whole number from 1 to {MOST_MAX}, e.g. 10/1m")
        return None
    # `10/m` is how many people write it.
    length = parts[2] if parts[2][0].isdigit() else f"1{parts[2]}"
    try:
        per_s = durations.parse(length)
    except ValueError as error:
        fields.wrong("rate", str(error))
        return None
    if per_s == 0:
        fields.wrong("rate", "a period is longer than 0; write e.g. 10/1m")
        return None
    return Limit(default_key, most, per_s)


def _inner(fields: Fields, key: str, expected: str, known: tuple[str, ...]) -> Fields | None:
    given = fields.given[key]
    if isinstance(given, dict) and given:
        return Fields(given, fields.pointer(key), fields.faults, known)
    fields.wrong(key, f"expected {expected}, found {found(given)}")
    return None


def _key(inner: Fields, default_key: str) -> str | None:
    if not inner.has("key"):
        return default_key
    key = inner.text("key", "text such as orders")
    if key is None:
        return None
    if _EXPRESSION in key:
        return key  # what comes of it is looked at in the run
    if len(key) > KEY_MAX:
        inner.wrong("key", f"this key has {len(key)} characters; use at most {KEY_MAX}")
        return None
    if not key.isprintable():
        inner.wrong("key", "this key holds characters that cannot be printed; leave them out")
        return None
    return key


def _most(inner: Fields, example: str) -> int | None:
    if not inner.has("limit"):
        inner.missing("limit", f"write e.g. {example}")
        return None
    return inner.whole("limit", low=1, high=MOST_MAX)


def _is_whole(given: Json) -> bool:
    return isinstance(given, int) and not isinstance(given, bool)
