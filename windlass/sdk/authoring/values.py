"""Values of a run while its workflow is compiled: nobody knows them yet, but where they will be is known."""

from __future__ import annotations

import enum
import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NoReturn

from windlass.core.task import Json
from windlass.sdk.authoring.places import CannotCompile, here

# Words that expressions use themselves: a field of such a name is written in brackets.
_RESERVED: Final = frozenset({
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let",
    "loop", "namespace", "null", "package", "return", "true", "var", "void", "while",
})  # fmt: skip
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HOLE: Final = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_TEXT: Final = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""")
_WORD: Final = re.compile(r"(?<![.\w])[A-Za-z_]\w*")
_STEP: Final = re.compile(r"""\bsteps\s*(?:\.\s*([A-Za-z_][A-Za-z0-9_]*)|\[\s*["']([^"']+)["']\s*\])""")


class Value:
    """What stands for a value of a run. It can be passed on, looked into, compared and reckoned with.

    To every type checker it is what the step returns, or what the parameter is.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __getattr__(self, name: str) -> Value:
        if name.startswith("__"):  # protocols of Python's own, which nobody means
            raise AttributeError(name)
        return Value(member(self._text, name))

    def __getitem__(self, key: object) -> Value:
        if isinstance(key, str):
            return Value(member(self._text, key))
        if isinstance(key, slice):
            _refuse("a value of a run cannot be sliced yet", "do that inside a step")
        if isinstance(key, int) and key < 0:  # from the end, as in Python
            return Value(f"{self._text}[size({self._text}) - {-key}]")
        return Value(f"{self._text}[{literal(key)}]")

    def __str__(self) -> str:
        return f"${{{{ {self._text} }}}}"

    def __format__(self, spec: str) -> str:
        if spec:
            _refuse(f"a value of a run cannot be formatted as {spec!r}", "format it inside a step")
        return str(self)

    def __repr__(self) -> str:
        return f"<value of a run: {self._text}>"

    # Any: whoever compares two values gets a bool, as far as types are concerned.

    def __eq__(self, other: object) -> Any:
        return self._with("==", other)

    def __ne__(self, other: object) -> Any:
        return self._with("!=", other)

    def __lt__(self, other: object) -> Value:
        return self._with("<", other)

    def __le__(self, other: object) -> Value:
        return self._with("<=", other)

    def __gt__(self, other: object) -> Value:
        return self._with(">", other)

    def __ge__(self, other: object) -> Value:
        return self._with(">=", other)

    def __and__(self, other: object) -> Value:
        return self._with("&&", other)

    def __rand__(self, other: object) -> Value:
        return self._after("&&", other)

    def __or__(self, other: object) -> Value:
        return self._with("||", other)

    def __ror__(self, other: object) -> Value:
        return self._after("||", other)

    def __invert__(self) -> Value:
        return Value(f"!({self._text})")

    def __add__(self, other: object) -> Value:
        return self._with("+", other)

    def __radd__(self, other: object) -> Value:
        return self._after("+", other)

    def __sub__(self, other: object) -> Value:
        return self._with("-", other)

    def __rsub__(self, other: object) -> Value:
        return self._after("-", other)

    def __mul__(self, other: object) -> Value:
        return self._with("*", other)

    def __rmul__(self, other: object) -> Value:
        return self._after("*", other)

    def __truediv__(self, other: object) -> Value:
        # As in Python: in expressions a whole number divided by one is a whole number.
        return Value(f"(double({self._text}) / double({literal(other)}))")

    def __rtruediv__(self, other: object) -> Value:
        return Value(f"(double({literal(other)}) / double({self._text}))")

    def __mod__(self, other: object) -> Value:
        return self._with("%", other)

    def __neg__(self) -> Value:
        return Value(f"-({self._text})")

    __hash__ = object.__hash__

    # What needs the value itself.

    def __bool__(self) -> bool:
        _refuse(
            "if, while, and, or, not, in over values of a run "
            "cannot be decided when the workflow is compiled",
            'use when=…, and & | ~ for and, or, not; expr(f"{value} in …") for in',
        )

    def __iter__(self) -> Iterator[Any]:
        _refuse("a value of a run has no items yet", "use .map(…) for one step per item, value[0] for one")

    def __len__(self) -> int:
        _refuse("a value of a run has no length yet", 'write expr(f"size({value})")')

    def __contains__(self, item: object) -> bool:
        _refuse("what is in a value of a run is not known yet", 'write expr(f"{item} in {value}")')

    def __call__(self, *args: object, **kwargs: object) -> Value:
        _refuse(f"{self._text} is a value of a run and has no methods yet", "call them inside a step")

    def __int__(self) -> int:
        _refuse("a value of a run is no number yet", "do that inside a step")

    def __float__(self) -> float:
        _refuse("a value of a run is no number yet", "do that inside a step")

    def __index__(self) -> int:
        _refuse("a value of a run is no number yet", "do that inside a step")

    def __setattr__(self, name: str, value: object) -> None:
        if name != "_text":
            _refuse("a value of a run cannot be changed", "return another one from a step")
        object.__setattr__(self, name, value)

    def __setitem__(self, key: object, value: object) -> None:
        _refuse("a value of a run cannot be changed", "return another one from a step")

    def _with(self, sign: str, other: object) -> Value:
        return Value(f"({self._text} {sign} {literal(other)})")

    def _after(self, sign: str, other: object) -> Value:
        return Value(f"({literal(other)} {sign} {self._text})")


