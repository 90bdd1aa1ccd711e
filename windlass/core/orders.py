"""What is put to the owner of an entity beside commands, and what it answers."""

from __future__ import annotations

import msgspec

from windlass.core.commands import Command


class Read(msgspec.Struct, frozen=True, tag="Read"):
    """The entity as it is, answered with its batch: never what may not have happened."""


class Sleep(msgspec.Struct, frozen=True, tag="Sleep"):
    """The entity has been idle: it may leave memory."""


class Strand(msgspec.Struct, frozen=True, tag="Strand"):
    """The entity was restarted often enough: set it aside."""

    error: str


class Free(msgspec.Struct, frozen=True, tag="Free"):
    """Somebody mended what made the entity stuck."""


class Purge(msgspec.Struct, frozen=True, tag="Purge"):
    """The run ended long ago: only its row stays."""


class Refresh(msgspec.Struct, frozen=True, tag="Refresh"):
    """Write the entity's row anew."""


class Nudged(msgspec.Struct, frozen=True, tag="Nudged"):
    """Asking again on this errand is worth while now."""

    errand: str


class Holds(msgspec.Struct, frozen=True, tag="Holds"):
    """Whether a run holds, or wants, the permit of this number."""

    number: int


Order = Command | Read | Sleep | Strand | Free | Purge | Refresh | Nudged | Holds


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    seq: int
    status: str
    changed: bool = False  # the command created events
    image: bytes = b""  # for Read
    image_version: int = 1  # of its format
    version: int = 0  # of a workflow
    reason: str = ""  # why a permit is denied
