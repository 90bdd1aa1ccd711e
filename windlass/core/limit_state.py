"""A limit key as it is: who holds a permit, who waits for one, what a rate has spent.

Those that wait stand in one line per share, and the lines are served in turn: a share that was served goes
behind the others, and so does one that comes anew. In a line the order is that of priority and age, as for
tasks: a point of priority is worth so many seconds of waiting. So every share has an equal part, and nobody
waits for ever.

What was returned or refused is remembered for a while, so that a late or repeated question is answered
rather than taken for a new one. All of this is bounded, whatever is asked.
"""

from __future__ import annotations

import bisect
from typing import Final, Literal, assert_never

import msgspec

from windlass.core.events import (
    CancelHeard,
    CancelWanted,
    HolderHeard,
    HoldersAsked,
    LimitEvent,
    LimitForgotten,
    LimitSet,
    PermitFreed,
    PermitGiven,
    PermitRefused,
    PlaceTaken,
)

AGE_S: Final = 30.0  # of waiting, for one point of priority
SILENT_S: Final = 60.0  # after which a holder is asked whether it still is one
SILENT_MAX_S: Final = 600.0  # it doubles with each answer, up to this
SWEEP_S: Final = 1.0  # between two rounds of asking, at least
DONE_S: Final = 600.0  # for which the last word on a permit is remembered
DONE_MAX: Final = 10_000  # of them
GRAINS: Final = 1_000  # parts of a period that a rate tells apart

Word = Literal["granted", "returned", "denied"]


class Held(msgspec.Struct, omit_defaults=True):
    holder: str = ""
    number: int = 0
    since: float = 0.0
    share: str = ""
    due: float = 0.0  # when it is asked whether it still holds the permit
    silent_s: float = SILENT_S  # how long it may be silent
    asked: bool = False  # and has not answered
    leaving: Literal["no", "asked", "told"] = "no"  # to make room for one that replaces it


class Place(msgspec.Struct, omit_defaults=True):
    """Of one that waits."""

    holder: str = ""
    number: int = 0
    since: float = 0.0
    share: str = ""
    priority: int = 0
    errand: str = ""
    order: int = 0  # of coming

    @property
    def rank(self) -> tuple[float, int]:
        return (self.since - self.priority * AGE_S, self.order)


class Spent(msgspec.Struct, array_like=True):
    """Permits of a rate that were given at nearly the same time. They count as given at the last of them."""

    first: float = 0.0
    last: float = 0.0
    count: int = 0


class Done(msgspec.Struct, array_like=True):
    at: float = 0.0
    word: Word = "returned"


class LimitKey(msgspec.Struct, omit_defaults=True):
    """Owned by one shard; only `apply` changes it. A snapshot keeps all of it.

    Permits go by their names: see `name_of`.
    """

    most: int = 0
    per_s: float | None = None  # None: so many at once; else: so many in any period of this length
    last_at: float = 0.0
    order: int = 0  # of the last one that came to wait
    held: dict[str, Held] = msgspec.field(default_factory=dict)  # the oldest first
    places: dict[str, Place] = msgspec.field(default_factory=dict)
    # By share, the next in turn first: rank and name of those that wait.
    lines: dict[str, list[tuple[float, int, str]]] = msgspec.field(default_factory=dict)
    heir: str = ""  # the one that waits to replace a holder; it goes first
    spent: list[Spent] = msgspec.field(default_factory=list)
    done: dict[str, Done] = msgspec.field(default_factory=dict)  # the oldest first
    sweep_at: float = 0.0  # when holders are asked, if there are any
    out: int = 0  # what holders were asked or told and have not answered: counted, for there may be many

    @property
    def exists(self) -> bool:
        return self.most > 0


def name_of(holder: str, number: int) -> str:
    return f"{holder}#{number}"


def first(limit: LimitKey) -> Place | None:
    """Who is next."""
    if limit.heir:
        return limit.places[limit.heir]
    for line in limit.lines.values():
        return limit.places[line[0][2]]
    return None


def room(limit: LimitKey, at: float) -> int:
    """How many permits may be given now."""
    if limit.per_s is None:
        return limit.most - len(limit.held)
    return limit.most - sum(part.count for part in limit.spent if part.last + limit.per_s > at)


