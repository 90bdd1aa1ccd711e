"""The worker's side of a sandbox: has a keeper started for each job, and hears from it."""

from __future__ import annotations

import asyncio
import dataclasses
import marshal
import os
import signal
import socket
import sys
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal, assert_never

import msgspec

from windlass.worker.link import Printing
from windlass.worker.minder.tree import send_signal
from windlass.worker.orphans import end_strays, spare, unspare
from windlass.worker.sandbox.nursery_link import NURSERY, Nursery, death_of, is_lost
from windlass.worker.sandbox.nursery_link import Kind as KeeperKind
from windlass.worker.sandbox.port import Job, Protections, Ran
from windlass.worker.sandbox.talk import frame

STOP_S: Final = 30.0  # for a keeper to end its job; then it is killed, and its job with it
TRIES: Final = 3  # for keepers that are killed before they have taken the order

Outcome = dict[str, Any]  # Any: what marshal makes; the fields of Ran
Kind = Literal["bubblewrap", "landlock", "gvisor", "unsandboxed"]


@dataclass(frozen=True, slots=True)
class Tier:
    """One way to run jobs apart. `without`: protections to leave out, to show what each is good for."""

    name: str
    kind: Kind
    protections: Protections
    cgroup: bool = False
    bwrap: str = ""
    disable_userns: bool = False
    runsc: str = ""
    without: frozenset[str] = frozenset()

    async def run(self, job: Job, printing: Printing | None = None) -> Ran:
        order = frame(self._order(job, printing))
        for _ in range(TRIES):
            keeper = _Keeper((self.kind == "bubblewrap", self.cgroup), printing)
            try:
                await keeper.run(order)
            except OSError as error:
                return self._not_started(f"{sys.executable} did not start: {error.strerror}")
            if keeper.ended is not None:
                return Ran(**keeper.ended, protections=self.protections)
            if keeper.taken:
                break
        return self._not_started("the keeper of the sandbox was killed")

    def _not_started(self, why: str) -> Ran:
        return Ran("not_started", detail=why, protections=self.protections)

    def _order(self, job: Job, printing: Printing | None) -> dict[str, Any]:  # Any: what marshal takes
        return {
            "tier": self.kind,
            "cgroup": self.cgroup,
            "bwrap": self.bwrap,
            "disable_userns": self.disable_userns,
            "runsc": self.runsc,
            "without": sorted(self.without),
            "limits": dataclasses.asdict(job.limits),
            "argv": list(job.argv),
            "env": dict(job.env),
            "stdin": bytes(job.stdin),
            "files": {name: bytes(content) for name, content in job.files.items()},
            "wanted": list(job.wanted),
            "readable": [os.path.abspath(path) for path in job.readable],
            "keep": os.path.abspath(job.keep) if job.keep is not None else "",
            "forward": printing is not None,
            # It holds secrets: neither nursery nor keeper has it.
            "worker_env": dict(os.environ) if "environment" in self.without else {},
        }


def bare(protections: Protections, without: frozenset[str]) -> Protections:
    """What is left of them."""
    left = {
        name: value and name not in without for name, value in msgspec.structs.asdict(protections).items()
    }
    return Protections(**left)


class _Keeper:
    """One that was asked for, and what is heard of it."""

    def __init__(self, kind: KeeperKind, printing: Printing | None) -> None:
        self._kind = kind
        self._printing = printing
        self.born: tuple[int, int] | None = None  # its pid and start time
        self.taken = False  # the order; before that it has not begun
        self.ended: Outcome | None = None  # by its own word: nothing is left of its job

    async def run(self, order: bytes) -> None:
        """Until nothing is left of the job. Raises OSError when no keeper can be asked for."""
        wrapped, _ = self._kind
        ours, nursery = await NURSERY.keeper(self._kind)
        with ours:
            try:
                with suppress(ConnectionError):
                    await asyncio.get_running_loop().sock_sendall(ours, order)
                if wrapped:
                    NURSERY.look_ahead(self._kind)
                await self._hear(ours)
            finally:
                # Without a namespace the kernel counts keepers among the processes of the next job.
                if self.ended is None or not wrapped or is_lost(nursery):
                    # Cancelled, or somebody was killed. Hanging up makes it end.
                    with suppress(OSError):
                        ours.shutdown(socket.SHUT_WR)
                    await _see_through(self._bury(ours, nursery))
                if self.born is not None:
                    unspare(self.born[0])
        if not wrapped:
            NURSERY.look_ahead(self._kind)

    async def _hear(self, ours: socket.socket) -> None:
        loop, inbox = asyncio.get_running_loop(), bytearray()
        with suppress(ConnectionError):
            while self.ended is None and (chunk := await loop.sock_recv(ours, 256 * 1024)):
                inbox += chunk
                while len(inbox) >= 8 and len(inbox) >= 8 + int.from_bytes(inbox[:8], "little"):
                    size = int.from_bytes(inbox[:8], "little")
                    what, *rest = marshal.loads(inbox[8 : 8 + size])
                    del inbox[: 8 + size]
                    self._take(what, rest)

    def _take(self, what: Literal["born", "taken", "output", "ended"], rest: list[Any]) -> None:
        match what:
            case "born":
                self.born = (rest[0], rest[1])
                spare(rest[0])  # should it lose its nursery, it becomes our child
            case "taken":
                self.taken = True
            case "output":
                if self._printing is not None:
                    self._printing(*rest)
            case "ended":
                self.ended = rest[0]
            case _:
                assert_never(what)

    async def _bury(self, ours: socket.socket, nursery: Nursery) -> None:
        """Wait for the end of the socket: then it is dead and, if its nursery lives, so is all of its job.

        Else nobody but us buries it, and ends what it left.
        """
        try:
            async with asyncio.timeout(STOP_S):
                await _until_its_end(ours)
        except TimeoutError:
            if self.born is not None:
                send_signal(*self.born, signal.SIGKILL)
            await _until_its_end(ours)
        if is_lost(nursery):
            await death_of(nursery)
            if self.born is not None:
                unspare(self.born[0])
            await end_strays()


async def _until_its_end(ours: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    with suppress(ConnectionError):
        while await loop.sock_recv(ours, 256 * 1024):
            pass


async def _see_through(work: Coroutine[object, object, None]) -> None:
    """To its end, however often the caller is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
