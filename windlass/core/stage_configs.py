"""What each type of stage is told, read by its rules. Numbers may be numeric texts, as forms send them.

A text that holds an expression is not looked at before the run: nobody knows yet what it will be.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from windlass.core import row_rules
from windlass.core.faults import found, quote
from windlass.core.fields import Fields
from windlass.core.row_rules import Change, Compared, Condition
from windlass.core.stage_types import ENCODINGS, Role, StageType
from windlass.core.task import Json

WHOLE_MAX: Final = 2**63 - 1
ROWS_MAX: Final = 10**15
GROUP_MAX: Final = 100_000  # rows of a batch: they are held until it is full
PATH_MAX: Final = 4000
FIELDS_MAX: Final = 10_000
EXPRESSION: Final = "${{"

_NUMERIC: Final = re.compile(r"[+-]?[0-9]{1,19}(\.0*)?")
_TRUE: Final = ("true", "1", "yes", "on")
_FALSE: Final = ("false", "0", "no", "off")


@dataclass(frozen=True, slots=True)
class RandomNumbers:
    count: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class SequenceNumbers:
    start: int
    end: int
    step: int


@dataclass(frozen=True, slots=True)
class CsvFile:
    path: str
    delimiter: str
    skip_header: bool
    encoding: str


@dataclass(frozen=True, slots=True)
class TextFile:
    path: str
    encoding: str


@dataclass(frozen=True, slots=True)
class Collection:
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    condition: Condition
    delimiter: str


@dataclass(frozen=True, slots=True)
class Map:
    change: Change


@dataclass(frozen=True, slots=True)
class Distinct:
    pass


@dataclass(frozen=True, slots=True)
class Batch:
    size: int
    join: str | None  # None: rows stay rows


@dataclass(frozen=True, slots=True)
class Clean:
    trim: bool
    remove_null: bool


@dataclass(frozen=True, slots=True)
class ConsoleLog:
    limit: int


@dataclass(frozen=True, slots=True)
class TextSink:
    path: str
    append: bool
    encoding: str


@dataclass(frozen=True, slots=True)
class JsonSink:
    path: str
    overwrite: bool


@dataclass(frozen=True, slots=True)
class Count:
    pass


@dataclass(frozen=True, slots=True)
class Sum:
    field: int  # from 1
    delimiter: str


Source = RandomNumbers | SequenceNumbers | CsvFile | TextFile | Collection
Transform = Filter | Map | Distinct | Batch | Clean
Sink = ConsoleLog | TextSink | JsonSink | Count | Sum
Config = Source | Transform | Sink


class Given:
    """The config of one stage: its fields with the defaults of the table. A null is as good as nothing."""

    def __init__(self, kind: StageType, fields: Fields, *, filled: bool) -> None:
        self.fields = fields
        self._kind = kind
        self._defaults = {key.name: key.default for key in kind.config}
        self._filled = filled
        for key in kind.config:
            if key.required and fields.given.get(key.name) is None:
                fields.missing(key.name, f"a {kind.node_type} needs it: {key.label}")

    def value(self, key: str) -> Json:
        """None where nothing was said, and where what was said is not known yet."""
        value = self.fields.given.get(key)
        return None if self.later(value) else value

    def later(self, value: Json) -> bool:
        return not self._filled and isinstance(value, str) and EXPRESSION in value

    def text(self, key: str, *, empty: bool = False) -> str:
        value = self.value(key)
        if isinstance(value, str) and (value or empty):
            return value
        if value is not None:
            self.wrong(key, "a text")
        return self._defaults[key] or ""

    def whole(self, key: str, *, low: int, high: int) -> int:
        value, number = self.value(key), None
        if isinstance(value, str) and _NUMERIC.fullmatch(value.strip()):
            number = int(value.strip().partition(".")[0])
        elif isinstance(value, int) and not isinstance(value, bool):
            number = value
        elif isinstance(value, float) and math.isfinite(value) and value == int(value):
            number = int(value)
        if number is not None and low <= number <= high:
            return number
        # A form sends an empty text for what nobody has filled in.
        if value is not None and (value != "" or self._defaults[key] is None):
            self.wrong(key, f"a whole number from {low} to {high}")
        return self._defaults[key] if self._defaults[key] is not None else low

    def flag(self, key: str) -> bool:
        value = self.value(key)
        word = value.strip().lower() if isinstance(value, str) else value
        if word is True or word in _TRUE:
            return True
        if word is not False and word not in _FALSE and word not in (None, ""):
            self.wrong(key, "true or false")
        return bool(self._defaults[key]) if word in (None, "") else False

    def wrong(self, key: str, expected: str) -> None:
        self.fields.wrong(key, f"expected {expected}, found {found(self.fields.given[key])}")


def read(kind: StageType, fields: Fields, *, filled: bool = False) -> Config | None:
    """Adds a fault for each mistake. None for a type that does not run as a stage."""
    reader = _READERS.get((kind.node_type, kind.role))
    return None if reader is None else reader(Given(kind, fields, filled=filled))


def _random(given: Given) -> RandomNumbers:
    count = given.whole("count", low=0, high=ROWS_MAX)
    low = given.whole("min", low=-WHOLE_MAX, high=WHOLE_MAX)
    high = given.whole("max", low=-WHOLE_MAX, high=WHOLE_MAX)
    unknown = any(given.later(given.fields.given.get(key)) for key in ("min", "max"))
    if low > high and not unknown:
        given.fields.faults.add(given.fields.at, f"min ({low}) is above max ({high}); swap them")
    return RandomNumbers(count, low, high)


def _sequence(given: Given) -> SequenceNumbers:
    start = given.whole("start", low=-WHOLE_MAX, high=WHOLE_MAX)
    end = given.whole("end", low=-WHOLE_MAX, high=WHOLE_MAX)
    step = given.whole("step", low=-WHOLE_MAX, high=WHOLE_MAX)
    if step == 0:
        given.fields.wrong("step", "with a step of 0 it would never end; write 1, or -1 to count down")
    return SequenceNumbers(start, end, step)


def _csv(given: Given) -> CsvFile:
    return CsvFile(_path(given), _delimiter(given), given.flag("skipHeader"), _encoding(given))


def _text(given: Given) -> TextFile:
    return TextFile(_path(given), _encoding(given))


def _collection(given: Given) -> Collection:
    data = given.value("data")
    if isinstance(data, str):
        return Collection((data,))
    if isinstance(data, list):
        return Collection(tuple(map(row_of, data)))
    if data is not None:
        given.wrong("data", "a list of rows, or one text")
    return Collection(())


def row_of(value: Json) -> str:
    """A text is its own row; anything else is its JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _filter(given: Given) -> Filter:
    read_as: Condition = Compared("==", 0.0)
    if text := given.text("condition"):
        try:
            read_as = row_rules.condition(text)
        except ValueError as error:
            given.fields.wrong("condition", str(error))
    return Filter(read_as, _delimiter(given))


