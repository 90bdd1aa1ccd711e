"""`${{ … }}` inside the texts of a JSON value: checked with the document, filled with the values of a run."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from windlass.core import expr, secret_refs, slots
from windlass.core.expr import Budget, EvaluationFailed, Mistake, Use
from windlass.core.faults import Faults, code, found, join
from windlass.core.slots import EXPRESSIONS_MAX, OPENING, Slot
from windlass.core.task import Json

FILLED_BYTES_MAX: Final = expr.RESULT_BYTES_MAX
DISTINCT_MAX: Final = 10_000  # in one document
DISTINCT_CHARS_MAX: Final = 500_000

STEP_MEMBERS: Final = ("output", "status", "attempt", "error")
RUN_MEMBERS: Final = ("id", "workflow", "version", "namespace", "started_at", "labels")
_MAY_HOLD: Final = (str, list, dict)
_STEP_WRITTEN: Final = re.compile(r"steps\.([A-Za-z0-9_][A-Za-z0-9_.:-]{0,199})")


class Allowance:
    """What the expressions of a whole document may be: to read them takes time, each time it is loaded."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._chars = 0

    def spend(self, text: str) -> None:
        """What is written twice is read once."""
        if text not in self._seen:
            self._seen.add(text)
            self._chars += len(text)

    def spent(self) -> bool:
        return len(self._seen) > DISTINCT_MAX or self._chars > DISTINCT_CHARS_MAX


class Known(NamedTuple):
    """What an expression may refer to at its place."""

    steps: Collection[str]  # those that are surely done by then
    all_steps: Collection[str]  # those that exist
    inputs: Collection[str] | None  # the declared ones; None: none are declared, anything goes
    item: bool = False  # whether there are `item` and `index`
    allowance: Allowance | None = None  # shared by all places of a document


def has(value: Json) -> bool:
    """Whether any text of it holds an expression, or the beginning of one."""
    match value:
        case str():
            return OPENING in value
        case list():
            return any(has(item) for item in value if isinstance(item, _MAY_HOLD))
        case dict():
            return any(has(item) for item in value.values() if isinstance(item, _MAY_HOLD))
        case _:
            return False


def used(value: Json) -> frozenset[str]:
    """The ids of the steps that are referred to. What is no expression refers to none."""
    return frozenset().union(*(slot.expression.steps for slot in _slots(value)))


def roots(value: Json) -> frozenset[str]:
    return frozenset().union(*(slot.expression.roots for slot in _slots(value)))


def condition_used(text: Json) -> frozenset[str]:
    """`used` for a condition, which may be bare."""
    try:
        return slots.condition(text).expression.steps if isinstance(text, str) else frozenset()
    except Mistake:
        return frozenset()


def check(value: Json, pointer: str, faults: Faults, known: Known) -> None:
    """Adds a fault for every mistake, at the text that holds it."""
    count = 0
    for text, place in _texts(value, pointer, faults):
        if not _may_read(place, faults, known):
            return
        try:
            parts = slots.parts(text)
        except Mistake as mistake:
            _add(faults, place, mistake.position, mistake.message)
            _spend(text, known)
            continue
        found_here = [part for part in parts if isinstance(part, Slot)]
        count += len(found_here)
        if count > EXPRESSIONS_MAX:
            faults.add(
                pointer, f"more than {EXPRESSIONS_MAX:,} expressions in one place; let a step compute them"
            )
            return
        for slot in found_here:
            _check_slot(slot, text, place, faults, known)


def check_condition(text: Json, pointer: str, faults: Faults, known: Known) -> None:
    """The same for `when`, `until`, `while`: an expression, bare or inside of `${{ }}`."""
    if not isinstance(text, str):
        advice = "; put it in quotes" if isinstance(text, bool) else ""
        faults.add(pointer, f"expected an expression such as inputs.n > 3, found {found(text)}{advice}")
        return
    if not _may_read(pointer, faults, known):
        return
    try:
        slot = slots.condition(text)
    except Mistake as mistake:
        _add(faults, pointer, mistake.position, mistake.message)
        _spend(text, known)
    else:
        _check_slot(slot, text, pointer, faults, known)