def expr(text: str) -> Any:  # Any: whatever the expression gives
    """A value by an expression of your own: `expr("size(inputs.files) > 3")`. f-strings may hold values."""
    return Value(bare(text))


def text_of(value: Value) -> str:
    """The expression, without the braces."""
    text: str = object.__getattribute__(value, "_text")
    return text


def member(of: str, name: str) -> str:
    plain = _NAME.fullmatch(name) and name not in _RESERVED
    return f"{of}.{name}" if plain else f"{of}[{_quoted(name)}]"


def bare(text: str) -> str:
    """What an expression says; values that were written into it are part of it."""
    whole = _HOLE.fullmatch(text.strip())
    if whole is not None and "${{" not in whole[1]:
        return whole[1].strip()
    return _HOLE.sub(lambda hole: f"({hole[1].strip()})", text).strip()


def literal(value: object) -> str:
    """As expressions write it."""
    match value:
        case Value():
            return text_of(value)
        case None:
            return "null"
        case enum.Enum():
            return literal(value.value)
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case str() if "${{" in value:
            return _joined(value)
        case str():
            return _quoted(value)
        case list() | tuple():
            return f"[{', '.join(map(literal, value))}]"
        case Mapping():
            inside = ", ".join(f"{_quoted(str(key))}: {literal(item)}" for key, item in value.items())
            return f"{{{inside} }}"  # the space: two braces would end the expression that this stands in
        case _:
            _refuse(f"{value!r} cannot stand in an expression", "use text, numbers, lists and dicts")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("}}", "}\\u007d")


def _joined(text: str) -> str:
    """A text with values in it, as an f-string makes it; one that is nothing else is that value."""
    if _HOLE.fullmatch(text) and text.count("${{") == 1:
        return bare(text)
    parts = [
        f"string({part.strip()})" if at % 2 else _quoted(part) for at, part in enumerate(_HOLE.split(text))
    ]
    return f"({' + '.join(part for part in parts if part != _quoted(''))})"


def speaks_of(given: Json, names: Collection[str]) -> bool:
    """Whether expressions in it use one of these names, which are no members of anything."""
    match given:
        case str():
            holes = (_TEXT.sub("", hole[1]) for hole in _HOLE.finditer(given))
            return any(word in names for hole in holes for word in _WORD.findall(hole))
        case list():
            return any(speaks_of(item, names) for item in given)
        case dict():
            return any(speaks_of(item, names) for item in given.values())
        case _:
            return False


def mentioned(given: Json) -> Iterator[str]:
    """The ids of all steps that expressions in it speak of."""
    match given:
        case str():
            for hole in _HOLE.finditer(given):
                for found in _STEP.finditer(hole[1]):
                    yield found[1] or found[2]
        case list():
            for item in given:
                yield from mentioned(item)
        case dict():
            for item in given.values():
                yield from mentioned(item)


def _refuse(what: str, advice: str) -> NoReturn:
    raise CannotCompile(f"{what}; {advice}", here())