def _map(given: Given) -> Map:
    read_as = Change("trim")
    if text := given.text("expression"):
        try:
            read_as = row_rules.change(text)
        except ValueError as error:
            given.fields.wrong("expression", str(error))
    return Map(read_as)


def _batch(given: Given) -> Batch:
    size = given.whole("batchSize", low=1, high=GROUP_MAX)
    joined = given.value("join")
    return Batch(size, None if joined is None else given.text("join", empty=True))


def _clean(given: Given) -> Clean:
    return Clean(given.flag("trim"), given.flag("removeNull"))


def _console(given: Given) -> ConsoleLog:
    return ConsoleLog(given.whole("limit", low=0, high=ROWS_MAX))


def _text_sink(given: Given) -> TextSink:
    return TextSink(_path(given), given.flag("append"), _encoding(given))


def _json_sink(given: Given) -> JsonSink:
    return JsonSink(_path(given), given.flag("overwrite"))


def _sum(given: Given) -> Sum:
    return Sum(given.whole("field", low=1, high=FIELDS_MAX), _delimiter(given))


def _path(given: Given) -> str:
    path = given.text("path")
    if "\0" in path:
        given.fields.wrong("path", "a path cannot hold NUL characters")
    elif len(path) > PATH_MAX:
        given.fields.wrong("path", f"this path has {len(path)} characters; use at most {PATH_MAX}")
    elif ".." in path.split("/"):
        given.fields.wrong("path", f"{quote(path)} leads out of a folder; leave `..` away")
    elif path and (path.endswith("/") or path.split("/")[-1] == "."):
        given.fields.wrong("path", f"{quote(path)} names a folder; name a file in it")
    return path


def _delimiter(given: Given) -> str:
    delimiter = given.text("delimiter")
    delimiter = "\t" if delimiter == "\\t" else delimiter
    if len(delimiter) > 10 or any(sign in delimiter for sign in '"\r\n'):
        given.fields.wrong("delimiter", f"{quote(delimiter)} cannot stand between two fields; write , or ;")
    return delimiter


def _encoding(given: Given) -> str:
    encoding = given.text("encoding").lower().replace("_", "-")
    encoding = {"utf8": "utf-8", "iso-8859-1": "latin-1", "latin1": "latin-1"}.get(encoding, encoding)
    if encoding not in ENCODINGS:
        given.fields.wrong("encoding", f"{quote(encoding)} is not known; there are {', '.join(ENCODINGS)}")
    return encoding


_READERS: Final[dict[tuple[str, Role], Callable[[Given], Config]]] = {
    ("random.numbers", "source"): _random,
    ("sequence.numbers", "source"): _sequence,
    ("file.csv", "source"): _csv,
    ("file.text", "source"): _text,
    ("memory.collection", "source"): _collection,
    ("filter", "transform"): _filter,
    ("map", "transform"): _map,
    ("distinct", "transform"): lambda given: Distinct(),
    ("batch", "transform"): _batch,
    ("data.clean", "transform"): _clean,
    ("console.log", "sink"): _console,
    ("file.text", "sink"): _text_sink,
    ("file.json", "sink"): _json_sink,
    ("aggregate.count", "sink"): lambda given: Count(),
    ("aggregate.sum", "sink"): _sum,
}
