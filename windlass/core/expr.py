"""Expressions: CEL over JSON, checked when they are read and bounded when they are evaluated.

They run where everything runs, so none may take long: the text, its nesting, the steps it takes and what
comes out of it have bounds. The same expression over the same values takes the same steps, everywhere.
"""

from __future__ import annotations

import datetime
import difflib
import math
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from windlass.core.cel import syntax, times
from windlass.core.cel.meaning import Code, compiled
from windlass.core.cel.memo import Memo
from windlass.core.cel.parser import NAMESPACES, ROOTS, TEXT_MAX, TYPES, parse
from windlass.core.cel.syntax import Mistake, Node
from windlass.core.cel.values import (
    STEPS_MAX,
    Created,
    CreatedMap,
    EvaluationFailed,
    Type,
    Value,
    Work,
)
from windlass.core.faults import code
from windlass.core.task import Json

__all__ = [
    "DEPTH_MAX",
    "RESULT_BYTES_MAX",
    "ROOTS",
    "STEPS_MAX",
    "TEXT_MAX",
    "Budget",
    "EvaluationFailed",
    "Expression",
    "Mistake",
    "Use",
    "compile",
]

RESULT_BYTES_MAX: Final = 8 * 1024 * 1024
DEPTH_MAX: Final = 64
# A reference to a secret, or nearly one, in JSON: whatever spaces it has may be written as escapes there.
_LIKE_SECRET: Final = re.compile(rb"\{\{(?:[ \x80-\xff]|\\[nrtfbu0-9a-f]+)*secrets\.[A-Za-z_]")
_LONG_TEXT: Final = 256
_BRACKETS: Final = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STEPS_ADVICE: Final = 'write steps.ID or steps["ID"], with the id of one step'


class Use(NamedTuple):
    """A name from outside, with the fields asked of it as far as they are fixed: inputs.day."""

    path: tuple[str, ...]
    position: int


class Budget:
    """What several evaluations may take together."""

    def __init__(self, steps: int = STEPS_MAX) -> None:
        self.steps = steps


class Expression:
    def __init__(self, text: str, code: Code, depth: int, uses: tuple[Use, ...]) -> None:
        self.text = text
        self.uses = uses
        self.roots = frozenset(use.path[0] for use in uses)
        self.steps = frozenset(use.path[1] for use in uses if use.path[0] == "steps")
        self._code = code
        self._depth = depth

    def evaluate(self, scope: Mapping[str, Json], budget: Budget | None = None) -> Json:
        """A JSON value; what it shares with the scope is not copied. Raises EvaluationFailed."""
        return self.measured(scope, budget)[0]

    def measured(self, scope: Mapping[str, Json], budget: Budget | None = None) -> tuple[Json, int]:
        """The same, and how many bytes it takes as JSON."""
        work = Work(scope, STEPS_MAX if budget is None else budget.steps)
        work.variables = [None] * self._depth
        try:
            return _Export(work).whole(self._code(work))
        except EvaluationFailed as failure:
            raise EvaluationFailed(_explained(failure)) from None
        except RecursionError:
            raise EvaluationFailed("the values are nested too deeply") from None
        except OverflowError:
            raise EvaluationFailed("a number is too large; use double(…)") from None
        finally:
            if budget is not None:
                budget.steps = max(work.left, 0)


_memo: Final[Memo[Expression]] = Memo()


def compile(text: str) -> Expression:
    """Raises Mistake."""
    known = _memo.get(text)
    if known is None:
        known = _compile(text)
        _memo.put(text, known)
    return known


def _compile(text: str) -> Expression:
    tree = parse(text)
    uses = tuple(_uses(tree, ()))
    return Expression(text, *compiled(tree), uses)


def json_bytes(value: Json, depth: int = 0) -> int:
    """How long it is as JSON, at this depth. Raises EvaluationFailed for what may not come out."""
    try:
        encoded = msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError):
        raise EvaluationFailed("the result is no JSON") from None
    if b"{{" in encoded and _LIKE_SECRET.search(encoded):
        raise EvaluationFailed("the result holds a reference to a secret, which only the document may")
    if isinstance(value, list | dict) and _is_deeper(value, encoded, DEPTH_MAX - depth):
        raise EvaluationFailed(f"the result is nested deeper than {DEPTH_MAX} levels")
    return len(encoded)


def _is_deeper(value: Json, encoded: bytes, levels: int) -> bool:
    """Whether lists and objects are in each other further than that. Most often their brackets show it."""
    brackets = encoded.translate(_BRACKETS, _NO_BRACKETS)
    for _ in range(levels):
        if not brackets:
            return False
        brackets = brackets.replace(b"[]", b"")
    if not brackets:
        return False
    level = [value]  # texts may hold brackets, too
    for _ in range(levels):
        members = (parent.values() if isinstance(parent, dict) else parent for parent in level)
        level = [member for some in members for member in some if isinstance(member, list | dict)]
    return bool(level)