def _may_read(place: str, faults: Faults, known: Known) -> bool:
    if known.allowance is None or not known.allowance.spent():
        return True
    bounds = f"{DISTINCT_MAX:,} different expressions, and {DISTINCT_CHARS_MAX:,} characters of them"
    faults.add(
        place, f"a document may hold {bounds}; this and what follows was not read: let steps compute it"
    )
    return False


def _spend(text: str, known: Known) -> None:
    if known.allowance is not None:
        known.allowance.spend(text[: expr.TEXT_MAX])


def _check_slot(slot: Slot, text: str, place: str, faults: Faults, known: Known) -> None:
    _spend(slot.expression.text, known)
    if secret_refs.REFERENCE.search(slot.expression.text):
        _add(
            faults,
            place,
            slot.offset,
            "a secret cannot be in an expression; write {{ secrets.NAME }} beside it",
        )
        return
    for use in slot.expression.uses:
        at = slot.offset + use.position
        if (dashed := _dashed(text, at, use, known)) is not None:
            _add(faults, place, at, f'write steps["{dashed}"], as `-` means minus')
            return
    seen: set[str] = set()
    for use in slot.expression.uses:
        flaw = _flaw(use, faults, known)
        if flaw is not None and flaw not in seen:
            seen.add(flaw)
            _add(faults, place, slot.offset + use.position, flaw)


def _add(faults: Faults, place: str, position: int, message: str) -> None:
    faults.add(place, f"at character {position + 1}: {message}")


def _dashed(text: str, at: int, use: Use, known: Known) -> str | None:
    """The id of a step that was meant by `steps.fetch-data`."""
    written = _STEP_WRITTEN.match(text, at) if use.path[0] == "steps" else None
    if written is None or use.path[1] in known.all_steps:
        return None
    word = written[1]
    while word and (word not in known.all_steps or word.isidentifier()):
        word = word[:-1]
    return word or None


def _flaw(use: Use, faults: Faults, known: Known) -> str | None:
    root, *members = use.path
    match root:
        case "steps":
            return _step_flaw(members, faults, known)
        case "inputs" if members and known.inputs is not None and members[0] not in known.inputs:
            hint = faults.hint(members[0], known.inputs) or "; declare it under `inputs`"
            return f"there is no input {code(members[0])}{hint}"
        case "run" if members and members[0] not in RUN_MEMBERS:
            return f"a run has no {code(members[0])}{_instead(members[0], RUN_MEMBERS, faults)}"
        case "item" | "index" if not known.item:
            return f"`{root}` is only there in the step of a map or a loop"
        case "secrets":
            name = members[0] if members else "NAME"
            return f"a secret is no value to compute with; write {{{{ secrets.{name} }}}}, without $"
        case _ if root not in expr.ROOTS:
            names = [name for name in expr.ROOTS if known.item or name not in ("item", "index")]
            return f"there is no {code(root)} here{_instead(root, names, faults)}"
        case _:
            return None


def _step_flaw(members: list[str], faults: Faults, known: Known) -> str | None:
    step = members[0]
    if step not in known.all_steps:
        return f"no step is named {code(step)}{faults.hint(step, known.all_steps)}"
    if step not in known.steps:
        return f"step {code(step)} does not run before this one; add it to `needs`"
    if len(members) > 1 and members[1] not in STEP_MEMBERS:
        hint = faults.hint(members[1], STEP_MEMBERS) or f"; what it gave is in output.{members[1][:100]}"
        return f"a step has no {code(members[1])}{hint}"
    return None


def _instead(word: str, names: Collection[str], faults: Faults) -> str:
    return faults.hint(word, names) or f"; known are {', '.join(names)}"


def fill(value: Json, scope: Mapping[str, Json]) -> Json:
    """The value with what its expressions come to. Raises EvaluationFailed."""
    return _Filling(scope).filled(value, "")


