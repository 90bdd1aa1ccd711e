"""When runs of a workflow begin by themselves."""

from __future__ import annotations

from math import floor
from typing import Final, Literal, get_args

import msgspec

from windlass.core import cron, durations, moments, zones
from windlass.core.faults import Faults, found, quote
from windlass.core.fields import Fields
from windlass.core.task import Json

Overlap = Literal["skip", "queue", "allow"]
OVERLAPS: Final[tuple[Overlap, ...]] = get_args(Overlap)
CATCH_UP_S: Final = 3_600.0
INPUT_BYTES_MAX: Final = 65_536  # it is repeated in what is kept of the schedule
KEYS: Final = (
    "cron", "every", "timezone", "overlap", "catch_up", "start", "end", "enabled", "input", "labels",
)  # fmt: skip
_EVERY: Final = "@every"
_ADVICE: Final = 'write e.g. cron: "0 2 * * *", or every: 30m'


class Timetable(msgspec.Struct, frozen=True, omit_defaults=True):
    """At most one of cron and every_s; with neither it begins only when somebody says so."""

    cron: str = ""
    every_s: float | None = None  # whole seconds
    timezone: str = "UTC"
    overlap: Overlap = "skip"
    catch_up_s: float = CATCH_UP_S  # firings missed for no longer than this are made up for
    start: float | None = None
    end: float | None = None  # what is due then still counts
    enabled: bool = True
    input: Json = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)

    def same_times(self, other: Timetable) -> bool:
        """Whether both are due at the same times, if they were made at the same time."""
        mine = (self.cron, self.every_s, self.timezone, self.start, self.end)
        return mine == (other.cron, other.every_s, other.timezone, other.start, other.end)


def read(given: Json, pointer: str, faults: Faults) -> Timetable | None:
    """The timetable that is written there; a text alone is a cron expression or an interval."""
    before = faults.count
    if isinstance(given, str):
        given = {"cron" if _is_cron(given) else "every": given}
        place = _Place(given, pointer, faults, short=True)
    elif isinstance(given, dict):
        place = _Place(given, pointer, faults)
    else:
        faults.add(pointer, f"expected a schedule, found {found(given)}; {_ADVICE}")
        return None
    place.exactly_one("cron", "every", advice=_ADVICE)
    expression, every_s = _cron(place)
    catch_up_s = place.duration("catch_up")
    start, end = _moment(place, "start"), _moment(place, "end")
    if start is not None and end is not None and end < start:
        place.wrong("end", "it is before `start`; write a later time")
    overlap = place.choice("overlap", OVERLAPS)
    timetable = Timetable(
        cron=expression,
        every_s=every_s if every_s is not None else _every(place, "every"),
        timezone=_timezone(place),
        overlap=next((known for known in OVERLAPS if known == overlap), "skip"),
        catch_up_s=CATCH_UP_S if catch_up_s is None else catch_up_s,
        start=start,
        end=end,
        enabled=_enabled(place),
        input=_input(place),
        labels=place.texts_by_name("labels", "an object with a text for each label"),
    )
    return timetable if faults.count == before else None


class _Place(Fields):
    """The keys of a schedule. In its short form all faults are at the text itself."""

    def __init__(self, given: dict[str, Json], at: str, faults: Faults, *, short: bool = False) -> None:
        self.short = short
        super().__init__(given, at, faults, KEYS)

    def pointer(self, key: str) -> str:
        return self.at if self.short else super().pointer(key)


def _is_cron(text: str) -> bool:
    return " " in text.strip() or text.lstrip().startswith("@") or not text.strip()


def _cron(place: _Place) -> tuple[str, float | None]:
    """The expression as it is written; or the seconds of `@every 30m`."""
    text = place.text("cron", 'text such as "0 2 * * *"')
    if text is None:
        return "", None
    word, _, rest = text.strip().partition(" ")
    if word.lower() == _EVERY:
        return "", _seconds(place, "cron", rest.strip())
    try:
        cron.parse(text)
    except cron.CronError as error:
        place.wrong("cron", str(error))
    return text, None


def _every(place: _Place, key: str) -> float | None:
    return _seconds(place, key, place.given[key]) if place.has(key) else None


def _seconds(place: _Place, key: str, given: Json) -> float | None:
    try:
        seconds = durations.parse(given)
    except ValueError as error:
        place.wrong(key, str(error))
        return None
    if seconds < 1 or seconds != floor(seconds):
        place.wrong(key, f"{found(given)} is no interval; write whole seconds, at least 1s, e.g. 30m")
        return None
    return seconds


def _moment(place: _Place, key: str) -> float | None:
    if not place.has(key):
        return None
    try:
        return float(floor(moments.parse(place.given[key])))
    except ValueError as error:
        place.wrong(key, str(error))
        return None


def _timezone(place: _Place) -> str:
    name = place.text("timezone", "the name of a time zone such as Europe/Berlin")
    if name is None:
        return "UTC"
    try:
        zones.zone(name)
    except ValueError:
        hint = place.faults.hint(name, zones.names())
        advice = hint or "; write a name such as Europe/Berlin or UTC"
        place.wrong("timezone", f"{quote(name)} is no time zone{advice}")
    return name


def _enabled(place: _Place) -> bool:
    value = place.given.get("enabled", True)
    if not isinstance(value, bool):
        place.wrong("enabled", f"expected true or false, found {found(value)}")
        return True
    return value


def _input(place: _Place) -> Json:
    value = place.given.get("input")
    try:
        size = len(msgspec.json.encode(value))
    except (TypeError, ValueError, RecursionError):
        return None  # it has its fault already: a document is looked through before
    if size > INPUT_BYTES_MAX:
        place.wrong("input", f"it takes {size} bytes; use at most {INPUT_BYTES_MAX}")
    return value
