"""What is told of secrets, as types: everything but their values."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from windlass.core.secret_refs import NAME
from windlass.gateway.shapes import Shape

VALUE_BYTES_MAX: Final = 64 * 1024
VALUE_CHARS_MIN: Final = 4  # a shorter one could not be masked: it is in every other text by chance

SecretName = Annotated[str, Meta(pattern=f"^{NAME}$")]


class SecretGiven(msgspec.Struct, forbid_unknown_fields=True):
    """The body that sets a secret."""

    value: Annotated[str, Meta(min_length=VALUE_CHARS_MIN, max_length=VALUE_BYTES_MAX)]

    def __repr__(self) -> str:
        return "SecretGiven(value=***)"


class SecretItem(Shape, kw_only=True):
    name: str
    version: int  # grows with every change
    key: str  # the id of the key that it is sealed with
    updated_at: str
    updated_by: str


class SecretDeleted(Shape, kw_only=True):
    name: str
    deleted: bool


class SecretsRotated(Shape, kw_only=True):
    resealed: int  # that were sealed with an older key; webhooks have secrets, too
    key: str  # the id of the one that all are sealed with now
    locked: list[str]  # that could not be opened: their key is not on this node
