"""What can be said about a step beside what it does, and how documents say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, Literal, TypedDict

from windlass.core import durations
from windlass.core.task import Json
from windlass.sdk.authoring.places import CannotCompile, here
from windlass.sdk.authoring.values import Value, bare, text_of

Span = str | float | timedelta  # "10m", seconds, or a timedelta
Condition = bool | int | str  # bool: what comparing values gives, as types see it; str: an expression


class GateOptions(TypedDict, total=False):
    """Of every step."""

    id: str  # of the step; else its function's name
    when: Condition  # the step is skipped if this is not true
    needs: Sequence[object]  # steps that must be done before, though nothing of theirs is used


class Options(GateOptions, total=False):
    """Of a step that a worker runs: for `@step`, `.options(…)`, `shell`, `http` and `code`."""

    retries: int  # attempts after the first
    backoff: Span  # before the first of them
    factor: float  # by which each pause is longer than the one before
    backoff_max: Span
    not_on: Sequence[type[BaseException] | str]  # errors that are not worth another attempt
    timeout: Span  # per attempt
    timeout_total: Span  # over all attempts
    heartbeat_timeout: Span
    on_failure: Any  # "fail", "skip", or the step that takes its place; Any: steps of any type
    on_lost: Literal["retry", "fail"] | int
    undo: Any  # the step that takes back what this one did; Any: steps of any type
    requires: Sequence[str]
    priority: int
    labels: Mapping[str, str]
    concurrency: Mapping[str, object] | int
    rate: Mapping[str, object] | str  # or short: "10/1m"
    assign: str | Mapping[str, object]
    max_parallel: int  # of .map(…): items at once


_SPANS: Final = ("timeout", "timeout_total", "heartbeat_timeout")
_RETRY: Final = {"backoff": "backoff", "factor": "factor", "backoff_max": "max", "not_on": "not_on"}
KNOWN: Final = frozenset(Options.__annotations__)


def check(given: Mapping[str, object], known: frozenset[str] = KNOWN, of: str = "a step") -> None:
    unknown = sorted(given.keys() - known)
    if unknown:
        there = f"there are {', '.join(sorted(known))}"
        raise CannotCompile(f"{unknown[0]} is no option of {of}; {there}", here())


def settings_of(options: Options) -> dict[str, Json]:
    """The keys of a step that need no other step to be known."""
    said: dict[str, Any] = dict(options)  # Any: each by its own type
    found: dict[str, Json] = {name: span(said[name]) for name in _SPANS if name in said}
    retry = {theirs: _retry_value(ours, said[ours]) for ours, theirs in _RETRY.items() if ours in said}
    if "retries" in said:
        retries = said["retries"]
        retry["attempts"] = retries + 1 if isinstance(retries, int) else retries
    found |= {"retry": retry} if retry else {}
    found |= {"when": condition(said["when"])} if "when" in said else {}
    found |= {"requires": list(said["requires"])} if said.get("requires") else {}
    found |= {"labels": dict(said["labels"])} if said.get("labels") else {}
    found |= {name: said[name] for name in ("priority", "on_lost", "assign") if name in said}
    found |= limits_of(said)
    return found


def limits_of(said: Mapping[str, Any]) -> dict[str, Json]:
    """How many at once, and how many in a period."""
    found: dict[str, Json] = {}
    for name in ("concurrency", "rate"):
        if name in said:
            given = said[name]
            found[name] = dict(given) if isinstance(given, Mapping) else given
    if isinstance(most := found.get("concurrency"), int):
        found["concurrency"] = {"limit": most}
    if isinstance(rate := found.get("rate"), dict) and "per" in rate:
        rate["per"] = span(rate["per"])
    return found


def span(given: Span) -> Json:
    if isinstance(given, timedelta):
        return durations.show(given.total_seconds())
    return given


def condition(given: Condition | Value) -> Json:
    """As documents have it: an expression in its braces."""
    match given:
        case Value():
            text = text_of(given)
        case bool():
            text = "true" if given else "false"
        case str():
            text = bare(given)
        case _:
            advice = 'compare values, as in when=order["total"] > 100'
            raise CannotCompile(f"when={given!r} is no condition; {advice}", here())
    return f"${{{{ {text} }}}}"


def _retry_value(name: str, given: Any) -> Json:
    if name == "not_on":
        return [kind if isinstance(kind, str) else kind.__name__ for kind in given]
    return given if name == "factor" else span(given)
