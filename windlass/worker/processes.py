"""Runs programs and Python steps in processes of their own, and ends them for real.

Each busy slot has a minder (see windlass.worker.minder). Idle ones are kept for the next task, the one used
last first, so that few Python children are warm and those few are hot.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Final

from windlass.worker import child
from windlass.worker.link import Ended, MinderLink, MinderLost, Order, Printing, Progressing
from windlass.worker.minder import RECYCLE
from windlass.worker.orphans import adopt_orphans, end_strays

ROOT: Final = Path(child.__file__).resolve().parents[2]  # where `import windlass` finds us
END_BYTES_MAX: Final = 8 * 1024  # of what a Python step printed, for the story of its death
OUTPUT_BYTES_MAX: Final = 1024 * 1024
KILL_S: Final = 10.0  # for a minder to end a task or itself; then it is killed, and its orphans come to us


class Processes:
    """At most `slots` tasks at a time. Python steps are looked up in `folders`, first in sys.path.

    A process may use `memory_bytes` (0: any number); a Python child is replaced after `recycle` steps.
    With `argv`, another program is the one that is kept warm, and that takes the requests of `run_python`.
    """

    def __init__(
        self,
        *,
        slots: int,
        folders: Sequence[Path],
        cwd: Path,
        env: Mapping[str, str],
        memory_bytes: int = 0,
        recycle: int = RECYCLE,
        argv: Sequence[str] = (),
    ) -> None:
        adopt_orphans()
        self._free = asyncio.Semaphore(slots)
        self._idle: list[MinderLink] = []
        self._busy: set[MinderLink] = set()
        self._cleanups: set[asyncio.Task[None]] = set()
        self._python = list(argv) or [
            sys.executable,
            "-P",
            "-c",
            child.BOOTSTRAP,
            str(ROOT),
            str(recycle),
            *map(os.path.abspath, folders),
        ]
        self._env = dict(env)
        self._cwd = os.path.abspath(cwd)
        self._memory_bytes = memory_bytes

    async def run_shell(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str,
        stdin: bytes = b"",
        timeout_s: float | None = None,
        scratch: str = "",
        forward_bytes: int = 0,
        printing: Printing | None = None,
    ) -> Ended:
        """Run a program until it ends. When this is cancelled, its processes are dead before it returns.

        The folder `scratch` is the caller's to remove; only when this process is killed, its minder does it.
        `printing` is called with what it prints while it runs, up to so many bytes.
        """
        how = (
            stdin,
            timeout_s,
            OUTPUT_BYTES_MAX,
            scratch,
            forward_bytes,
            printing,
            None,
            self._memory_bytes,
        )
        return await self._run(Order("shell", argv, env, cwd, *how))

    async def run_python(
        self,
        request: bytes,
        *,
        timeout_s: float | None = None,
        forward_bytes: int = 0,
        printing: Printing | None = None,
        progressing: Progressing | None = None,
    ) -> Ended:
        """Hand a request (a Task as JSON) to a warm child, which is dead when this returns cancelled."""
        how = (
            request,
            timeout_s,
            END_BYTES_MAX,
            "",
            forward_bytes,
            printing,
            progressing,
            self._memory_bytes,
        )
        return await self._run(Order("python", self._python, self._env, self._cwd, *how))

    async def close(self) -> None:
        """End everything that still runs. Nothing may be started afterwards."""
        while self._cleanups:
            await asyncio.wait(self._cleanups)
        links = [*self._idle, *self._busy]
        self._idle.clear()
        for link in links:
            link.hang_up()
        for link in links:
            await self._bury(link)
        while self._cleanups:
            await asyncio.wait(self._cleanups)

    async def _run(self, order: Order) -> Ended:
        async with self._free:
            link = await self._take()
            self._busy.add(link)
            try:
                ended = await link.run(order)
            except MinderLost:
                await self._clean_up(self._bury(link))
                return Ended("lost")
            except asyncio.CancelledError:
                await self._clean_up(self._stop(link))
                raise
            self._busy.discard(link)
            self._idle.append(link)
            return ended

    async def _take(self) -> MinderLink:
        while self._idle:
            link = self._idle.pop()
            if not link.lost:
                return link
            await self._clean_up(self._bury(link))
        return await MinderLink.start()

    async def _stop(self, link: MinderLink) -> None:
        try:
            async with asyncio.timeout(KILL_S):
                await link.stop()
        except (MinderLost, TimeoutError):
            await self._bury(link)
        else:
            self._busy.discard(link)
            self._idle.append(link)

    async def _bury(self, link: MinderLink) -> None:
        """The minder ends, and so does all that it minded."""
        link.hang_up()
        try:
            async with asyncio.timeout(KILL_S):
                await link.ended()
        except TimeoutError:
            link.kill()
            await link.ended()
        self._busy.discard(link)
        await end_strays()

    async def _clean_up(self, work: Coroutine[object, object, None]) -> None:
        """See it through, even when the caller is cancelled (again) meanwhile."""
        task = asyncio.create_task(work)
        self._cleanups.add(task)
        task.add_done_callback(self._cleanups.discard)
        await asyncio.shield(task)
