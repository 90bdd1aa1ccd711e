"""What annotations say: of which type an input is, and what JSON has to become before a step is called."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, is_typeddict
from uuid import UUID

import msgspec

from windlass.core.task import Json
from windlass.sdk.authoring.places import CannotCompile, Place

_AS_TEXT: Final = (date, datetime, time, timedelta, Decimal, UUID)
_NONE: Final = type(None)


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:  # Any: types are values of many types
    """The annotations, read; those of a function that names what is not there are none."""
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError):
        return {}


def inputs_of(function: Callable[..., Any], place: Place) -> dict[str, Json]:
    """A workflow's parameters, as documents declare inputs."""
    hints = hints_of(function)
    found: dict[str, Json] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            message = f"*{name} has no name that an input could have; name each parameter of a workflow"
            raise CannotCompile(message, place)
        spec = spec_of(hints.get(name, Any))
        if parameter.default is parameter.empty:
            spec["required"] = True
        elif parameter.default is not None:
            spec["default"] = msgspec.to_builtins(parameter.default)
        found[name] = spec
    return found


def spec_of(hint: Any) -> dict[str, Json]:
    """The type and what else is known of an input."""
    if get_origin(hint) is Annotated:
        inner, *notes = get_args(hint)
        words = [note for note in notes if isinstance(note, str)]
        return spec_of(inner) | ({"description": words[0]} if words else {})
    if get_origin(hint) in (Union, types.UnionType):
        kinds = [kind for kind in get_args(hint) if kind is not _NONE]
        return spec_of(kinds[0]) if len(kinds) == 1 else {"type": "any"}
    if get_origin(hint) is Literal:
        values = list(get_args(hint))
        same = {spec_of(type(value))["type"] for value in values}
        return {"type": same.pop() if len(same) == 1 else "any", "enum": values}
    if isinstance(hint, typing.NewType):
        return spec_of(hint.__supertype__)
    return _spec_of_class(get_origin(hint) or hint)


def _spec_of_class(kind: Any) -> dict[str, Json]:
    if not isinstance(kind, type):
        return {"type": "any"}
    if issubclass(kind, enum.Enum):
        return {"type": "any", "enum": [member.value for member in kind]}
    if issubclass(kind, bool):
        return {"type": "boolean"}
    if issubclass(kind, str) or issubclass(kind, _AS_TEXT):
        return {"type": "string"}
    if issubclass(kind, int):
        return {"type": "integer"}
    if issubclass(kind, float):
        return {"type": "number"}
    if is_typeddict(kind) or issubclass(kind, Mapping) or _is_record(kind):
        return {"type": "object"}
    return {"type": "list"} if issubclass(kind, Iterable) else {"type": "any"}


def is_rich(hint: Any) -> bool:
    """Whether it is more than JSON has, anywhere in it: dataclasses, dates, enums, tuples …"""
    if isinstance(hint, typing.NewType):
        return is_rich(hint.__supertype__)
    if is_typeddict(hint):
        return any(map(is_rich, typing.get_type_hints(hint).values()))
    kind = get_origin(hint) or hint
    if isinstance(kind, type) and (_is_record(kind) or issubclass(kind, (*_AS_TEXT, enum.Enum, tuple, set))):
        return True
    return kind is not Literal and any(map(is_rich, get_args(hint)))


def read(value: Json, hint: Any) -> Any:
    """JSON as the function wants it. Raises TypeError."""
    try:
        return msgspec.convert(value, hint)
    except msgspec.ValidationError as error:
        raise TypeError(str(error)) from None


def write(value: Any) -> Json:
    """The other way round."""
    return msgspec.to_builtins(value)


def _is_record(kind: type) -> bool:
    return dataclasses.is_dataclass(kind) or issubclass(kind, msgspec.Struct)
