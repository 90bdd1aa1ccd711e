"""What annotations say: of which type an input is, and what JSON has to become before a step is called."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import os
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, Union, cast, get_args, get_origin, is_typeddict
from uuid import UUID

import msgspec

from windlass.core.task import Json
from windlass.sdk.authoring.places import CannotCompile, Place

_AS_TEXT: Final = (date, datetime, time, timedelta, Decimal, UUID, os.PathLike)
_NONE: Final = type(None)


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:  # Any: types are values of many types
    """The annotations, read. One that names what is not there, such as an import for type checkers only, says
    nothing; the others do."""
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError):
        return dict(_readable(function))


def _readable(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    names = getattr(function, "__globals__", {})
    for name, hint in inspect.get_annotations(function).items():
        alone = types.SimpleNamespace(__annotations__={name: hint})
        try:
            yield from typing.get_type_hints(alone, names, include_extras=True).items()
        except (NameError, TypeError):
            continue


def inputs_of(function: Callable[..., Any], place: Place) -> dict[str, Json]:
    """A workflow's parameters, as documents declare inputs."""
    hints = hints_of(function)
    found: dict[str, Json] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            message = f"*{name} has no name that an input could have; name each parameter of a workflow"
            raise CannotCompile(message, place)
        if parameter.kind is parameter.POSITIONAL_ONLY:
            message = f"inputs are given by name, and {name} has none; write the parameters without a /"
            raise CannotCompile(message, place)
        spec = spec_of(hints.get(name, Any))
        if parameter.default is parameter.empty:
            spec["required"] = True
        else:
            spec["default"] = _default(name, parameter.default, place)
        found[name] = spec
    return found


def _default(name: str, given: object, place: Place) -> Json:
    try:
        return write(given)
    except TypeError:
        message = f"the default of {name} is a {type(given).__name__}, which JSON cannot hold"
        raise CannotCompile(f"{message}; use text, numbers, lists or dicts", place) from None


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
        return _one_of(list(get_args(hint)))
    if (meant := _meant(hint)) is not hint:
        return spec_of(meant)
    return _spec_of_class(get_origin(hint) or hint)


def _one_of(values: list[Any]) -> dict[str, Json]:
    same = {spec_of(type(value))["type"] for value in values}
    return {"type": same.pop() if len(same) == 1 else "any", "enum": values}


def _meant(hint: Any) -> Any:
    """What another name stands for: `NewType("Day", date)`, `type Day = date`."""
    if isinstance(hint, typing.NewType):
        return hint.__supertype__
    return hint.__value__ if type(hint).__name__ == "TypeAliasType" else hint


def _spec_of_class(kind: Any) -> dict[str, Json]:
    if not isinstance(kind, type):
        return {"type": "any"}
    if issubclass(kind, enum.Enum):
        return _one_of([member.value for member in kind])
    if issubclass(kind, bool):
        return {"type": "boolean"}
    if issubclass(kind, (str, bytes, *_AS_TEXT)):
        return {"type": "string"}
    if issubclass(kind, int):
        return {"type": "integer"}
    if issubclass(kind, float):
        return {"type": "number"}
    if is_typeddict(kind) or issubclass(kind, Mapping) or _is_record(kind):
        return {"type": "object"}
    return {"type": "list"} if issubclass(kind, Iterable) else {"type": "any"}


def is_rich(hint: Any, inside: frozenset[Any] = frozenset()) -> bool:
    """Whether it is more than JSON has, anywhere in it: dataclasses, dates, enums, tuples …"""
    if (meant := _meant(hint)) is not hint:
        return is_rich(meant, inside)
    if is_typeddict(hint):
        if hint in inside:  # a tree, which has itself in it
            return False
        members = typing.get_type_hints(hint).values()
        return any(is_rich(member, inside | {hint}) for member in members)
    kind = get_origin(hint) or hint
    rich = (*_AS_TEXT, enum.Enum, tuple, set, frozenset)
    if isinstance(kind, type) and (_is_record(kind) or issubclass(kind, rich)):
        return True
    return kind is not Literal and any(is_rich(part, inside) for part in get_args(hint))


def read(value: Json, hint: Any) -> Any:
    """JSON as the function wants it. Raises TypeError."""
    try:
        return _whole(msgspec.convert(value, hint, dec_hook=_made))
    except msgspec.ValidationError as error:
        raise TypeError(str(error)) from None


def write(value: Any) -> Json:
    """The other way round."""
    return msgspec.to_builtins(value, enc_hook=_told)


def _made(kind: type, value: Any) -> Any:
    """What msgspec does not know. What this raises it tells with the place."""
    if issubclass(kind, os.PathLike):
        return cast(Any, kind)(value)
    if _is_model(kind):
        return cast(Any, kind).model_validate(value)
    if isinstance(value, kind):
        return value
    raise TypeError(f"a {kind.__name__} cannot be made of JSON")


def _told(value: Any) -> Json:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if _is_model(type(value)):
        return value.model_dump(mode="json")
    raise TypeError(f"a {type(value).__name__} cannot be made JSON")


def _whole(value: Any) -> Any:
    """msgspec leaves defaults of dataclasses with their class, and then takes the fields for missing."""
    match value:
        case dict():
            inside = list(value.values())
        case list() | tuple() | set() | frozenset():
            inside = list(value)
        case msgspec.Struct():
            inside = [getattr(value, name) for name in value.__struct_fields__]
        case _ if dataclasses.is_dataclass(value):
            names = (each.name for each in dataclasses.fields(value))
            fields = {name: getattr(value, name) for name in names if hasattr(value, name)}
            if hasattr(value, "__dict__"):
                vars(value).update(fields)
            inside = list(fields.values())
        case _:
            return value
    for each in inside:
        _whole(each)
    return value


def _is_record(kind: type) -> bool:
    known = dataclasses.is_dataclass(kind) or issubclass(kind, msgspec.Struct)
    return known or hasattr(kind, "__attrs_attrs__") or _is_model(kind)


def _is_model(kind: type) -> bool:
    """Of pydantic, by what its classes can do: nothing here needs it to be installed."""
    return hasattr(kind, "model_validate") and hasattr(kind, "model_dump")
