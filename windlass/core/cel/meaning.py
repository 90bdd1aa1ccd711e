"""From a tree to a function that computes its value.

Outside of loops an expression does no more than it has parts, so only loops, and what handles sizes, charge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NoReturn, assert_never

from windlass.core.cel import arithmetic, syntax
from windlass.core.cel.functions import FUNCTIONS
from windlass.core.cel.parser import TYPES
from windlass.core.cel.syntax import Node
from windlass.core.cel.values import (
    Created,
    CreatedMap,
    EvaluationFailed,
    TooCostly,
    Type,
    Value,
    Work,
    shown,
)

Code = Callable[[Work], Value]
_FAILURE_STEPS: Final = 20  # to fail and go on takes longer than to go on


def compiled(node: Node) -> tuple[Code, int]:
    """The function, and how many variables of loops are in use at once."""
    builder = _Builder()
    return builder.code(node), builder.depth


class _Builder:
    def __init__(self) -> None:
        self._bound: list[str] = []
        self.depth = 0

    def code(self, node: Node) -> Code:
        match node:
            case syntax.Literally():
                return _constant(node.value)
            case syntax.Name() | syntax.Select():
                return self._path(node)
            case syntax.Has():
                return _has(self.code(node.of), node)
            case syntax.Index():
                return _index(self.code(node.of), self.code(node.key), node.at)
            case syntax.Call():
                return _call(node, tuple(map(self.code, node.args)))
            case syntax.ListOf():
                return _list(tuple(map(self.code, node.items)))
            case syntax.MapOf():
                return _map([(self.code(key), self.code(value)) for key, value in node.entries], node.at)
            case syntax.Not():
                return _not(self.code(node.of), node.at)
            case syntax.Minus():
                return arithmetic.minus(self.code(node.of), node.at)
            case syntax.Binary():
                return arithmetic.binary(node.operator, self.code(node.left), self.code(node.right), node.at)
            case syntax.Logic():
                return _logic(node.every, tuple((self.code(term), term.at) for term in node.terms))
            case syntax.Choice():
                return _choice(self.code(node.test), self.code(node.yes), self.code(node.no), node.at)
            case syntax.Loop():
                return self._loop(node)
            case _:
                assert_never(node)

    def _path(self, node: syntax.Name | syntax.Select) -> Code:
        """A chain of fields in one go: the most frequent expression of all."""
        fields: list[tuple[str, int]] = []
        start: Node = node
        while isinstance(start, syntax.Select):
            fields.append((start.field, start.field_at))
            start = start.of
        fields.reverse()
        if not isinstance(start, syntax.Name):
            return _fields(self.code(start), "this", fields)
        name = start.name
        if name in self._bound:
            slot = len(self._bound) - 1 - self._bound[::-1].index(name)
            code: Code = lambda work: work.variables[slot]  # noqa: E731
        elif name in TYPES:
            code = _constant(Type(name))
        else:
            code = _root(name, start.at)
        return _fields(code, name, fields) if fields else code

    def _loop(self, node: syntax.Loop) -> Code:
        over = self.code(node.over)
        slot = len(self._bound)
        self._bound.append(node.variable)
        self.depth = max(self.depth, len(self._bound))
        args = [self.code(arg) for arg in node.args]
        self._bound.pop()
        steps = 1 + sum(map(_parts, node.args))
        match node.macro:
            case "all" | "exists":
                return _quantified(node.macro == "all", over, args[0], slot, steps, node.at)
            case "exists_one":
                return _exists_one(over, args[0], slot, steps, node.at)
            case "filter":
                return _collected(over, args[0], None, slot, steps, node.at)
            case "map":
                test = args[0] if len(args) == 2 else None
                return _collected(over, test, args[-1], slot, steps, node.at)
            case _:
                assert_never(node.macro)


def _parts(node: Node) -> int:
    """What one turn of a loop takes: the parts of its body. A loop in it charges for its own."""
    inner = (node.over,) if isinstance(node, syntax.Loop) else syntax.children(node)
    return 1 + sum(map(_parts, inner))


def _fail(message: str, at: int) -> NoReturn:
    raise EvaluationFailed(message).located(at)


def _constant(value: Value) -> Code:
    return lambda work: value


def _root(name: str, at: int) -> Code:
    def code(work: Work) -> Value:
        try:
            return work.scope[name]
        except KeyError:
            _fail(f"there is no `{name}` here", at)

    return code


def _fields(start: Code, name: str, fields: Sequence[tuple[str, int]]) -> Code:
    def code(work: Work) -> Value:
        value = start(work)
        for field, at in fields:
            try:
                value = value[field]
            except (KeyError, TypeError, IndexError):
                _missing(value, field, at, _place(name, fields, at))
        return value

    return code


def _place(name: str, fields: Iterable[tuple[str, int]], at: int) -> str:
    return ".".join([name, *(field for field, there in fields if there < at)])


def _missing(value: Value, field: str, at: int, place: str) -> NoReturn:
    where = "it" if place == "this" else f"`{place}`"
    match value:
        case dict():
            failure = EvaluationFailed(f"there is no `{field}` in {where}", (field, value))
        case list():
            failure = EvaluationFailed(
                f"{where} is a list and has no `{field}`; write [0] for its first item"
            )
        case _:
            failure = EvaluationFailed(f"{where} is {shown(value)} and has no `{field}`")
    raise failure.located(at)


def _has(of: Code, node: syntax.Has) -> Code:
    field = node.field

    def code(work: Work) -> bool:
        value = of(work)
        if not isinstance(value, dict):
            _fail(f"`has` looks for `{field}` in {shown(value)}, which has no fields", node.at)
        return field in value

    return code


def _index(of: Code, key: Code, at: int) -> Code:
    def code(work: Work) -> Value:
        value, wanted = of(work), key(work)
        if isinstance(value, dict):
            if not isinstance(wanted, str):
                _fail(f"the keys of an object are texts, found {shown(wanted)}", at)
            if wanted not in value:
                raise EvaluationFailed(f"there is no `{wanted[:100]}` in it", (wanted, value)).located(at)
            return value[wanted]
        if not isinstance(value, list):
            _fail(f"only lists and objects have items, found {shown(value)}", at)
        if isinstance(wanted, float) and wanted.is_integer():
            wanted = int(wanted)
        if type(wanted) is not int:
            _fail(f"the place in a list is a whole number, found {shown(wanted)}", at)
        if not 0 <= wanted < len(value):
            _fail(f"there is no item {wanted} in a list of {len(value)}; the first one is 0", at)
        return value[wanted]

    return code


def _call(node: syntax.Call, args: tuple[Code, ...]) -> Code:
    run, at = FUNCTIONS[node.function].run, node.at

    def code(work: Work) -> Value:
        given = [arg(work) for arg in args]
        try:
            return run(work, *given)
        except EvaluationFailed as failure:
            raise failure.located(at) from None

    return code


def _list(items: tuple[Code, ...]) -> Code:
    return lambda work: Created([item(work) for item in items])


def _map(entries: list[tuple[Code, Code]], at: int) -> Code:
    def code(work: Work) -> Value:
        made = CreatedMap()
        for key, value in entries:
            name = key(work)
            if not isinstance(name, str):
                _fail(f"the keys of an object are texts, found {shown(name)}", at)
            if name in made:
                _fail(f"the key `{name[:100]}` is there twice", at)
            made[name] = value(work)
        return made

    return code


def _not(of: Code, at: int) -> Code:
    def code(work: Work) -> bool:
        value = of(work)
        if value is True or value is False:
            return not value
        _fail(f"`!` needs true or false, found {shown(value)}", at)

    return code


def _choice(test: Code, yes: Code, no: Code, at: int) -> Code:
    def code(work: Work) -> Value:
        value = test(work)
        if value is True:
            return yes(work)
        if value is False:
            return no(work)
        _fail(f"`?` needs true or false before it, found {shown(value)}", at)

    return code


def _logic(every: bool, terms: tuple[tuple[Code, int], ...]) -> Code:
    """A term that decides wins over one that fails, whatever their order."""
    decisive, mark = (False, "&&") if every else (True, "||")

    def code(work: Work) -> bool:
        failure: EvaluationFailed | None = None
        for term, at in terms:
            try:
                value = term(work)
            except TooCostly:
                raise
            except EvaluationFailed as error:
                work.charge(_FAILURE_STEPS)
                failure = failure or error
                continue
            if value is decisive:
                return not every
            if value is not every and failure is None:
                failure = EvaluationFailed(f"`{mark}` needs true or false, found {shown(value)}").located(at)
        if failure is not None:
            raise failure
        return every

    return code


def _items(value: Value, at: int) -> Iterable[Value]:
    """As they are: to copy them would cost as much as to go through them."""
    if isinstance(value, list | dict):
        return value
    _fail(f"only a list, or the keys of an object, can be gone through, found {shown(value)}", at)


def _quantified(every: bool, over: Code, body: Code, slot: int, steps: int, at: int) -> Code:
    name, decisive = ("all", False) if every else ("exists", True)

    def code(work: Work) -> bool:
        failure: EvaluationFailed | None = None
        for item in _items(over(work), at):
            work.charge(steps)
            work.variables[slot] = item
            try:
                value = body(work)
            except TooCostly:
                raise
            except EvaluationFailed as error:
                work.charge(_FAILURE_STEPS)
                failure = failure or error
                continue
            if value is decisive:
                return not every
            if value is not every and failure is None:
                failure = EvaluationFailed(_no_answer(name, value)).located(at)
        if failure is not None:
            raise failure
        return every

    return code


def _exists_one(over: Code, body: Code, slot: int, steps: int, at: int) -> Code:
    def code(work: Work) -> bool:
        count = 0
        for item in _items(over(work), at):
            work.charge(steps)
            work.variables[slot] = item
            count += _answer("exists_one", body(work), at)
        return count == 1

    return code


def _collected(over: Code, test: Code | None, made: Code | None, slot: int, steps: int, at: int) -> Code:
    """`map` and `filter`: what is made of each item that passes the test, or the item itself."""
    name = "filter" if made is None else "map"

    def code(work: Work) -> list[Value]:
        result = Created()
        for item in _items(over(work), at):
            work.charge(steps)
            work.variables[slot] = item
            if test is None or _answer(name, test(work), at):
                result.append(item if made is None else made(work))
        return result

    return code


def _answer(name: str, value: Value, at: int) -> bool:
    if value is True or value is False:
        return bool(value)
    _fail(_no_answer(name, value), at)


def _no_answer(name: str, value: Value) -> str:
    return f"what `{name}` asks of each item must be true or false, found {shown(value)}"
