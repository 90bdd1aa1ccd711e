"""What is put into a shard's inbox, and what comes back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from windlass.core.commands import Command, FinishStep, GrantStep, LoseStep, Wake
from windlass.core.names import Key


@dataclass(frozen=True, slots=True)
class Read:
    """The entity as it is, answered with its batch: never what may not have happened."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """The entity has been idle: it may leave memory."""


@dataclass(frozen=True, slots=True)
class Strand:
    """The entity was restarted often enough: set it aside."""

    error: str


@dataclass(frozen=True, slots=True)
class Free:
    """Somebody mended what made the entity stuck."""


@dataclass(frozen=True, slots=True)
class Purge:
    """The run ended long ago: only its row stays."""


@dataclass(frozen=True, slots=True)
class Refresh:
    """Write the entity's row anew."""


Order = Command | Read | Sleep | Strand | Free | Purge | Refresh


@dataclass(frozen=True, slots=True)
class Reply:
    seq: int
    status: str
    changed: bool = False  # the command created events
    image: bytes = b""  # for Read
    version: int = 0  # of a workflow


@dataclass(slots=True)
class Letter:
    key: Key
    order: Order
    reply: asyncio.Future[Reply] | None = None
    taken: bool = False  # the shard has begun to decide it
    withdrawn: bool = False  # the sender gave up before it was taken
    failure: Exception | None = field(default=None, repr=False)
    answer: Reply | None = field(default=None, repr=False)

    @property
    def finishes_work(self) -> bool:
        """Such letters are always taken: refusing them would only let work pile up."""
        return not isinstance(self.order, Command) or isinstance(
            self.order, FinishStep | LoseStep | GrantStep | Wake
        )

    def send_off(self) -> None:
        """Tell the sender: only after the commit."""
        if self.reply is None or self.reply.done():
            return  # nobody asked, or the asker gave up
        if self.failure is not None:
            self.reply.set_exception(self.failure)
        elif self.answer is not None:
            self.reply.set_result(self.answer)
        else:
            self.reply.set_exception(AssertionError(f"nobody answered {self.order!r}"))
