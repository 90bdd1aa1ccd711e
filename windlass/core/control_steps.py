"""What steps say under `with` that the engine itself carries out: approvals, signals, other runs, repeats.

Texts that hold expressions are kept as they are written; `templates` checks them. What decides how a step
waits, and for whom, is fixed when the document is saved: an expression there is a fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal

from windlass.core.definition import (
    Approval,
    Awaited,
    Case,
    Child,
    Control,
    Loop,
    Mapped,
    Step,
    StepKind,
    Switch,
)
from windlass.core.faults import Faults, code, found, join, quote
from windlass.core.fields import Fields
from windlass.core.names import StepId, WorkflowId
from windlass.core.task import Json

KEYS: Final[dict[StepKind, tuple[str, ...]]] = {
    "approval": ("prompt", "who", "timeout", "on_timeout"),
    "signal": ("name", "timeout", "default"),
    "workflow": ("workflow", "version", "input", "wait"),
    "map": ("over", "max_parallel", "step"),
    "loop": ("while", "until", "max", "delay", "step"),
    "switch": ("cases", "default"),
}
CASE_KEYS: Final = ("when", "then")
BODY_KINDS: Final[tuple[StepKind, ...]] = (
    "python", "http", "shell", "code", "noop", "pipeline", "workflow",
)  # fmt: skip
ON_TIMEOUT: Final = ("fail", "approve", "reject")

PARALLEL_MAX: Final = 10_000
PARALLEL_UNSAID: Final = 100
TURNS_MAX: Final = 10_000
CASES_MAX: Final = 100
WHO_MAX: Final = 1_000
VERSION_MAX: Final = 2**31 - 1
SIGNAL: Final = r"[A-Za-z0-9._:-]{1,100}"
WORKFLOW: Final = r"[A-Za-z0-9._:-]{1,200}"

# Reads the step that is repeated: what was given, its pointer, and the id of the step it belongs to.
Body = Callable[[Json, str, str], Step | None]

_SIGNAL: Final = re.compile(SIGNAL)
_WORKFLOW: Final = re.compile(WORKFLOW)
_OPENS: Final = "${{"
_ONE_EXPRESSION: Final = re.compile(r"\s*\$\{\{.*\}\}\s*", re.DOTALL)


def read(kind: StepKind, fields: Fields, step_id: str, body: Body) -> Control | None:
    """What such a step says; None for other kinds, and where a fault leaves nothing to go by."""
    match kind:
        case "approval":
            return _approval(fields)
        case "signal":
            return _awaited(fields, step_id)
        case "workflow":
            return _child(fields)
        case "map":
            return _mapped(fields, step_id, body)
        case "loop":
            return _loop(fields, step_id, body)
        case "switch":
            return _switch(fields, step_id)
        case _:
            return None


def _approval(fields: Fields) -> Approval:
    fields.text("prompt", 'text such as "Ship it?"')
    if fields.has("on_timeout") and not fields.has("timeout"):
        fields.wrong("on_timeout", "without `timeout` this never comes; write e.g. timeout: 2d beside it")
    return Approval(who=_who(fields), timeout_s=_positive(fields, "timeout"), on_timeout=_on_timeout(fields))


def _who(fields: Fields) -> tuple[str, ...]:
    given = fields.given.get("who")
    if given == []:
        fields.wrong("who", "nobody could say yes; name who may, or leave it out for all who may steer runs")
    if isinstance(given, list) and len(given) > WHO_MAX:
        fields.wrong("who", f"{len(given)} names are too many; at most {WHO_MAX} are taken")
        return ()
    named = fields.texts("who", "the name of a token or of a user")
    for place, name in named:
        if _OPENS in name:
            fields.faults.add(place, "who may say yes is fixed: it cannot be an expression; write the names")
    return tuple(dict.fromkeys(name for _, name in named))


def _on_timeout(fields: Fields) -> Literal["fail", "approve", "reject"]:
    match fields.choice("on_timeout", ON_TIMEOUT):
        case "approve":
            return "approve"
        case "reject":
            return "reject"
        case _:
            return "fail"


def _awaited(fields: Fields, step_id: str) -> Awaited:
    name = fields.text("name", "text such as payment")
    if name is not None and not _SIGNAL.fullmatch(name):
        advice = "use at most 100 letters, digits and the characters . _ : -"
        if _OPENS in name:
            advice = "it is fixed and cannot be an expression; every run has its own signals anyway"
        fields.wrong("name", f"{quote(name)} cannot be the name of a signal; {advice}")
    if fields.has("default") and not fields.has("timeout"):
        fields.wrong("default", "without `timeout` it is never used; write e.g. timeout: 1d beside it")
    return Awaited(
        name=name or step_id,
        timeout_s=_positive(fields, "timeout"),
        has_default=fields.has("default"),
        default=fields.given.get("default"),
    )


def _child(fields: Fields) -> Child | None:
    workflow = fields.text("workflow", "the id of a workflow")
    if not fields.has("workflow"):
        fields.missing("workflow", "write the id of one, e.g. workflow: nightly-report")
    if workflow is not None and not _WORKFLOW.fullmatch(workflow):
        advice = "use letters, digits and the characters . _ : -"
        if _OPENS in workflow:
            advice = "it is fixed and cannot be an expression; use `switch`, or `when`, between two steps"
        fields.wrong("workflow", f"{quote(workflow)} cannot be the id of a workflow; {advice}")
    version = fields.whole("version", low=1, high=VERSION_MAX)
    wait = _flag(fields, "wait", unsaid=True)
    return None if workflow is None else Child(workflow=WorkflowId(workflow), version=version, wait=wait)


def _mapped(fields: Fields, step_id: str, body: Body) -> Mapped | None:
    _check_over(fields)
    most = fields.whole("max_parallel", low=1, high=PARALLEL_MAX)
    step = _body(fields, step_id, body)
    return None if step is None else Mapped(body=step, max_parallel=most or PARALLEL_UNSAID)


def _check_over(fields: Fields) -> None:
    over = fields.given.get("over")
    advice = 'write e.g. over: "${{ inputs.files }}", or over: [a, b, c]'
    if not fields.has("over"):
        fields.missing("over", advice)
    elif isinstance(over, str):
        if not _ONE_EXPRESSION.fullmatch(over):
            fields.wrong("over", f"expected a list, or one expression, found {found(over)}; {advice}")
    elif not isinstance(over, list):
        fields.wrong("over", f"expected a list, or an expression, found {found(over)}; {advice}")


def _loop(fields: Fields, step_id: str, body: Body) -> Loop | None:
    fields.exactly_one("while", "until", advice='write e.g. until: "${{ item.done }}"')
    until, while_ = _condition(fields, "until"), _condition(fields, "while")
    most = fields.whole("max", low=1, high=TURNS_MAX)
    if not fields.has("max"):
        fields.missing("max", "every loop has a bound; write e.g. max: 100")
    delay_s = fields.duration("delay")
    step = _body(fields, step_id, body)
    if step is None or most is None or (until is None) == (while_ is None):
        return None
    return Loop(body=step, most=most, until=until, while_=while_, delay_s=delay_s or 0.0)


def _body(fields: Fields, step_id: str, body: Body) -> Step | None:
    if not fields.has("step"):
        fields.missing("step", "write the step that is repeated, e.g. step: {kind: noop}")
        return None
    return body(fields.given["step"], fields.pointer("step"), step_id)


def _switch(fields: Fields, step_id: str) -> Switch | None:
    given = fields.given.get("cases")
    advice = 'write e.g. cases: [{when: "${{ inputs.n > 3 }}", then: big}]'
    if not isinstance(given, list) or not given:
        if fields.has("cases"):
            fields.wrong("cases", f"expected a list of cases, found {found(given)}; {advice}")
        else:
            fields.missing("cases", advice)
        given = []
    if len(given) > CASES_MAX:
        fields.wrong("cases", f"{len(given)} cases are too many; a switch has at most {CASES_MAX}")
        given = []
    cases = [
        _case(item, join(fields.pointer("cases"), i), step_id, fields.faults) for i, item in enumerate(given)
    ]
    default = _steps(fields, "default", step_id)
    good = tuple(case for case in cases if case is not None)
    return Switch(cases=good, default=default) if good else None


def _case(given: Json, at: str, step_id: str, faults: Faults) -> Case | None:
    if not isinstance(given, dict):
        faults.add(at, f"expected a case such as {{when: …, then: big}}, found {found(given)}")
        return None
    fields = Fields(given, at, faults, CASE_KEYS)
    when = _condition(fields, "when")
    if not fields.has("when"):
        fields.missing("when", 'write e.g. when: "${{ inputs.n > 3 }}"; what else there is, is `default`')
    if not fields.has("then"):
        fields.missing("then", "write the steps that run in this case, e.g. then: big; [] for none")
    then = _steps(fields, "then", step_id)
    return None if when is None else Case(when=when, then=then)


def _steps(fields: Fields, key: str, step_id: str) -> tuple[StepId, ...]:
    named: dict[StepId, None] = {}
    for place, name in fields.texts(key, "the id of a step"):
        if name == step_id:
            fields.faults.add(place, f"{code(name)} cannot lead to itself; name another step")
        elif name in named:
            fields.faults.add(place, f"{code(name)} is named twice; keep one")
        named[StepId(name)] = None
    return tuple(named)


def _condition(fields: Fields, key: str) -> str | None:
    """The text of an expression, bare or inside `${{ }}`."""
    given = fields.given.get(key)
    if isinstance(given, bool):  # as YAML reads a bare true
        return "true" if given else "false"
    return fields.text(key, 'an expression in quotes, such as "${{ inputs.n > 3 }}"')


def _positive(fields: Fields, key: str) -> float | None:
    seconds = fields.duration(key)
    if seconds == 0:
        fields.wrong(key, f"nobody can be that quick; write e.g. {key}: 2d")
        return None
    return seconds


def _flag(fields: Fields, key: str, *, unsaid: bool) -> bool:
    value = fields.given.get(key, unsaid)
    if not isinstance(value, bool):
        fields.wrong(key, f"expected true or false, found {found(value)}")
        return unsaid
    return value