def _uses(node: Node, bound: tuple[str, ...]) -> Iterator[Use]:
    path, start, rest = _chain(node)
    if path and path[0] not in bound and path[0] not in TYPES:
        if path[0] in NAMESPACES:
            raise Mistake(f"`{path[0]}` is no value; write e.g. math.greatest(a, b)", start.at)
        if path[0] == "steps" and len(path) == 1:
            raise Mistake(_STEPS_ADVICE, start.at)
        yield Use(path, start.at)
    elif not path:
        rest = [*syntax.children(node)]
    if isinstance(node, syntax.Loop):
        yield from _uses(node.over, bound)
        bound, rest = (*bound, node.variable), [*node.args]
    for part in rest:
        yield from _uses(part, bound)


def _chain(node: Node) -> tuple[tuple[str, ...], Node, list[Node]]:
    """A name and its fixed fields, where they begin, and the keys that are computed after them."""
    links: list[Node] = []
    here = node
    while isinstance(here, syntax.Select | syntax.Index | syntax.Has):
        links.append(here)
        here = here.of
    if not isinstance(here, syntax.Name):
        return (), here, []
    path, rest = [here.name], list[Node]()
    fixed = True
    for link in reversed(links):
        match link:
            case syntax.Select(field=field) | syntax.Has(field=field):
                key: str | None = field
            case syntax.Index(key=syntax.Literally(value=str() as word)):
                key = word
            case syntax.Index(key=computed):
                key = None
                rest.append(computed)
        fixed = fixed and key is not None
        if fixed and key is not None:
            path.append(key)
    return tuple(path), here, rest


def _explained(failure: EvaluationFailed) -> str:
    message = failure.message
    if failure.near is not None:
        word, members = failure.near
        names = [name for name in islice(members, 100) if len(name) <= 40]
        near = difflib.get_close_matches(word[:40], names, n=1)
        message += f"; did you mean {code(near[0])}?" if near else _known(names, len(members))
    return message if failure.at is None else f"{message} (at character {failure.at + 1})"


def _known(names: list[str], count: int) -> str:
    if not count:
        return ", it is empty"
    return f"; known are {', '.join(names)}" if 0 < len(names) == count <= 10 else ""


class _Export:
    """From a value to JSON: what was made here becomes plain, what came from outside stays as it is."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._done: dict[
            int, tuple[Json, int]
        ] = {}  # a list, or a long text, that is shared a thousand times is looked at once

    def whole(self, value: Value) -> tuple[Json, int]:
        if value is None or value is True or value is False:
            return value, 5
        result, size = self._member(value, 0)
        if size > RESULT_BYTES_MAX:
            raise EvaluationFailed(f"the result takes more than {RESULT_BYTES_MAX // 1024**2} MB as JSON")
        return result, size

    def _member(self, value: Value, depth: int) -> tuple[Json, int]:
        match value:
            case Created() | CreatedMap():
                known = self._done.get(id(value))
                if known is None:
                    known = self._done[id(value)] = self._members(value, depth)
                return known
            case float() if not math.isfinite(value):
                raise EvaluationFailed(f"the result is {value}, which JSON has no number for")
            case datetime.datetime():
                value = times.text(value)
            case datetime.timedelta():
                value = times.seconds(value)
            case Type():
                value = value.name
            case list() | dict():
                key = id(value)
                if key not in self._done:
                    size = json_bytes(value, depth)
                    self._work.charge(size >> 6)
                    self._done[key] = value, size
                return self._done[key]
            case str() if len(value) > _LONG_TEXT:
                known = self._done.get(id(value))
                if known is None:
                    known = self._done[id(value)] = value, json_bytes(value)
                return known
        return value, json_bytes(value)

    def _members(self, value: Created | CreatedMap, depth: int) -> tuple[Json, int]:
        if depth >= DEPTH_MAX:
            raise EvaluationFailed(f"the result is nested deeper than {DEPTH_MAX} levels")
        self._work.charge(len(value))
        if isinstance(value, list):
            items = [self._member(item, depth + 1) for item in value]
            return [item for item, _ in items], 2 + sum(size + 1 for _, size in items)
        pairs = {key: self._member(item, depth + 1) for key, item in value.items()}
        size = 2 + sum(json_bytes(key) + 2 + size for key, (_, size) in pairs.items())
        return {key: item for key, (item, _) in pairs.items()}, size
