"""What is said of webhooks, as types."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from windlass.core.notices import What
from windlass.gateway.parameters import Id
from windlass.gateway.shapes import Shape

URL_CHARACTERS_MAX: Final = 2_000


class WebhookAsked(msgspec.Struct, forbid_unknown_fields=True):
    """Where to send what."""

    url: Annotated[str, Meta(max_length=URL_CHARACTERS_MAX)]
    on: Annotated[list[What], Meta(min_length=1)]
    workflow: Id | None = None  # null: any of the namespace


class Webhook(Shape, kw_only=True):
    id: str
    url: str
    on: list[What]
    workflow: str | None  # null: any of the namespace
    namespace: str
    created_at: str
    created_by: str


class WebhookMade(Webhook, kw_only=True):
    secret: str  # what it signs with: shown now, and never again


class WebhookDeleted(Shape, kw_only=True):
    id: str
    deleted: bool


class WebhookTested(Shape, kw_only=True):
    delivered: bool  # it answered with 2xx
    status: int | None  # what it answered; null: nothing
    error: str | None
    took_seconds: float