def truth(text: str, scope: Mapping[str, Json]) -> bool:
    """What a condition comes to. Raises EvaluationFailed."""
    try:
        expression = slots.condition(text).expression
        value = expression.evaluate(scope)
    except Mistake as mistake:
        raise EvaluationFailed(str(mistake)) from None
    except EvaluationFailed as failure:
        raise EvaluationFailed(f"{code(expression.text)}: {failure.message}") from None
    if value is True or value is False:
        return bool(value)
    raise EvaluationFailed(f"{code(expression.text)} must be true or false, it is {found(value)}")


class _Filling:
    """All expressions of a value share what one of them may take, in steps and in bytes."""

    def __init__(self, scope: Mapping[str, Json]) -> None:
        self._scope = scope
        self._budget = Budget()
        self._bytes_left = FILLED_BYTES_MAX

    def filled(self, value: Json, place: str) -> Json:
        match value:
            case str():
                return self._text(value, place) if OPENING in value else self._counted(value, len(value))
            case list():
                self._counted(value, 2 * len(value))
                return [
                    self.filled(item, join(place, i)) if isinstance(item, _MAY_HOLD) else item
                    for i, item in enumerate(value)
                ]
            case dict():
                self._counted(value, 2 * len(value) + sum(map(len, value)))
                return {
                    key: self.filled(item, join(place, key)) if isinstance(item, _MAY_HOLD) else item
                    for key, item in value.items()
                }
            case _:
                return value

    def _text(self, text: str, place: str) -> Json:
        try:
            parts = slots.parts(text)
        except Mistake as mistake:
            raise EvaluationFailed(_at(place, str(mistake))) from None
        if len(parts) == 1 and isinstance(alone := parts[0], Slot):
            return self._value(alone, place)
        filled = "".join(self._piece(part, place) for part in parts)
        # A reference may come from the document alone: no value completes one, nor brings one.
        own = sum(len(secret_refs.REFERENCE.findall(part)) for part in parts if isinstance(part, str))
        if "{{" in filled and len(secret_refs.REFERENCE.findall(filled)) != own:
            message = "with its values it holds a reference to a secret, which only the document may"
            raise EvaluationFailed(_at(place, message))
        return filled

    def _piece(self, part: str | Slot, place: str) -> str:
        if isinstance(part, str):
            return str(self._counted(part, len(part)))
        value = self._value(part, place)
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()

    def _value(self, slot: Slot, place: str) -> Json:
        try:
            value, size = slot.expression.measured(self._scope, self._budget)
            return self._counted(value, size)
        except EvaluationFailed as failure:
            message = f"{code(slot.expression.text)}: {failure.message}"
            raise EvaluationFailed(_at(place, message)) from None

    def _counted(self, value: Json, size: int) -> Json:
        self._bytes_left -= size
        if self._bytes_left < 0:
            raise EvaluationFailed(f"filled in, it takes more than {FILLED_BYTES_MAX // 1024**2} MB as JSON")
        return value


def _at(place: str, message: str) -> str:
    return f"{place}: {message}" if place else message


def _texts(value: Json, place: str, faults: Faults | None = None) -> Iterator[tuple[str, str]]:
    """Every text that has an opening, with its pointer."""
    match value:
        case str():
            if OPENING in value:
                yield value, place
        case list():
            for i, item in enumerate(value):
                if isinstance(item, _MAY_HOLD) and (not isinstance(item, str) or OPENING in item):
                    yield from _texts(item, join(place, i), faults)
        case dict():
            for key, item in value.items():
                if faults is not None and OPENING in key:
                    faults.add(
                        join(place, key), "a key is never an expression, only the value beside it can be"
                    )
                if isinstance(item, _MAY_HOLD) and (not isinstance(item, str) or OPENING in item):
                    yield from _texts(item, join(place, key), faults)


def _slots(value: Json) -> Iterator[Slot]:
    for text, _ in _texts(value, ""):
        try:
            yield from (part for part in slots.parts(text) if isinstance(part, Slot))
        except Mistake:
            continue
