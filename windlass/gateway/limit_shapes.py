"""What goes out and comes in about limits across runs."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from windlass.core.limit_key import KEY_UNSAID_MAX
from windlass.gateway.parameters import NUMBER_MAX, Id
from windlass.gateway.shapes import Shape

LimitType = Literal["concurrency", "rate"]
LimitName = Annotated[str, Meta(min_length=1, max_length=KEY_UNSAID_MAX)]


class LimitItem(Shape, kw_only=True):
    key: str
    type: LimitType
    limit: int
    per: str | None  # of a rate: its period
    held: int  # permits; of a rate: none, they are used up as they are given
    waiting: int
    waiting_since: str | None  # of the one that waits the longest


class LimitHolder(Shape, kw_only=True):
    run: str
    number: int  # of the run's own counting
    since: str
    share: str
    leaving: bool  # it was told to cancel, for one that replaces it


class LimitPlace(Shape, kw_only=True):
    run: str
    number: int
    since: str
    share: str
    priority: int


class LimitView(LimitItem, kw_only=True):
    spent: int  # of a rate: permits given in the period that ends now
    holders: list[LimitHolder]  # the oldest first
    queue: list[LimitPlace]  # in the order of coming; turns go by share, and by priority and age in it
    more: bool  # there are more of them than are listed


class PermitNamed(Shape, kw_only=True):
    key: LimitName
    run: Id
    number: Annotated[int, Meta(ge=1, le=NUMBER_MAX)]


class PermitReleased(Shape, kw_only=True):
    key: str
    run: str
    number: int
    status: Literal["returned"]
