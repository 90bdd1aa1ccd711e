"""A limit across runs as an entity: permits to hold at once, or so many per period.

    holder (a run)                               limit key
      │ AskPermit 7 ───────────────────────────────►│ granted · waiting · denied
      │◄──────────────── Nudge, when that changes   │
      │ AskPermit 7, again ────────────────────────►│ what holds now
      │ ReturnPermit 7 ────────────────────────────►│ returned: for ever

A holder numbers its permits, and never uses a number twice. It asks until it has heard *granted* or *denied*,
and gives back until it has heard *returned*: a permit that was held, a place in the line, or one it does not
want any more. Every message may be lost, late, repeated or overtaken by another. What makes that harmless:

- A number has one last word: returned, or denied; of a rate, whose permits are used up as they are given,
  also granted. It is remembered for ten minutes (that of the last 10,000), and is what a late question gets.
- A question that is later than that may leave a permit with somebody who does not want it. So holders that
  were silent for a minute are asked, then ever more seldom, at last every ten minutes. *gone* takes the
  permit back. A number that is gone stays so, therefore a late *gone* is as good as a prompt one.
- Nudges are never owed: who waits asks again now and then by itself.

`queue`: wait. `skip`: denied if it cannot be had at once. `replace`: the oldest holders are told to cancel,
until there is room; the newcomer waits for that, first of all, and is denied itself if a newer one comes.

A rate is exact to the safe side: it keeps the times of all that was given in the last period (those within a
thousandth of it as one, the latest), so that no period of that length, wherever it begins, sees more than the
limit. Counted is when permits are given; whoever is slow to hear of one begins later.

The limit is what was asked last. Lowering it takes nothing away; the next one just waits for longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, Literal, assert_never

from windlass.core.commands import Answered, AskPermit, LimitCommand, ReturnPermit, Wake
from windlass.core.durations import SECONDS_MAX
from windlass.core.effects import Effect, Forget, Nudge
from windlass.core.errands import CancelOther, CheckHolder
from windlass.core.errors import Refused
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
from windlass.core.limit_state import DONE_S, Held, LimitKey, apply, first, name_of, room
from windlass.core.names import RunId
from windlass.core.task import Json

KEY_MAX: Final = 200  # characters, as written
KEY_UNSAID_MAX: Final = 400  # where none is written: it is made of the ids of workflow and step
SHARE_MAX: Final = 200
MOST_MAX: Final = 100_000
WAITING_MAX: Final = 100_000
PRIORITY_MAX: Final = 10_000
GIVEN_AT_ONCE: Final = 1_000  # in one turn; the rest follows in the next
QUESTIONS_MAX: Final = 1_000  # to holders, that are not answered

CHECK: Final = "check"  # how our errands are named, before the permit they are about
CANCEL: Final = "cancel"

Why = Literal["returned", "gone"]
Status = Literal["granted", "waiting", "denied", "returned"]

__all__ = ["LimitKey", "apply"]  # the state, which is a file of its own


def id_of(key: str, per_s: float | None) -> str:
    """The id of the entity: a rate and a limit at once may have the same key. ValueError, with advice."""
    if not key or len(key) > KEY_UNSAID_MAX:
        raise ValueError(f"the key of a limit has {len(key)} characters; use 1 to {KEY_MAX}")
    if not key.isprintable():
        raise ValueError("the key of a limit holds characters that cannot be printed; leave them out")
    return f"{'concurrency' if per_s is None else 'rate'}:{key}"


def exists(limit: LimitKey) -> bool:
    return limit.exists


def is_idle(limit: LimitKey) -> bool:
    """Nothing is held, nobody waits, and all that was to be remembered is over: it may be forgotten."""
    return not limit.exists


def perform(limit: LimitKey, command: LimitCommand) -> list[LimitEvent]:
    """Decide and apply, then all that follows by itself. May raise Refused, and then nothing has changed."""
    check(limit, command)
    at = max(command.at, limit.last_at)
    # In this order: a limit that was raised is first of all for those who wait already.
    return [
        *_apply_all(limit, _gifts(limit, at)),
        *_apply_all(limit, _set(limit, command, at)),
        *_apply_all(limit, _gifts(limit, at)),
        *_apply_all(limit, decide(limit, command)),
        *_apply_all(limit, _gifts(limit, at)),
        *_apply_all(limit, _words(limit, at)),
    ]


def check(limit: LimitKey, command: LimitCommand) -> None:
    """Raises Refused for what no holder sends."""
    if not isinstance(command, AskPermit | ReturnPermit):
        return
    if not command.holder.startswith("run/") or command.holder.count("/") < 2 or command.number < 1:
        raise Refused(
            f"{command.holder!r} with number {command.number} is no holder: it is a run's key, from 1"
        )
    if isinstance(command, ReturnPermit):
        return
    if not 1 <= command.most <= MOST_MAX:
        raise Refused(f"a limit is from 1 to {MOST_MAX}, not {command.most}")
    if command.per_s is not None and not 0 < command.per_s <= SECONDS_MAX:
        raise Refused(
            f"the period of a rate is more than 0 and at most {SECONDS_MAX:g} s, not {command.per_s}"
        )
    if command.on_conflict not in ("queue", "skip", "replace"):
        raise Refused(f"a conflict ends by queue, skip or replace, not by {command.on_conflict!r}")
    if command.on_conflict == "replace" and command.per_s is not None:
        raise Refused("a rate has nobody to replace: its permits are not held")
    if abs(command.priority) > PRIORITY_MAX or len(command.share) > SHARE_MAX:
        raise Refused(f"a priority is at most {PRIORITY_MAX}, a share has at most {SHARE_MAX} characters")
    if limit.exists and (limit.per_s is None) != (command.per_s is None):
        raise Refused("this key is one of a rate, or of a limit at once, and cannot be both")


def decide(limit: LimitKey, command: LimitCommand) -> list[LimitEvent]:
    """The facts this command creates; none if it is late or a repeat."""
    at = max(command.at, limit.last_at)
    match command:
        case AskPermit():
            name = name_of(command.holder, command.number)
            return [] if _is_known(limit, name) else _asked(limit, command, at)
        case ReturnPermit(holder=holder, number=number):
            over = not limit.exists or name_of(holder, number) in limit.done
            return [] if over else _freed(limit, holder, number, "returned", at)
        case Answered():
            return _answered(limit, command, at)
        case Wake():
            over = limit.exists and not limit.held and not limit.places and at >= _forgotten_at(limit)
            return [LimitForgotten(at=at)] if over else []
        case _:
            assert_never(command)


def effects(events: list[LimitEvent]) -> list[Effect]:
    """What the outside owes us for these events, and who is told."""
    owed: list[Effect] = []
    for event in events:
        match event:
            case PermitGiven(errand=errand) | PermitRefused(errand=errand):
                if errand:
                    owed.append(Nudge(event.holder, errand))
            case CancelWanted(holder=holder, number=number):
                owed.append(_cancel(holder, number))
            case HoldersAsked(names=names):
                owed += [_question(*_parsed(name)) for name in names]
            case PermitFreed(errands=errands):
                owed += map(Forget, errands)
            case LimitSet() | PlaceTaken() | CancelHeard() | HolderHeard() | LimitForgotten():
                pass
            case _:
                assert_never(event)
    return owed


def resume(limit: LimitKey) -> list[Effect]:
    """What the outside still owes a recovered limit key."""
    owed: list[Effect] = []
    for held in limit.held.values():
        if held.leaving == "asked":
            owed.append(_cancel(held.holder, held.number))
        if held.asked:
            owed.append(_question(held.holder, held.number))
    return owed


def owes(limit: LimitKey) -> bool:
    """Whether there is anything to resume."""
    return limit.out > 0


def wake_at(limit: LimitKey) -> float | None:
    if not limit.exists:
        return None
    if limit.places and room(limit, limit.last_at) > 0:
        return limit.last_at  # more could be given than fits into one turn
    if limit.places and limit.per_s is not None and limit.spent:
        return _free_at(limit, limit.per_s)
    if limit.held:
        return limit.sweep_at
    return None if limit.places else _forgotten_at(limit)


def reply(limit: LimitKey, command: AskPermit | ReturnPermit) -> Status:
    """What its sender is answered, after the command was performed."""
    if isinstance(command, ReturnPermit):
        return "returned"
    name = name_of(command.holder, command.number)
    if name in limit.held:
        return "granted"
    done = limit.done.get(name)
    return "waiting" if done is None else done.word


def reason(limit: LimitKey, command: AskPermit | ReturnPermit) -> str:
    """The words that go with the reply; "": it needs none."""
    status = reply(limit, command)
    if status == "returned" and isinstance(command, AskPermit):
        return "its permit was taken away"
    if status != "denied":
        return ""
    if len(limit.places) >= WAITING_MAX:
        return f"{WAITING_MAX} wait for this limit already"
    if isinstance(command, AskPermit) and command.on_conflict == "replace":
        return "a newer run took its place"
    return f"the limit of {limit.most} is reached"


def summary(limit: LimitKey) -> dict[str, Json]:
    """For lists."""
    oldest = next(iter(limit.places.values()), None)
    return {
        "limit": limit.most,
        "per_s": limit.per_s,
        "held": len(limit.held),
        "waiting": len(limit.places),
        "waiting_since": None if oldest is None else oldest.since,
        "at": limit.last_at,
    }


def _apply_all(limit: LimitKey, events: Iterable[LimitEvent]) -> list[LimitEvent]:
    done = []
    for event in events:
        apply(limit, event)
        done.append(event)
    return done


def _set(limit: LimitKey, command: LimitCommand, at: float) -> Iterator[LimitEvent]:
    """The limit is what was asked last, by whoever is new."""
    if not isinstance(command, AskPermit) or _is_known(limit, name_of(command.holder, command.number)):
        return
    if (limit.most, limit.per_s) != (command.most, command.per_s):
        yield LimitSet(most=command.most, per_s=command.per_s, at=at)


def _is_known(limit: LimitKey, name: str) -> bool:
    return name in limit.held or name in limit.places or name in limit.done


def _asked(limit: LimitKey, ask: AskPermit, at: float) -> list[LimitEvent]:
    holder, number, share = ask.holder, ask.number, ask.share
    if not limit.places and room(limit, at) > 0:
        return [PermitGiven(holder=holder, number=number, share=share, at=at)]
    if ask.on_conflict == "skip" or len(limit.places) >= WAITING_MAX:
        return [PermitRefused(holder=holder, number=number, at=at)]
    events: list[LimitEvent] = []
    replaces = ask.on_conflict == "replace"
    if replaces and limit.heir:
        older = limit.places[limit.heir]
        events.append(PermitRefused(holder=older.holder, number=older.number, errand=older.errand, at=at))
    place = PlaceTaken(
        holder=holder,
        number=number,
        share=share,
        priority=ask.priority,
        errand=ask.errand,
        replaces=replaces,
        at=at,
    )
    return [*events, place]


def _freed(limit: LimitKey, holder: str, number: int, why: Why, at: float) -> list[LimitEvent]:
    held = limit.held.get(name_of(holder, number))
    return [PermitFreed(holder=holder, number=number, why=why, errands=_errands(held), at=at)]


def _answered(limit: LimitKey, answered: Answered, at: float) -> list[LimitEvent]:
    what, _, name = answered.errand.partition(":")
    held = limit.held.get(name)
    if what == CHECK and answered.status == "gone":
        known = held or limit.places.get(name)
        return [] if known is None else _freed(limit, known.holder, known.number, "gone", at)
    if held is None:
        return []
    if what == CHECK and held.asked:
        return [HolderHeard(holder=held.holder, number=held.number, at=at)]
    if what == CANCEL and held.leaving == "asked":
        return [CancelHeard(holder=held.holder, number=held.number, at=at)]
    return []


def _gifts(limit: LimitKey, at: float) -> Iterator[LimitEvent]:
    """Permits for those who wait. Each is applied before the next is made."""
    for _ in range(min(GIVEN_AT_ONCE, room(limit, at)) if limit.places else 0):
        place = first(limit)
        if place is None:
            return
        yield PermitGiven(
            holder=place.holder, number=place.number, share=place.share, errand=place.errand, at=at
        )


def _words(limit: LimitKey, at: float) -> Iterator[LimitEvent]:
    """To those who hold: that they are to make room, or whether they are still there."""
    if limit.heir:
        yield from _cancels(limit, at)
    if limit.held and at >= limit.sweep_at:
        yield HoldersAsked(names=tuple(_silent(limit, at)), at=at)


def _cancels(limit: LimitKey, at: float) -> Iterator[LimitEvent]:
    """As many of the oldest holders as are in the way of the one that is to replace them."""
    staying = [held for held in limit.held.values() if held.leaving == "no"]
    for held in staying[: max(0, len(staying) - limit.most + 1)]:
        yield CancelWanted(holder=held.holder, number=held.number, at=at)


def _silent(limit: LimitKey, at: float) -> Iterator[str]:
    questions = QUESTIONS_MAX - sum(held.asked for held in limit.held.values())
    silent = (name for name, held in limit.held.items() if not held.asked and held.due <= at)
    return islice(silent, max(0, questions))


def _free_at(limit: LimitKey, per_s: float) -> float:
    """When the next permit of a rate can be given."""
    missing = sum(part.count for part in limit.spent) - limit.most + 1
    for part in limit.spent:
        missing -= part.count
        if missing <= 0:
            return part.last + per_s
    return limit.last_at


def _forgotten_at(limit: LimitKey) -> float:
    return limit.last_at + max(DONE_S, limit.per_s or 0.0)


def _errands(held: Held | None) -> tuple[str, ...]:
    """What it was asked and has not answered."""
    if held is None:
        return ()
    name = name_of(held.holder, held.number)
    asked = ((CHECK, held.asked), (CANCEL, held.leaving == "asked"))
    return tuple(f"{what}:{name}" for what, is_open in asked if is_open)


def _cancel(holder: str, number: int) -> CancelOther:
    return CancelOther(f"{CANCEL}:{name_of(holder, number)}", _run(holder), "a newer run took its place")


def _question(holder: str, number: int) -> CheckHolder:
    return CheckHolder(f"{CHECK}:{name_of(holder, number)}", _run(holder), number)


def _run(holder: str) -> RunId:
    return RunId(holder.split("/", 2)[2])


def _parsed(name: str) -> tuple[str, int]:
    holder, _, number = name.rpartition("#")
    return holder, int(number)