def apply(limit: LimitKey, event: LimitEvent) -> None:
    limit.last_at = max(limit.last_at, event.at)
    match event:
        case LimitSet(most=most, per_s=per_s):
            limit.most, limit.per_s = most, per_s
        case PlaceTaken():
            _wait(limit, event)
        case PermitGiven():
            _give(limit, event)
        case PermitRefused(holder=holder, number=number):
            _leave(limit, name_of(holder, number))
            _remember(limit, name_of(holder, number), "denied", event.at)
        case PermitFreed(holder=holder, number=number):
            held = limit.held.pop(name_of(holder, number), None)
            if held is not None:
                limit.out -= held.asked + (held.leaving == "asked")
            _leave(limit, name_of(holder, number))
            _remember(limit, name_of(holder, number), "returned", event.at)
        case CancelWanted(holder=holder, number=number):
            held = limit.held.get(name_of(holder, number))
            if held is not None:
                limit.out += held.leaving != "asked"
                held.leaving = "asked"
        case CancelHeard(holder=holder, number=number):
            held = limit.held.get(name_of(holder, number))
            if held is not None:
                limit.out -= held.leaving == "asked"
                # It will give its permit back at its end. If that never comes, we are to hear of it.
                held.leaving, held.silent_s = "told", SILENT_S
                _expect(limit, held, event.at)
        case HoldersAsked(names=names):
            for name in names:
                held = limit.held.get(name)
                if held is not None:
                    limit.out += not held.asked
                    held.asked = True
            dues = (held.due for held in limit.held.values() if not held.asked)
            limit.sweep_at = max(event.at + SWEEP_S, min(dues, default=event.at + SILENT_MAX_S))
        case HolderHeard(holder=holder, number=number):
            held = limit.held.get(name_of(holder, number))
            if held is not None:
                limit.out -= held.asked
                held.asked, held.silent_s = False, min(SILENT_MAX_S, 2 * held.silent_s)
                _expect(limit, held, event.at)
        case LimitForgotten():
            fresh = LimitKey(last_at=limit.last_at)
            for name in limit.__struct_fields__:
                setattr(limit, name, getattr(fresh, name))
        case _:
            assert_never(event)


def _wait(limit: LimitKey, event: PlaceTaken) -> None:
    name = name_of(event.holder, event.number)
    limit.order += 1
    place = limit.places[name] = Place(
        event.holder, event.number, event.at, event.share, event.priority, event.errand, limit.order
    )
    if event.replaces:
        limit.heir = name
    else:
        bisect.insort(limit.lines.setdefault(event.share, []), (*place.rank, name))


def _give(limit: LimitKey, event: PermitGiven) -> None:
    name = name_of(event.holder, event.number)
    waited = limit.heir != name and name in limit.places
    _leave(limit, name)
    if waited and event.share in limit.lines:
        limit.lines[event.share] = limit.lines.pop(event.share)  # behind the others
    if limit.per_s is None:
        held = limit.held[name] = Held(event.holder, event.number, event.at, event.share)
        if len(limit.held) == 1:
            limit.sweep_at = event.at + SILENT_S
        _expect(limit, held, event.at)
    else:
        _spend(limit, limit.per_s, event.at)
        _remember(limit, name, "granted", event.at)


def _leave(limit: LimitKey, name: str) -> None:
    """It waits no longer."""
    place = limit.places.pop(name, None)
    if place is None:
        return
    if limit.heir == name:
        limit.heir = ""
        return
    line = limit.lines[place.share]
    del line[bisect.bisect_left(line, (*place.rank, name))]
    if not line:
        del limit.lines[place.share]


def _spend(limit: LimitKey, per_s: float, at: float) -> None:
    over = 0
    while over < len(limit.spent) and limit.spent[over].last + per_s <= at:
        over += 1
    del limit.spent[:over]
    if limit.spent and at - limit.spent[-1].first <= per_s / GRAINS:
        limit.spent[-1].last = at
        limit.spent[-1].count += 1
    else:
        limit.spent.append(Spent(at, at, 1))


def _expect(limit: LimitKey, held: Held, at: float) -> None:
    held.due = at + held.silent_s
    limit.sweep_at = min(limit.sweep_at, held.due)


def _remember(limit: LimitKey, name: str, word: Word, at: float) -> None:
    limit.done.pop(name, None)
    limit.done[name] = Done(at, word)
    old: list[str] = []
    for earlier, done in limit.done.items():
        if done.at + DONE_S > at and len(limit.done) - len(old) <= DONE_MAX:
            break
        old.append(earlier)
    for earlier in old:
        del limit.done[earlier]
