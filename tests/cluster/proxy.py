"""A wire that can be cut: a TCP proxy between a node and its database, or between a node and the others.

    whoever connects ──► port of the proxy ──► target
                            pass · hole · reset · refuse

In a hole nothing moves, not even the end of a connection; when it heals, what was sent meanwhile arrives
late, as it does in real networks. Rules may be for everybody or for one source: who that is, the owner of the
proxy says.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from tests.cluster.backstage import Backstage

Mode = Literal["pass", "hole", "hole in", "hole out", "reset", "refuse"]
Direction = Literal["in", "out"]  # towards the target, and back

CHUNK_BYTES = 1 << 16
CONNECT_S = 5.0
HOST = "127.0.0.1"
ANYBODY = ""


@dataclass(eq=False)
class Connection:
    source: str
    client: socket.socket
    server: socket.socket | None = None
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def close(self, *, reset: bool) -> None:
        for task in self.tasks:
            task.cancel()
        for end in (self.client, self.server):
            if end is not None:
                if reset:
                    with suppress(OSError):
                        # To linger for no time at all is to send a reset.
                        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.close()


class Proxy:
    """Passes everything until it is told otherwise. Its port stays its own, also while it refuses."""

    def __init__(
        self,
        stage: Backstage,
        target: tuple[str, int],
        *,
        source_of: Callable[[int, int], str] = lambda theirs, ours: ANYBODY,
    ) -> None:
        self._stage = stage
        self._target = target
        self._source_of = source_of  # who has the connection with these ports: its own and ours
        self._modes: dict[str, Mode] = {}
        self._changed = asyncio.Event()
        self._connections: set[Connection] = set()
        self._reserved = _bound(0)
        self.port = int(self._reserved.getsockname()[1])
        self._listening: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None
        stage.do(self._listen())

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def set(self, mode: Mode, *, source: str = ANYBODY) -> None:
        """From now on; also for the connections that are there."""
        assert mode != "refuse" or source == ANYBODY, "whoever connects is not known before it is let in"
        self._stage.do(self._set(mode, source))

    def heal(self) -> None:
        self._stage.do(self._heal())

    def close(self) -> None:
        self._stage.do(self._close())

    # All that follows runs backstage.

    async def _set(self, mode: Mode, source: str) -> None:
        self._modes[source] = mode
        if mode in ("reset", "refuse"):
            for connection in list(self._connections):
                if source in (ANYBODY, connection.source):
                    self._end(connection, reset=True)
        await (self._unlisten() if mode == "refuse" else self._listen())
        self._tell()

    async def _heal(self) -> None:
        self._modes.clear()
        await self._listen()
        self._tell()

    async def _close(self) -> None:
        await self._unlisten()
        for connection in list(self._connections):
            self._end(connection, reset=True)
        self._reserved.close()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _mode(self, source: str) -> Mode:
        return self._modes.get(source, self._modes.get(ANYBODY, "pass"))

    def _passes(self, source: str, direction: Direction) -> bool:
        return self._mode(source) not in ("hole", f"hole {direction}")

    async def _until_open(self, source: str, direction: Direction) -> None:
        while not self._passes(source, direction):
            await self._changed.wait()

    async def _listen(self) -> None:
        if self._listening is None:
            self._listening = _bound(self.port)
            self._listening.listen(128)
            self._accepting = self._stage.spawn(self._accept(self._listening))

    async def _unlisten(self) -> None:
        listening, self._listening = self._listening, None
        if self._accepting is not None:
            self._accepting.cancel()
            await asyncio.wait([self._accepting])
            self._accepting = None
        if listening is not None:
            listening.close()

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            client, (_, theirs) = await loop.sock_accept(listening)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(self._source_of(theirs, self.port), client)
            self._connections.add(connection)
            if self._mode(connection.source) == "reset":
                self._end(connection, reset=True)
            else:
                connection.tasks.append(self._stage.spawn(self._join(connection)))

    async def _join(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        await self._until_open(connection.source, "in")
        server = connection.server = socket.socket()
        server.setblocking(False)
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            async with asyncio.timeout(CONNECT_S):
                await loop.sock_connect(server, self._target)
        except (OSError, TimeoutError):
            return self._end(connection, reset=True)
        both: tuple[tuple[socket.socket, socket.socket, Direction], ...]
        both = ((connection.client, server, "in"), (server, connection.client, "out"))
        for here, there, direction in both:
            connection.tasks.append(self._stage.spawn(self._pump(connection, here, there, direction)))

    async def _pump(
        self, connection: Connection, here: socket.socket, there: socket.socket, direction: Direction
    ) -> None:
        loop = asyncio.get_running_loop()
        try:
            while True:
                await self._until_open(connection.source, direction)
                chunk = await loop.sock_recv(here, CHUNK_BYTES)
                await self._until_open(connection.source, direction)
                if not chunk:
                    break
                await loop.sock_sendall(there, chunk)
            there.shutdown(socket.SHUT_WR)
        except OSError:
            self._end(connection, reset=True)
            return
        if all(task.done() or task is asyncio.current_task() for task in connection.tasks):
            self._end(connection, reset=False)

    def _end(self, connection: Connection, *, reset: bool) -> None:
        if connection in self._connections:
            self._connections.discard(connection)
            current = asyncio.current_task()
            connection.tasks = [task for task in connection.tasks if task is not current]
            connection.close(reset=reset)


def _bound(port: int) -> socket.socket:
    """One that is bound and does not listen keeps the port for us, and whoever connects is refused."""
    made = socket.socket()
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.bind((HOST, port))
    return made
