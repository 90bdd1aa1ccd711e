"""What a run of a workflow may be started with."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Final, Literal, get_args

import msgspec

from windlass.core import patterns
from windlass.core.cel.values import TooCostly, Work, equal
from windlass.core.faults import Faults, code, found, join, quote
from windlass.core.fields import Fields
from windlass.core.task import Json

InputType = Literal["any", "string", "integer", "number", "boolean", "list", "object"]
TYPES: Final[tuple[InputType, ...]] = get_args(InputType)
KEYS: Final = ("type", "required", "default", "description", "pattern", "enum", "min", "max")

INPUTS_MAX: Final = 200
ENUM_MAX: Final = 1_000
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")
_INSTRUCTIONS_MAX: Final = 1_000_000  # of all patterns; RE2 makes at most some 60,000 of one
_ENUM_STEPS_MAX: Final = 1_000_000
_NUMBER_MAX: Final = 1e300
_SHORT: Final = 100  # characters of a text that is looked into for advice


class InputSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    type: InputType = "any"
    required: bool = False
    has_default: bool = False
    default: Json = None
    description: str = ""
    pattern: str = ""  # for text: all of it
    enum: tuple[Json, ...] = ()
    min: float | None = None  # of a number; of the length of a text or list
    max: float | None = None


class Inputs(msgspec.Struct, frozen=True, omit_defaults=True):
    specs: tuple[InputSpec, ...] = ()


def read(given: Json, pointer: str, faults: Faults) -> Inputs:
    """The `inputs` of a document. What has a fault is left off, or as if that part were not there."""
    if not isinstance(given, dict):
        expected = "an object with the inputs by name, such as {day: string}"
        faults.add(pointer, f"expected {expected}, found {found(given)}")
        return Inputs()
    if len(given) > INPUTS_MAX:
        faults.add(
            pointer, f"there may be {INPUTS_MAX} inputs, these are {len(given):,}; put some into an object"
        )
        return Inputs()
    room = _Room()
    specs = [_spec(name, value, join(pointer, name), faults, room) for name, value in given.items()]
    return Inputs(tuple(spec for spec in specs if spec is not None))


class _Room:
    """What the patterns of all inputs may take: to read large ones takes time, each time they are loaded."""

    def __init__(self) -> None:
        self._left = _INSTRUCTIONS_MAX

    def read(self, text: str) -> None:
        """Raises ValueError for what is no pattern, or one too many."""
        if self._left < 0:
            raise ValueError("the patterns before it are too large together; let a step look at the texts")
        try:
            self._left -= patterns.Pattern(text).instructions
        except ValueError:
            self._left -= _INSTRUCTIONS_MAX // 20  # it may have taken as long as a large one
            raise


def filled(inputs: Inputs, given: Json) -> Json:
    """The input with defaults where nothing was given. Raises Invalid with every fault at once.

    Where nothing is declared, anything goes. A text is never read as a number: whoever has only texts, such
    as a command line, converts them.
    """
    if not inputs.specs:
        return given
    faults = Faults()
    if given is None:
        given = {}
    if not isinstance(given, dict):
        faults.add("/input", f"expected an object with the inputs by name, found {found(given)}")
        faults.refuse("the input")
    specs = {spec.name: spec for spec in inputs.specs}
    for name in given:
        if name not in specs:
            hint = faults.hint(name, specs) or f"; known are {', '.join(specs)}"
            faults.add(join("/input", name), f"the workflow has no input {code(name)}{hint}")
    result: dict[str, Json] = {}
    for name, spec in specs.items():
        if name in given:
            _check(spec, given[name], join("/input", name), faults)
            result[name] = given[name]
        elif spec.has_default:
            result[name] = spec.default
        elif spec.required:
            expected = "" if spec.type == "any" else f" ({_CALLED[spec.type]})"
            faults.add("/input", f"the input {code(name)}{expected} is missing, and the workflow requires it")
    faults.refuse("the input")
    return result


def _spec(name: str, given: Json, at: str, faults: Faults, room: _Room) -> InputSpec | None:
    if not _NAME.fullmatch(name):
        advice = "letters, digits, _ and -, the first no digit, at most 100"
        faults.add(at, f"{quote(name)} cannot be the name of an input; write {advice}")
        return None
    if isinstance(given, str):
        given = {"type": given}
    if not isinstance(given, dict):
        faults.add(at, f"expected a type, or an object such as {{type: string}}, found {found(given)}")
        return None
    fields = Fields(given, at, faults, KEYS)
    kind = _type(fields)
    spec = InputSpec(
        name,
        kind,
        required=_required(fields),
        has_default=fields.has("default"),
        default=given.get("default"),
        description=fields.text("description", "text", empty=True) or "",
        pattern=_pattern(fields, kind, room),
        enum=_enum(fields, kind),
        min=_bound(fields, "min", kind),
        max=_bound(fields, "max", kind),
    )
    if spec.min is not None and spec.max is not None and spec.min > spec.max:
        fields.wrong("max", f"it is below `min`, which is {spec.min:g}; nothing fits")
    if spec.has_default:
        _check(spec, spec.default, fields.pointer("default"), faults)
    return spec


def _type(fields: Fields) -> InputType:
    if not fields.has("type"):
        return "any"
    chosen = fields.choice("type", TYPES)
    return next((kind for kind in TYPES if kind == chosen), "any")


def _required(fields: Fields) -> bool:
    value = fields.given.get("required", False)
    if not isinstance(value, bool):
        fields.wrong("required", f"expected true or false, found {found(value)}")
        return False
    if value and fields.has("default"):
        fields.wrong("required", "an input with a `default` is never missing; keep one of the two")
    return bool(value)


def _pattern(fields: Fields, kind: InputType, room: _Room) -> str:
    text = fields.text("pattern", "a regular expression, as text") or ""
    if text and kind not in ("string", "any"):
        fields.wrong("pattern", f"a pattern is for texts, and the type is {kind}")
        return ""
    try:
        if text:
            room.read(text)
    except ValueError as error:
        fields.wrong("pattern", f"this is no regular expression: {error}")
        return ""
    return text


def _enum(fields: Fields, kind: InputType) -> tuple[Json, ...]:
    if not fields.has("enum"):
        return ()
    options = fields.given["enum"]
    if not isinstance(options, list) or not options:
        fields.wrong("enum", f"expected a list of the values that are allowed, found {found(options)}")
        return ()
    if len(options) > ENUM_MAX:
        fields.wrong("enum", f"it may list {ENUM_MAX:,} values, this one has {len(options):,}")
        return ()
    for i, option in enumerate(options):
        if not _FITS[kind](option):
            place = join(fields.pointer("enum"), i)
            fields.faults.add(place, f"expected {_CALLED[kind]}, as is the type, found {found(option)}")
    return tuple(options)


def _bound(fields: Fields, key: str, kind: InputType) -> float | None:
    if not fields.has(key):
        return None
    if kind in ("boolean", "object"):
        fields.wrong(key, f"it is for numbers, and for the length of texts and lists; the type is {kind}")
        return None
    return fields.number(key, low=-_NUMBER_MAX, high=_NUMBER_MAX)


def _check(spec: InputSpec, value: Json, at: str, faults: Faults) -> None:
    """Adds a fault for each way in which the value does not fit."""
    if value is None and spec.has_default and spec.default is None:
        return  # what it is if nothing is said can be said, too
    if not _FITS[spec.type](value):
        faults.add(at, f"expected {_CALLED[spec.type]}, found {found(value)}{_advice(spec.type, value)}")
        return
    if spec.enum and not _is_one_of(value, spec.enum):
        shown = ", ".join(_shown(option) for option in spec.enum[:10])
        rest = f" and {len(spec.enum) - 10} more" if len(spec.enum) > 10 else ""
        hint = ""
        if isinstance(value, str):
            hint = faults.hint(value, [option for option in spec.enum if isinstance(option, str)])
        faults.add(at, f"expected one of {shown}{rest}, found {found(value)}{hint}")
    if (flaw := _size_flaw(spec, value)) is not None:
        faults.add(at, flaw)
    elif spec.pattern and isinstance(value, str):
        _check_pattern(spec.pattern, value, at, faults)


def _check_pattern(text: str, value: str, at: str, faults: Faults) -> None:
    pattern = patterns.pattern(text)
    if pattern.work(value) > patterns.WORK_MAX:
        longest = patterns.WORK_MAX // pattern.instructions
        faults.add(at, f"too long to be compared with its pattern, which takes up to {longest:,} bytes")
    elif not pattern.is_all_of(value):
        faults.add(at, f"expected a text like '{text}', found {found(value)}")


def _size_flaw(spec: InputSpec, value: Json) -> str | None:
    match value:
        case bool() | None | dict():
            return None
        case int() | float():
            size, of = value, "a number"
        case str():
            size, of = len(value), "a text with a length"
        case list():
            size, of = len(value), "a list with a length"
        case _:
            return None
    low, high = spec.min, spec.max
    if (low is None or size >= low) and (high is None or size <= high):
        return None
    if low is not None and high is not None:
        bounds = f"from {_number(low)} to {_number(high)}"
    else:
        bounds = f"of at least {_number(low)}" if low is not None else f"of at most {_number(high or 0)}"
    return f"expected {of} {bounds}, found {found(value) if of == 'a number' else f'{size:,}'}"


def _number(value: float) -> str:
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)


def _is_one_of(value: Json, options: tuple[Json, ...]) -> bool:
    """By JSON's equality: true is not 1. A value that is large is none of a short list of small ones."""
    work = Work({}, _ENUM_STEPS_MAX)
    try:
        return any(equal(work, value, option) for option in options)
    except TooCostly:
        return False


def _shown(value: Json) -> str:
    return quote(value) if isinstance(value, str) else found(value).removeprefix("the number ")


def _advice(kind: InputType, value: Json) -> str:
    if kind == "string" and isinstance(value, bool | int | float):
        return "; put it in quotes"
    if not isinstance(value, str) or kind in ("any", "string"):
        return ""
    try:
        fits = len(value) <= _SHORT and _FITS[kind](msgspec.json.decode(value))
    except msgspec.DecodeError:
        fits = False
    return "; write it without quotes" if fits else f"; write e.g. {_EXAMPLES[kind]}"


def _is_integer(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Json) -> bool:
    return _is_integer(value) or (isinstance(value, float) and math.isfinite(value))


_CALLED: Final[Mapping[InputType, str]] = {
    "any": "any value",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "list": "a list",
    "object": "an object",
}
_EXAMPLES: Final[Mapping[InputType, str]] = {
    "integer": "3",
    "number": "2.5",
    "boolean": "true",
    "list": '["a", "b"]',
    "object": '{"name": "Ada"}',
}
_FITS: Final[Mapping[InputType, Callable[[Json], bool]]] = {
    "any": lambda value: True,
    "string": lambda value: isinstance(value, str),
    "integer": _is_integer,
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "list": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
