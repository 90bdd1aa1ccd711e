"""From a workflow's document to its definition: sound, or refused with every fault at once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from windlass.core import kinds, plain, soundness
from windlass.core.assign.policy import STRATEGIES, Assign
from windlass.core.definition import Definition, Retry, Step, StepKind
from windlass.core.faults import Faults, code, found, join, quote
from windlass.core.fields import Fields
from windlass.core.names import StepId, WorkflowId
from windlass.core.task import Json

STEPS_MAX = 100_000
ATTEMPTS_MAX = 1_000
FACTOR_MAX = 100
PRIORITY_MAX = 100
LOSSES_MAX = 1_000
PARALLEL_MAX = 100_000
WORKFLOW_ID_MAX = 200
STEP_ID_MAX = 100
# Whoever writes `retry` without `attempts` wants at least one more.
ATTEMPTS_UNSAID = 3

_WORKFLOW_KEYS = ("id", "name", "description", "steps", "deadline", "max_parallel", "assign", "queue_timeout")
_STEP_KEYS = (
    "id", "kind", "with", "needs", "retry", "timeout", "timeout_total", "requires", "priority", "labels",
    "on_failure", "on_lost", "heartbeat_timeout", "assign", "executor", "requiredCapabilities",
)  # fmt: skip
_RETRY_KEYS = ("attempts", "backoff", "factor", "max", "not_on")
_ASSIGN_KEYS = ("strategy", "affinity")
_ID = re.compile(r"[A-Za-z0-9._:-]+")


def read(document: object) -> Definition:
    """The definition that a plain JSON-like document describes, or Invalid with all its faults.

    Every fault has a JSON pointer. The values under `with` are kept as they are.
    """
    faults = Faults()
    plain.check(document, faults)
    definition = _workflow(document, faults)
    faults.refuse("the workflow")
    assert definition is not None, "no definition and no fault"
    plain.encode(document)  # for its size, which can only be taken of what has no faults
    return definition


def normal(document: object) -> bytes:
    """Canonical JSON: the same bytes whatever order the keys came in. Invalid for what cannot be kept."""
    return plain.normal(document)


def digest(document: object) -> str:
    """SHA-256 of `normal`, as hex: one document in two key orders is one version."""
    return hashlib.sha256(normal(document)).hexdigest()


class _Entry(NamedTuple):
    """A step as it stands in the document."""

    id: str | None  # None where it has none that could be used
    at: str
    given: Json


def _workflow(document: object, faults: Faults) -> Definition | None:
    if not isinstance(document, dict):
        faults.add("", f"expected an object with `id` and `steps`, found {found(document)}")
        return None
    fields = Fields(document, "", faults, _WORKFLOW_KEYS)
    if not fields.has("id"):
        fields.missing("id", "write e.g. id: nightly-report")
    workflow_id = fields.text("id", "text such as nightly-report")
    if workflow_id is not None:
        _check_id(workflow_id, "/id", WORKFLOW_ID_MAX, faults)
    return Definition(
        id=WorkflowId(workflow_id or ""),
        steps=_steps(fields),
        name=fields.text("name", "text", empty=True) or "",
        description=fields.text("description", "text", empty=True) or "",
        deadline_s=fields.duration("deadline"),
        max_parallel=fields.whole("max_parallel", low=1, high=PARALLEL_MAX),
        assign=_assign(fields),
        queue_timeout_s=_queue_timeout(fields),
    )


def _queue_timeout(fields: Fields) -> float | None:
    waited_s = fields.duration("queue_timeout")
    if waited_s == 0:
        fields.wrong("queue_timeout", "no worker can be that quick; write e.g. queue_timeout: 10m")
    return waited_s


def _check_id(name: str, place: str, length_max: int, faults: Faults) -> None:
    if len(name) > length_max:
        faults.add(place, f"this id has {len(name)} characters; use at most {length_max}")
    elif not _ID.fullmatch(name):
        faults.add(place, f"{quote(name)} cannot be an id; use letters, digits and the characters . _ : -")


def _steps(fields: Fields) -> tuple[Step, ...]:
    given = fields.given.get("steps")
    if not isinstance(given, dict | list) or not given:
        advice = "write at least one step, e.g. steps: {hello: {kind: noop}}"
        if fields.has("steps"):
            fields.wrong("steps", f"expected steps by their ids, found {found(given)}; {advice}")
        else:
            fields.missing("steps", advice)
        return ()
    if len(given) > STEPS_MAX:
        fields.wrong("steps", f"{len(given)} steps are too many; a workflow has at most {STEPS_MAX}")
        return ()
    steps: list[Step] = []
    vertices: list[soundness.Vertex] = []
    for entry in _entries(given, fields):
        _step(entry, fields.faults, steps, vertices)
    soundness.check(vertices, fields.faults)
    return tuple(steps)


def _entries(given: dict[str, Json] | list[Json], fields: Fields) -> Iterator[_Entry]:
    place = fields.pointer("steps")
    if isinstance(given, dict):
        for name, value in given.items():
            # A key that is no text has its fault already.
            if isinstance(name, str):
                yield _Entry(name, join(place, name), value)
        return
    first: dict[str, str] = {}
    for i, value in enumerate(given):
        entry = _Entry(_own_id(value), join(place, i), value)
        if isinstance(value, dict) and "id" not in value:
            fields.faults.add(entry.at, "`id` is missing; in a list every step has one, e.g. id: fetch")
        elif entry.id is not None and entry.id in first:
            message = f"the id {code(entry.id)} is taken by {first[entry.id]}; write another"
            fields.faults.add(join(entry.at, "id"), message)
        elif entry.id is not None:
            first[entry.id] = entry.at
        yield entry


def _own_id(value: Json) -> str | None:
    name = value.get("id") if isinstance(value, dict) else None
    return name if isinstance(name, str) and name else None


def _step(entry: _Entry, faults: Faults, steps: list[Step], vertices: list[soundness.Vertex]) -> None:
    """Adds the step, and its vertex. Only without faults are they of use."""
    if entry.id is not None:
        place = join(entry.at, "id") if entry.id == _own_id(entry.given) else entry.at
        _check_id(entry.id, place, STEP_ID_MAX, faults)
    if not isinstance(entry.given, dict):
        faults.add(entry.at, f"expected a step such as {{kind: noop}}, found {found(entry.given)}")
        if entry.id is not None:
            vertices.append(soundness.Vertex(entry.id, entry.at))
        return
    fields = Fields(entry.given, entry.at, faults, _STEP_KEYS)
    _check_own_id(entry, fields)
    kind = _kind(fields)
    timer = _with(kind, fields)
    needs = fields.texts("needs", "the id of a step")
    on_failure, fallback = _on_failure(fields)
    on_lost, losses_max = _on_lost(fields)
    step = Step(
        id=StepId(entry.id or ""),
        kind=kind or "noop",
        with_=fields.members("with", "an object") or {},
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
        assign=_assign(fields),
    )
    steps.append(step)
    if entry.id is not None:
        vertices.append(soundness.Vertex(entry.id, entry.at, needs, fallback))


def _check_own_id(entry: _Entry, fields: Fields) -> None:
    if not fields.has("id") or fields.given["id"] == entry.id:
        return
    if entry.id is None:
        fields.wrong("id", f"expected text such as fetch, found {found(fields.given['id'])}")
    else:
        fields.wrong("id", f"this step is named {code(entry.id)} by its key; leave `id` out")


def _kind(fields: Fields) -> StepKind | None:
    if not fields.has("kind"):
        fields.missing("kind", f"write one of {', '.join(kinds.KINDS)}")
        return None
    named = fields.choice("kind", kinds.KINDS)
    return next((kind for kind in kinds.KINDS if kind == named), None)


def _with(kind: StepKind | None, fields: Fields) -> kinds.Timer:
    given = fields.given.get("with", {})
    if kind is None or not isinstance(given, dict):
        return kinds.Timer()
    # Where `with` is absent, what is missing from it is missing from the step.
    return kinds.check(
        kind, given, fields.pointer("with") if fields.has("with") else fields.at, fields.faults
    )


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


def _assign(fields: Fields) -> Assign | None:
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
