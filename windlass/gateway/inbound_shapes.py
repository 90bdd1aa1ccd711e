"""What is said of webhooks that come in, as types."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from windlass.core.inbound import INPUTS_MAX, LABELS_MAX, Action, Check
from windlass.core.inbound_proof import SECRET_CHARS_MAX
from windlass.core.signing import SECRET_BYTES_MIN
from windlass.gateway.parameters import Id, VersionNumber
from windlass.gateway.shapes import Shape

BODY_BYTES_MAX: Final = 1024 * 1024

Path = Annotated[str, Meta(pattern=r"^(body|headers|query)(\.[^.\s]{1,100}){0,20}$")]
Secret = Annotated[str, Meta(min_length=SECRET_BYTES_MIN, max_length=SECRET_CHARS_MAX, pattern="^[!-~]+$")]


class InboundAsked(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """What a delivery does, and how its sender proves itself."""

    action: Action = "start"
    workflow: Id | None = None  # that is started
    version: VersionNumber | None = None  # null: the newest
    input: Annotated[dict[str, Path], Meta(max_length=INPUTS_MAX)] | None = (
        None  # null: the delivery as it is
    )
    run: Path | None = None  # where the id of the run is that gets the signal
    signal: Id | None = None  # its name; null: that of the hook
    check: Check = "secret"
    events: list[Annotated[str, Meta(min_length=1)]] | None = None  # only these; null: all
    delivery: Path | None = None  # where the number of the delivery is; null: in a header
    labels: Annotated[dict[str, str], Meta(max_length=LABELS_MAX)] | None = None
    secret: Secret | None = None  # null: one is made
    rotate_secret: bool = False  # make a new one, though there is one


class InboundHook(Shape, kw_only=True):
    name: str
    namespace: str
    path: str  # where deliveries go, on this server
    action: Action
    workflow: str | None
    version: int | None
    input: dict[str, str] | None
    run: str | None
    signal: str | None
    check: Check
    events: list[str]
    delivery: str | None
    labels: dict[str, str]
    created_at: str
    updated_at: str
    updated_by: str


class InboundMade(InboundHook, kw_only=True):
    secret: str | None  # shown when it is new, and never again


class InboundDeleted(Shape, kw_only=True):
    name: str
    deleted: bool


class Delivered(msgspec.Struct):
    """Whatever the sender sends: JSON, or the fields of a form."""


class Taken(Shape, kw_only=True):
    """What became of a delivery."""

    action: Action
    run_id: str | None  # null: nothing was to be done
    duplicate: bool = False  # it came before, and does nothing more
    ignored: str | None = None  # why nothing was to be done
