"""One step of a document: what it says, or every fault of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from windlass.core import control_steps, kinds, limit_fields, soundness, templates
from windlass.core.assign.policy import STRATEGIES, Assign
from windlass.core.definition import Control, Limit, Retry, Step, StepKind, Switch
from windlass.core.errors import Fault
from windlass.core.faults import Faults, code, found, join, quote
from windlass.core.fields import Fields
from windlass.core.names import StepId
from windlass.core.task import Json

ATTEMPTS_MAX: Final = 1_000
FACTOR_MAX: Final = 100
PRIORITY_MAX: Final = 100
LOSSES_MAX: Final = 1_000
STEP_ID_MAX: Final = 100
# Whoever writes `retry` without `attempts` wants at least one more.
ATTEMPTS_UNSAID: Final = 3

# What any step may say of how it is done.
WORK_KEYS: Final = (
    "kind", "with", "retry", "timeout", "timeout_total", "requires", "priority", "labels", "on_lost",
    "heartbeat_timeout", "assign", "executor", "requiredCapabilities",
)  # fmt: skip
STEP_KEYS: Final = (
    "id", "kind", "with", "needs", *WORK_KEYS[2:], "on_failure", "when", "undo", "concurrency", "rate",
)  # fmt: skip
BODY_KEYS: Final = (*WORK_KEYS, "on_failure", "when", "undo", "concurrency", "rate")
_RETRY_KEYS: Final = ("attempts", "backoff", "factor", "max", "not_on")
_ASSIGN_KEYS: Final = ("strategy", "affinity")
ID: Final = re.compile(r"[A-Za-z0-9._:-]+")

# Where an expression could change what a step is, or be run as code: words of others must not come there.
_FIXED: Final[dict[StepKind, dict[str, str]]] = {
    "python": {"call": "a function is named by the document; hand values over in `args`"},
    "shell": {"command": "words from outside could be commands; put them in `env`, or use `argv`"},
    "code": {
        "code": "words from outside could be code; hand them over in `stdin` or `files`",
        "language": "which worker can run it must be known before",
        "version": "which worker can run it must be known before",
        "protections": "which worker can run it must be known before",
    },
    "workflow": {"workflow": "write its id", "version": "write a number", "wait": "write true or false"},
}


class Entry(NamedTuple):
    """A step as it stands in the document."""

    id: str | None  # None where it has none that could be used
    at: str
    given: Json


class Read(NamedTuple):
    """A step, and how the graph sees it."""

    step: Step
    vertex: soundness.Vertex | None
    led: tuple[tuple[str, str], ...] = ()  # of a switch: (pointer, step that it leads to)


def own_id(value: Json) -> str | None:
    name = value.get("id") if isinstance(value, dict) else None
    return name if isinstance(name, str) and name else None


def check_id(name: str, place: str, length_max: int, faults: Faults) -> None:
    if len(name) > length_max:
        faults.add(place, f"this id has {len(name)} characters; use at most {length_max}")
    elif not ID.fullmatch(name):
        faults.add(place, f"{quote(name)} cannot be an id; use letters, digits and the characters . _ : -")


def read(entry: Entry, workflow: str, faults: Faults) -> Read | None:
    """The step. Only without faults is it of use."""
    if entry.id is not None:
        place = join(entry.at, "id") if entry.id == own_id(entry.given) else entry.at
        check_id(entry.id, place, STEP_ID_MAX, faults)
    if not isinstance(entry.given, dict):
        faults.add(entry.at, f"expected a step such as {{kind: noop}}, found {found(entry.given)}")
        return None
    fields = Fields(entry.given, entry.at, faults, STEP_KEYS)
    _check_own_id(entry, fields)
    needs = fields.texts("needs", "the id of a step")
    on_failure, fallback = _on_failure(fields)
    step = _step(fields, entry.id or "", workflow, needs, on_failure, fallback)
    vertex = None if entry.id is None else soundness.Vertex(entry.id, entry.at, needs, fallback)
    return Read(step, vertex, tuple(_led(step, fields)))


def _step(
    fields: Fields,
    ident: str,
    workflow: str,
    needs: list[tuple[str, str]],
    on_failure: Literal["fail", "skip", "fallback"],
    fallback: tuple[str, str] | None,
    allowed: tuple[StepKind, ...] = kinds.KINDS,
) -> Step:
    kind = _kind(fields, allowed)
    timer, control = _with(kind, fields, ident, workflow)
    with_ = fields.members("with", "an object") or {}
    on_lost, losses_max = _on_lost(fields)
    return Step(
        id=StepId(ident),
        kind=kind or "noop",
        with_=with_,
        needs=tuple(StepId(name) for _, name in needs),
        retry=_retry(fields),
        timeout_s=fields.duration("timeout"),
        timeout_total_s=fields.duration("timeout_total"),
        requires=_requires(fields),
        priority=fields.whole("priority", low=-PRIORITY_MAX, high=PRIORITY_MAX) or 0,
        labels=fields.texts_by_name("labels", "an object with a text for each label"),
        on_failure=on_failure,
        fallback=None if fallback is None else StepId(fallback[1]),
        on_lost=on_lost,
        losses_max=losses_max,
        wait_s=timer.wait_s,
        wait_until=timer.wait_until,
        heartbeat_timeout_s=_heartbeat_timeout(kind, fields),
        assign=assign(fields),
        when=_when(fields),
        control=control,
        undo=_undo(fields, ident, workflow),
        limits=_limits(fields, f"{workflow}/{ident}"),
        templated=templates.has(with_.get("over") if kind == "map" else with_)
        and kind not in ("loop", "switch"),
    )


def _limits(fields: Fields, usual_key: str) -> tuple[Limit, ...]:
    return limit_fields.read(fields, usual_key, step=True)


def _body(given: Json, pointer: str, owner: str, workflow: str, faults: Faults) -> Step | None:
    """The step that is repeated for another one."""
    if not isinstance(given, dict):
        faults.add(pointer, f"expected a step such as {{kind: noop}}, found {found(given)}")
        return None
    fields = Fields(given, pointer, faults, BODY_KEYS)
    on_failure, fallback = _on_failure(fields)
    if fallback is not None:
        fields.wrong("on_failure", "a step that is repeated has no fallback; write fail or skip")
        on_failure, fallback = "fail", None
    return _step(fields, owner, workflow, [], on_failure, None, control_steps.BODY_KINDS)


def _undo(fields: Fields, owner: str, workflow: str) -> Step | None:
    given = fields.given.get("undo")
    if not fields.has("undo"):
        return None
    if not isinstance(given, dict):
        fields.wrong("undo", f"expected a step such as {{kind: noop}}, found {found(given)}")
        return None
    inner = Fields(given, fields.pointer("undo"), fields.faults, WORK_KEYS)
    return _step(inner, f"undo:{owner}", workflow, [], "fail", None, control_steps.BODY_KINDS)


def _when(fields: Fields) -> str | None:
    given = fields.given.get("when")
    if isinstance(given, bool):  # YAML's own true and false
        return "true" if given else "false"
    return fields.text("when", 'an expression such as "${{ steps.check.output.ok }}"')


def _check_own_id(entry: Entry, fields: Fields) -> None:
    if not fields.has("id") or fields.given["id"] == entry.id:
        return
    if entry.id is None:
        fields.wrong("id", f"expected text such as fetch, found {found(fields.given['id'])}")
    else:
        fields.wrong("id", f"this step is named {code(entry.id)} by its key; leave `id` out")


def _kind(fields: Fields, allowed: tuple[StepKind, ...]) -> StepKind | None:
    if not fields.has("kind"):
        fields.missing("kind", f"write one of {', '.join(allowed)}")
        return None
    named = fields.choice("kind", allowed)
    return next((kind for kind in allowed if kind == named), None)


def _with(
    kind: StepKind | None, fields: Fields, ident: str, workflow: str
) -> tuple[kinds.Timer, Control | None]:
    given = fields.given.get("with", {})
    if kind is None or not isinstance(given, dict):
        return kinds.Timer(), None
    # Where `with` is absent, what is missing from it is missing from the step.
    place = fields.pointer("with") if fields.has("with") else fields.at
    for key, advice in _FIXED.get(kind, {}).items():
        if templates.has(given.get(key)):
            fields.faults.add(join(place, key), f"no expression can be here: {advice}")
            given = {name: value for name, value in given.items() if name != key} | {
                key: _PLAIN.get(key, "x")
            }
    if kind in control_steps.KEYS:
        inner = Fields(given, place, fields.faults, control_steps.KEYS[kind])
        faults = fields.faults
        control = control_steps.read(
            kind, inner, ident, lambda body, at, owner: _body(body, at, owner, workflow, faults)
        )
        return kinds.Timer(), control
    if not templates.has(given):
        return kinds.check(kind, given, place, fields.faults), None
    # What comes out of an expression is not known yet: it is checked when the step begins.
    found_now = Faults()
    timer = kinds.check(kind, given, place, found_now)
    for fault in found_now.listed:
        if not _unknown(given, place, fault):
            fields.faults.add(fault.pointer, fault.message)
    return timer, None


_PLAIN: Final = {"call": "m:f", "language": "python", "version": "1", "protections": [], "wait": True}


def _unknown(given: Json, place: str, fault: Fault) -> bool:
    """Whether a fault is about something that holds an expression."""
    value = given
    for part in fault.pointer.removeprefix(place).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            return False
    return value is not given and templates.has(value)


def _led(step: Step, fields: Fields) -> Iterator[tuple[str, str]]:
    """Which steps a switch leads to, and where it says so."""
    if not isinstance(step.control, Switch):
        return
    place = fields.pointer("with")
    for n, case in enumerate(step.control.cases):
        for name in case.then:
            yield join(join(join(place, "cases"), n), "then"), name
    for name in step.control.default:
        yield join(place, "default"), name


def _requires(fields: Fields) -> tuple[str, ...]:
    """What a worker has to offer, under each of the keys it may be written."""
    capability = "the name of a capability"
    named = [*fields.texts("requires", capability), *fields.texts("requiredCapabilities", capability)]
    executor = fields.text("executor", "the name of an executor")
    return tuple(dict.fromkeys([name for _, name in named] + ([executor] if executor else [])))


def _heartbeat_timeout(kind: StepKind | None, fields: Fields) -> float | None:
    silence_s = fields.duration("heartbeat_timeout")
    if fields.has("heartbeat_timeout") and kind not in ("python", None):
        fields.wrong(
            "heartbeat_timeout",
            f"only steps of kind python can tell that they are alive, not {kind}; leave it out",
        )
    elif silence_s == 0:
        fields.wrong("heartbeat_timeout", "no step can be that quick; write e.g. heartbeat_timeout: 30s")
    return silence_s


def assign(fields: Fields) -> Assign | None:
    given = fields.given.get("assign")
    if isinstance(given, str) and given:
        return Assign(strategy=_strategy(fields, "assign") or "")
    members = fields.members("assign", f"one of {', '.join(STRATEGIES)}, or an object with `affinity`")
    if members is None:
        return None
    inner = Fields(members, fields.pointer("assign"), fields.faults, _ASSIGN_KEYS)
    if not members:
        inner.missing("strategy", "write e.g. assign: {strategy: affinity, affinity: customers}")
    affinity = inner.text("affinity", "text such as customers") or ""
    # Who gives a key and no strategy wants the one that goes by keys.
    return Assign(
        strategy=_strategy(inner, "strategy") or ("affinity" if affinity else ""), affinity=affinity
    )


def _strategy(fields: Fields, key: str) -> str | None:
    """A strategy of ours, or module:function."""
    value = fields.given.get(key)
    if isinstance(value, str) and kinds.is_call(value):
        return value
    return fields.choice(key, STRATEGIES)


def _retry(fields: Fields) -> Retry:
    given = fields.members("retry", "an object such as {attempts: 3, backoff: 1s}")
    if given is None:
        return Retry()
    inner = Fields(given, fields.pointer("retry"), fields.faults, _RETRY_KEYS)
    usual = Retry()
    backoff_s, max_s = inner.duration("backoff"), inner.duration("max")
    backoff_s = usual.backoff_s if backoff_s is None else backoff_s
    if max_s is not None and max_s < backoff_s:
        inner.wrong("max", "`max` is shorter than `backoff`, the first pause; make it at least as long")
    factor = inner.number("factor", low=1, high=FACTOR_MAX)
    return Retry(
        attempts=inner.whole("attempts", low=1, high=ATTEMPTS_MAX) or ATTEMPTS_UNSAID,
        backoff_s=backoff_s,
        factor=usual.factor if factor is None else factor,
        max_s=max(usual.max_s, backoff_s) if max_s is None else max_s,
        not_on=tuple(name for _, name in inner.texts("not_on", "the name of an exception")),
    )


def _on_failure(fields: Fields) -> tuple[Literal["fail", "skip", "fallback"], tuple[str, str] | None]:
    match fields.given.get("on_failure", "fail"):
        case "fail":
            return "fail", None
        case "skip":
            return "skip", None
        case dict() as given:
            inner = Fields(given, fields.pointer("on_failure"), fields.faults, ("fallback",))
            if not inner.has("fallback"):
                inner.missing("fallback", "write e.g. on_failure: {fallback: other-step}")
            name = inner.text("fallback", "the id of a step")
            return "fallback", None if name is None else (inner.pointer("fallback"), name)
        case other:
            message = f"expected fail, skip or {{fallback: other-step}}, found {found(other)}"
            fields.wrong("on_failure", message)
            return "fail", None


def _on_lost(fields: Fields) -> tuple[Literal["retry", "fail"], int | None]:
    """What becomes of it when its worker is lost, and how often it may be."""
    match fields.given.get("on_lost", "retry"):
        case "retry":
            return "retry", None
        case "fail":
            return "fail", None
        case int() as times if not isinstance(times, bool):
            return "retry", fields.whole("on_lost", low=0, high=LOSSES_MAX)
        case other:
            advice = "or how many attempts may be lost, e.g. 3"
            fields.wrong("on_lost", f"expected retry, fail, {advice}, found {found(other)}")
            return "retry", None
