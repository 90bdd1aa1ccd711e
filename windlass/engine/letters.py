"""What is put into a shard's inbox, and what comes back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from windlass.core.commands import Answered, Command, FinishStep, GrantStep, LoseStep, ReturnPermit, Wake
from windlass.core.names import Key
from windlass.core.orders import Order, Reply


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
            self.order, FinishStep | LoseStep | GrantStep | Wake | Answered | ReturnPermit
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
