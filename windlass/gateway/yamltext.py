"""YAML, read safely: the scalars of YAML 1.2, no tags, no key twice, and bounds on what aliases may unfold.

The value is built from the parser's events, not from its nodes: the composer of libyaml recurses, and a deep
document would take the process down.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import yaml

from windlass.core.errors import Invalid
from windlass.core.faults import Faults, code
from windlass.core.plain import DEPTH_MAX, DOCUMENT_BYTES_MAX
from windlass.core.task import Json
from windlass.gateway.places import Branch, Lines, Places, Spot, Trace, line_column, spot
from windlass.gateway.scalars import resolve

VALUES_MAX = 1_000_000  # written out
ALIASED_MAX = 100_000  # values that aliases stand for, all together
DIRECTIVES_MAX = 16

LOADER: type[yaml.SafeLoader] | type[yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_TAG_PREFIX = "tag:yaml.org,2002:"
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DIRECTIVE = re.compile(r"^%", re.MULTILINE)
_ADVICE = {
    "cannot start any token": "; put text that begins with this character in quotes, and indent with spaces",
    "mapping values are not allowed": "; put text that holds a colon in quotes",
}


def parse(text: str, faults: Faults) -> tuple[Json, Places]:
    """The one document of a text, and the places of its values. Invalid if the text cannot be read on.

    What can be read over (a key twice, a tag) is added to the faults. What an alias stands for is shared with
    its anchor, not copied.
    """
    builder = _Builder(faults)
    _check_text(text, faults)
    for event in _events(text, faults):
        builder.take(event)
    return builder.root, builder.trace.root


def _check_text(text: str, faults: Faults) -> None:
    bad = _UNPRINTABLE.search(text)
    if bad is not None:
        line, column = line_column(Lines(text).spot(bad.start()))
        character = f"U+{ord(bad.group()):04X}"
        message = (
            f'the character {character} is not allowed in YAML; write an escape such as "\\x07", in quotes'
        )
        faults.add("", message, line=line, column=column)
        raise faults.invalid("the document")
    # libyaml compares each directive with all before it.
    if sum(1 for _ in _DIRECTIVE.finditer(text)) > DIRECTIVES_MAX:
        faults.add("", f"more than {DIRECTIVES_MAX} lines begin with `%`; leave these directives out")
        raise faults.invalid("the document")


def _events(text: str, faults: Faults) -> Iterator[yaml.Event]:
    try:
        loader = LOADER(text)
        while True:
            event = loader.get_event()
            assert event is not None, "the stream has ended"
            yield event
            if isinstance(event, yaml.StreamEndEvent):
                return
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (0, 0)
        reason = ", ".join(part for part in (error.context, error.problem) if part)
        advice = next((advice for sign, advice in _ADVICE.items() if sign in reason), "")
        faults.add("", f"this is no YAML: {reason}{advice}", line=line, column=column)
        raise faults.invalid("the document") from None
    except (yaml.YAMLError, ValueError, OverflowError):
        # Escapes that are no characters; the parser says no place.
        faults.add("", "this is no YAML: it holds an escape that stands for no character; leave it out")
        raise faults.invalid("the document") from None


class _Cost(NamedTuple):
    """What it takes to unfold a value."""

    values: int
    characters: int
    height: int


class _Anchored(NamedTuple):
    """A finished value that aliases may stand for."""

    value: Json
    place: Places
    cost: _Cost


@dataclass(slots=True)
class _Open:
    """An object or a list whose end has not come yet, and the cost of what it holds so far."""

    value: dict[str, Json] | list[Json]
    anchor: str | None
    key: str = ""
    merges: bool = False
    values: int = 1
    characters: int = 2
    height: int = 1

    def put(self, value: Json, cost: _Cost) -> None:
        if isinstance(self.value, dict):
            self.value[self.key] = value
        else:
            self.value.append(value)
        self.values += cost.values
        self.characters += cost.characters
        self.height = max(self.height, cost.height + 1)


class _Builder:
    """Takes the parser's events, makes the value and notes its places."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.trace = Trace(faults)
        self.root: Json = None
        self._stack: list[_Open] = []
        self._anchors: dict[str, _Anchored | None] = {}  # None: not finished yet
        self._documents = 0
        self._written = 0
        self._aliased = 0
        self._aliased_characters = 0

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.ScalarEvent():
                self._scalar(event)
            case yaml.MappingStartEvent():
                self._start(event, {}, "map")
            case yaml.SequenceStartEvent():
                self._start(event, [], "seq")
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._end()
            case yaml.AliasEvent():
                self._alias(event)
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise self._stop(event, "a second document begins here; send one document at a time")
            case yaml.StreamEndEvent():
                if self._documents == 0:
                    raise self._stop(event, "the document is empty: it holds nothing but comments")

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        plain = event.tag is None and event.implicit[0]
        value: Json = event.value
        self._count(event)
        self._check_tag(event, event.tag, "str")
        if self.trace.expects_key:
            self._key(event, event.value, merges=plain and event.value == "<<")
        else:
            value = self._resolve(event) if plain else value
            self.trace.leaf(_spot(event))
            self._put(value, _cost(event))
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(value, _spot(event), _cost(event))

    def _key(self, event: yaml.Event, name: str, *, merges: bool = False) -> None:
        """Keys are text, as in JSON: `1:` and `true:` are the keys "1" and "true"."""
        self.trace.key(name, _spot(event))
        self._stack[-1].key = name
        self._stack[-1].characters += len(name) + 3
        self._stack[-1].merges |= merges

    def _start(self, event: yaml.CollectionStartEvent, value: dict[str, Json] | list[Json], tag: str) -> None:
        self._count(event)
        self._check_tag(event, event.tag, tag)
        if self.trace.expects_key:
            raise self._stop(event, "a key must be text; write an object's keys as plain words")
        if len(self._stack) >= DEPTH_MAX:
            raise self._stop(event, f"nested deeper than {DEPTH_MAX} levels; write it flatter")
        if isinstance(value, dict):
            self.trace.open_object(_spot(event))
        else:
            self.trace.open_list(_spot(event))
        self._stack.append(_Open(value, event.anchor))
        if event.anchor is not None:
            self._anchors[event.anchor] = None

    def _end(self) -> None:
        frame = self._stack.pop()
        place = self.trace.close()
        if frame.merges:
            self._merge(frame.value, place)
        cost = _Cost(frame.values, frame.characters, frame.height)
        self._put(frame.value, cost)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = _Anchored(frame.value, place, cost)

    def _alias(self, event: yaml.AliasEvent) -> None:
        name = str(event.anchor)
        if self.trace.expects_key:
            self._fault(event, "an alias cannot be a key; write the key out")
            self._key(event, f"*{name}")
            return
        if name not in self._anchors:
            self._fault(event, f"no anchor {code('&' + name)} comes before this alias")
        anchored = self._anchors.get(name, _Anchored(None, _spot(event), _Cost(1, 0, 0)))
        if anchored is None:
            raise self._stop(event, f"{code('*' + name)} stands inside of what it stands for; write it out")
        self._borrow(event, anchored.cost)
        place, at = anchored.place, _spot(event)
        self.trace.leaf(Branch(at, place.members) if isinstance(place, Branch) else at)
        self._put(anchored.value, anchored.cost)

    def _borrow(self, event: yaml.Event, cost: _Cost) -> None:
        self._aliased += cost.values
        self._aliased_characters += cost.characters
        if self._aliased > ALIASED_MAX or self._aliased_characters > DOCUMENT_BYTES_MAX:
            limit = f"{ALIASED_MAX} values or {DOCUMENT_BYTES_MAX // 1024**2} MB"
            raise self._stop(event, f"the aliases up to here stand for more than {limit}; use fewer")
        if len(self._stack) + cost.height > DEPTH_MAX:
            raise self._stop(event, f"this alias nests deeper than {DEPTH_MAX} levels; write it flatter")

    def _merge(self, value: dict[str, Json] | list[Json], place: Branch) -> None:
        """`<<: *defaults`: the keys of another object, where this one has none of the same name."""
        assert isinstance(value, dict) and isinstance(place.members, dict), "only objects merge"
        source, source_place = value.pop("<<"), place.members.pop("<<")
        sources = [(source, source_place)]
        if isinstance(source_place, Branch) and isinstance(source_place.members, list):
            sources = list(zip(source, source_place.members, strict=True))
        for given, given_place in sources:
            if not isinstance(given, dict):
                line, column = line_column(given_place)
                message = "`<<` takes an object or a list of objects, e.g. <<: *defaults"
                self.faults.add(self.trace.pointer, message, line=line, column=column)
            elif isinstance(given_place, Branch) and isinstance(given_place.members, dict):
                value.update((key, member) for key, member in given.items() if key not in value)
                members = given_place.members.items()
                place.members.update((key, inner) for key, inner in members if key not in place.members)

    def _put(self, value: Json, cost: _Cost) -> None:
        if self._stack:
            self._stack[-1].put(value, cost)
        else:
            self.root = value

    def _count(self, event: yaml.Event) -> None:
        self._written += 1
        if self._written > VALUES_MAX:
            raise self._stop(event, f"more than {VALUES_MAX} values; write fewer, or send JSON")

    def _check_tag(self, event: yaml.Event, tag: str | None, own: str) -> None:
        if tag in (None, "!", _TAG_PREFIX + own):
            return
        shown = str(tag)
        shown = f"!!{shown.removeprefix(_TAG_PREFIX)}" if shown.startswith(_TAG_PREFIX) else shown
        self._fault(event, f"the tag {code(shown)} is not allowed; write a plain value")

    def _resolve(self, event: yaml.ScalarEvent) -> Json:
        try:
            return resolve(event.value)
        except OverflowError as error:
            self._fault(event, str(error))
            return None

    def _fault(self, event: yaml.Event, message: str) -> None:
        line, column = line_column(_spot(event))
        self.faults.add(self.trace.pointer, message, line=line, column=column)

    def _stop(self, event: yaml.Event, message: str) -> Invalid:
        self._fault(event, message)
        return self.faults.invalid("the document")


def _spot(event: yaml.Event) -> Spot:
    mark = event.start_mark
    assert mark is not None, "every event of a text has a place"
    return spot(mark.line + 1, mark.column + 1)


def _cost(event: yaml.ScalarEvent) -> _Cost:
    return _Cost(1, len(event.value) + 1, 0)
