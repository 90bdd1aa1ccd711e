"""Attempts that were lost with their worker: how many before a step is parked, and the evidence."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import msgspec

from windlass.core.commands import LoseStep
from windlass.core.events import AttemptLost
from windlass.core.wording import many, short

EVIDENCE_MAX: Final = 5  # deaths that are told of one by one
EVIDENCE_CHARS_MAX: Final = 300  # of what was said about one of them


class Losses(msgspec.Struct, frozen=True, omit_defaults=True):
    """Attempts at a step that nobody finished, since it was last released."""

    count: int = 0
    deaths: int = 0  # those that somebody saw end with their worker's process
    evidence: tuple[str, ...] = ()  # of the last deaths: a sentence for each
    parked: str = ""  # why it is not tried again by itself; "": it is


# One object for all who lost none: a snapshot leaves out what is this very one.
NO_LOSSES: Final = Losses()


def with_loss(losses: Losses, event: AttemptLost) -> Losses:
    """The losses of a step with one more."""
    if not event.witnessed:
        return msgspec.structs.replace(losses, count=losses.count + 1)
    moment = datetime.fromtimestamp(event.at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    who, why = event.worker or "(unnamed)", short(event.reason, EVIDENCE_CHARS_MAX)
    sentence = f"Worker {who} died at {moment} with attempt {event.attempt}: {why}"
    return msgspec.structs.replace(
        losses,
        count=losses.count + 1,
        deaths=losses.deaths + 1,
        evidence=(*losses.evidence[1 - EVIDENCE_MAX :], sentence),
    )


def unwise(losses: Losses, command: LoseStep) -> str:
    """Why a step that lost so many attempts shall not be tried again by itself; nothing if it may be."""
    last = short(command.reason, EVIDENCE_CHARS_MAX)
    if 0 < command.deaths_max <= losses.deaths:
        return f"its worker died with it {many(losses.deaths, 'time')}, the last time: {last}"
    if 0 < command.losses_max < losses.count:
        lost = f"{losses.count} of its attempts were lost and {command.losses_max} may be"
        return f"{lost}, the last time: {last}"
    if not command.failover:
        return f"failover is off, and its attempt was lost: {last}"
    return ""
