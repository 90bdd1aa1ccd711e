"""Beating from a thread of its own, so that a busy loop is not taken for a dead node.

caller's loop                            the thread's loop
    │ ◄───────── view, asked_at ───────────── │  beat, every half second
    │  hear(…), load()  ── the new load ────► │
    │                                         │
    ✕  silent for too long                    │  no beat: the others may call us dead
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Final

from windlass.core.cluster import Load, View
from windlass.leases import LeasesAway

log = logging.getLogger(__name__)

SILENT_S: Final = 2.5  # a loop that does not take a view for so long could not serve anybody either
GRACE_S: Final = 1.0  # how long the thread may take to end

Beat = Callable[[Load], Awaitable[View]]
Pulse = Callable[[], AbstractAsyncContextManager[Beat]]


async def beat_in_thread(
    pulse: Pulse,
    every_s: float,
    load: Callable[[], Load],
    hear: Callable[[float, View], None],
    *,
    silent_s: float = SILENT_S,
) -> None:
    """See `Leases.beating`. `pulse` is entered in the thread's loop, and gives what beats there."""
    heart = _Heart(pulse, every_s, load, hear, silent_s)
    heart.start()
    try:
        await heart.ended
    finally:
        await heart.stop()


class _Heart:
    """What both loops touch is changed under the lock, and never for longer than it takes to change it."""

    def __init__(
        self,
        pulse: Pulse,
        every_s: float,
        load: Callable[[], Load],
        hear: Callable[[float, View], None],
        silent_s: float,
    ) -> None:
        self._pulse = pulse
        self._every_s = every_s
        self._load = load
        self._hear = hear
        self._silent_s = silent_s
        self._caller = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._caller.create_future()  # never with a result
        self._gone = asyncio.Event()  # the thread has nothing more to say
        self._lock = threading.Lock()
        self._newest = load()  # what the next beat says
        self._handed: tuple[float, View] | None = None  # not yet taken by the caller's loop
        self._handed_at = 0.0
        self._over = False
        self._life: asyncio.Task[None] | None = None  # in the thread's loop

    def start(self) -> None:
        threading.Thread(target=self._run, name="heart", daemon=True).start()

    async def stop(self) -> None:
        """Whatever it is waiting for. A thread that the operating system holds is left to itself."""
        with self._lock:
            self._over = True
            life = self._life
        if life is not None:
            with suppress(RuntimeError):  # its loop has closed
                life.get_loop().call_soon_threadsafe(life.cancel)
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await self._gone.wait()

    # In the caller's loop:

    def _take(self) -> None:
        with self._lock:
            handed, self._handed = self._handed, None
        if handed is None or self._over:
            return
        try:
            self._hear(*handed)
            self._newest = self._load()
        except Exception as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if not self.ended.done():
            self.ended.set_exception(error)

    # In the thread:

    def _run(self) -> None:
        try:
            asyncio.run(self._live())
        except asyncio.CancelledError:
            pass
        except BaseException as error:
            self._tell(self._fail, error)
        self._tell(self._gone.set)

    async def _live(self) -> None:
        with self._lock:
            if self._over:
                return
            self._life = asyncio.current_task()
        async with self._pulse() as beat:
            answered = True
            while True:
                asked_at = time.monotonic()
                if not self._unheard(asked_at):
                    answered = await self._beat(beat, asked_at, answered)
                await asyncio.sleep(max(0.0, asked_at + self._every_s - time.monotonic()))

    async def _beat(self, beat: Beat, asked_at: float, answered: bool) -> bool:
        try:
            view = await beat(self._newest)
        except LeasesAway as error:
            if answered:
                log.warning("a beat failed", extra={"error": str(error)})
            return False
        if not answered:
            log.info("beats succeed again")
        self._hand(asked_at, view)
        return True

    def _hand(self, asked_at: float, view: View) -> None:
        """Only the newest view is worth hearing: one that was not taken yet is replaced."""
        with self._lock:
            waiting = self._handed is not None
            self._handed = (asked_at, view)
            if not waiting:
                self._handed_at = time.monotonic()
        if not waiting:
            self._tell(self._take)

    def _unheard(self, now: float) -> bool:
        with self._lock:
            return self._handed is not None and now - self._handed_at > self._silent_s

    def _tell(self, what: Callable[..., None], *values: BaseException) -> None:
        with suppress(RuntimeError):  # the caller's loop has closed: nobody is left to hear
            self._caller.call_soon_threadsafe(what, *values)
