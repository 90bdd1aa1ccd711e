"""A worker in the crew of a node: takes tasks from it, says how they went, and goes to another if it dies.

    dial ──► greet, with all it holds ──► serve ──(break)──► dial the next
                    │
                    └── turned away for good: Dismissed

What it runs goes on whatever happens to connections. A result is said to every node it greets until one
answers Kept. Nothing here blocks: it runs in the loop of the network, where no code of users runs.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from typing import Final, Protocol, assert_never

import msgspec

from windlass.core.errors import Refused
from windlass.core.log import Printed
from windlass.core.task import Failure, Json, Outcome, Task, TaskName
from windlass.wire import crew
from windlass.wire.crew import (
    Beat,
    Beaten,
    FromNode,
    Goodbye,
    Greet,
    Holding,
    Kept,
    Leaving,
    Order,
    Rejected,
    Returned,
    Run,
    RunLight,
    Secrets,
    Stop,
    Token,
    Welcome,
)
from windlass.wire.filling import filled
from windlass.wire.pipe import Broken, Malformed, Pipe
from windlass.worker.connection import Connection, Turned
from windlass.worker.outbox import Outbox
from windlass.worker.questions import Questions
from windlass.worker.rejections import Dismissed, NotAdmitted, Unreachable, why
from windlass.worker.route import Route
from windlass.worker.secrets import Resolve
from windlass.worker.spool import Result, Spool

log = logging.getLogger(__name__)

DIAL_S: Final = 5.0
LOOK_S: Final = 0.02
STOP_S: Final = 10.0  # for tasks that were given up to be dead
UNACKNOWLEDGED_S: Final = 5.0  # for results, when nothing runs any more
GOODBYE_S: Final = 1.0
TELL_EVERY: Final = 20  # failures between two lines that say the same
OUTCOME_BYTES_MAX: Final = crew.FRAME_BYTES_MAX - 64 * 1024
GREETING_ROOM: Final = crew.GREETING_BYTES_MAX - 64 * 1024  # for what is held

Dial = Callable[[str], Awaitable[Pipe]]  # raises Unreachable, NotAdmitted or OSError


class Work(Protocol):
    """What runs tasks: see LocalWorker."""

    def start(self, task: Task) -> None:
        """Raises Refused."""

    def stop(self, name: TaskName) -> None: ...

    def held(self) -> Set[TaskName]: ...


class Crewman:
    """`me` is its greeting, without what it holds. Give `report` and the others to what runs the tasks."""

    def __init__(
        self,
        me: Greet,
        *,
        dial: Dial,
        addresses: Sequence[str],
        spool: Spool,
        chance: random.Random,
        clock: Callable[[], float],
        stopwatch: Callable[[], float],
        load: Callable[[], tuple[float, float]] = lambda: (0.0, 0.0),
        on_welcome: Callable[[str, str], None] = lambda node, address: None,
    ) -> None:
        """`clock` is the wall's; `stopwatch` measures trips. `load`: of processor and memory, 0 to 1.

        `on_welcome` hears each node's name and address.
        """
        self.told_to_leave = asyncio.Event()  # by an operator
        self._me = me
        self._dial = dial
        self._spool = spool
        self._clock = clock
        self._stopwatch = stopwatch
        self._load = load
        self._on_welcome = on_welcome
        self._chance = chance
        self._route = Route(addresses, chance)
        self._outbox = Outbox(spool)
        self._work: Work | None = None
        self._connection: Connection | None = None
        self._tokens: dict[TaskName, Token] = {}
        self._names: dict[Token, TaskName] = {}
        self._details: dict[Token, bytes] = {}  # the last progress of what runs
        self._unkept: dict[Token, asyncio.Future[None]] = {}
        self._values: dict[str, msgspec.Raw] = {}  # that came over this connection, for tasks to come
        self._questions = Questions(self._outbox.say)
        self._leaving = False
        self._gone = False  # it has said its last word
        self._welcomed = False  # ever
        self._failures = 0
        self._full_told = False

    @property
    def connected(self) -> bool:
        return self._connection is not None and not self._connection.ended

    # For what runs the tasks.

    async def report(self, task: Task, outcome: Outcome, started_at: float) -> None:
        """Returns when a node has kept it, or does not want it."""
        token = self._tokens[task.name]
        took_s = max(0.0, self._clock() - started_at)
        body = crew.encode_outcome(outcome)
        if len(body) > OUTCOME_BYTES_MAX:
            body = crew.encode_outcome(_too_large(len(body)))
        self._spool.put(Result(task.name, token, body, started_at, took_s))
        kept = self._unkept[token] = asyncio.get_running_loop().create_future()
        self._details.pop(token, None)
        self._outbox.result(token)
        try:
            await kept
        finally:
            # Whoever stops us may do so because the process ends: the result stays for its next life.
            del self._unkept[token]

    def printed(self, task: Task, printed: Printed) -> None:
        if token := self._tokens.get(task.name):
            self._outbox.printed(token, printed)

    def progress(self, task: Task, details: Json) -> None:
        if token := self._tokens.get(task.name):
            self._details[token] = msgspec.json.encode(details)
            self._outbox.progress(token, self._details[token])

    def resolve_for(self, task: Task) -> Resolve:
        async def resolve(namespace: str, names: Set[str]) -> Mapping[str, str]:
            return await self._questions.secrets(self._tokens[task.name], names)

        return resolve

    # Its life.

    async def serve(self, work: Work) -> None:
        """Be in the crew of one node after another, until it has left. Raises Dismissed."""
        self._work = work
        clock = asyncio.get_running_loop().time
        while not self._gone:
            address, wait_s = self._route.next(clock(), busy=bool(self._held()))
            await asyncio.sleep(wait_s)
            try:
                await self._visit(address)
            except Turned as turned:
                self._turned(address, turned.rejected)
            except NotAdmitted as error:
                if not self._welcomed:
                    raise Dismissed("token", str(error)) from None
                self._failed(address, str(error))
            except (Unreachable, Broken, Malformed, OSError, TimeoutError) as error:
                self._failed(address, str(error) or "no answer")

    async def _visit(self, address: str) -> None:
        """Raises what keeps us from being welcome there; returns after the connection has ended."""
        async with asyncio.timeout(DIAL_S):
            pipe = await self._dial(address)
        connection = self._over(pipe)
        welcome = await connection.greet(self._greeting())
        if not crew.LOWEST <= welcome.version <= crew.HIGHEST:
            connection.drop("no common version")
            raise Malformed(f"it wants to speak version {welcome.version}")
        began = asyncio.get_running_loop().time()
        log.info("connected", extra={"node": welcome.node, "address": address})
        self._failures, self._welcomed, self._connection = 0, True, connection
        self._stop(welcome.stop)
        self._resume()
        self._on_welcome(welcome.node, address)
        await connection.serve(welcome.beat_s)
        self._route.parted(asyncio.get_running_loop().time() - began)
        if connection.rejected is not None:
            raise Turned(connection.rejected)
        if not self._leaving:
            fields = {"node": welcome.node, "address": address, "reason": connection.ended}
            log.warning("the connection to a node ended", extra=fields)

    def _over(self, pipe: Pipe) -> Connection:
        self._values = {}
        return Connection(
            pipe,
            self._outbox,
            take=self._take,
            beat=self._beat,
            busy=lambda: bool(self._held()),
            stopwatch=self._stopwatch,
        )

    def _resume(self) -> None:
        """Say again what the last node may not have heard."""
        self._outbox.reopen()
        for token, details in self._details.items():
            self._outbox.progress(token, details)
        self._questions.ask_again()
        if self._leaving:
            self._outbox.say(Leaving())

    def _greeting(self) -> Greet:
        cpu, memory = self._load()
        held, room = list[Holding](), GREETING_ROOM
        for token, name in self._held().items():
            room -= len(msgspec.msgpack.encode((name, token))) + 1
            if room < 0:
                log.error("more is held than a greeting can say", extra={"tasks": len(self._held())})
                break
            held.append(Holding(name, token))
        return msgspec.structs.replace(self._me, held=tuple(held), cpu=cpu, memory=memory)

    def _beat(self, number: int, trip_s: float) -> Beat:
        cpu, memory = self._load()
        return Beat(number, cpu, memory, tuple(self._held()), trip_s)

    def _held(self) -> dict[Token, TaskName]:
        """What runs, first; and what has ended and is not acknowledged, also from an earlier life."""
        assert self._work is not None
        working = self._work.held()
        for name in [name for name in self._tokens if name not in working]:
            self._forget(name)
        return {**self._names, **self._spool.names()}

    def _forget(self, name: TaskName) -> None:
        token = self._tokens.pop(name)
        del self._names[token]
        self._details.pop(token, None)

    def _failed(self, address: str, reason: str) -> None:
        self._route.failed()
        self._failures += 1
        level = logging.WARNING if self._failures % TELL_EVERY == 1 else logging.DEBUG
        log.log(level, "no node could be reached", extra={"address": address, "reason": reason})

    def _turned(self, address: str, rejected: Rejected) -> None:
        if rejected.again_s > 0 or rejected.code in ("full", "protocol"):
            again_s = max(1.0, rejected.again_s) * self._chance.uniform(1.0, 1.5)
            self._route.later(address, asyncio.get_running_loop().time() + again_s)
            return self._failed(address, rejected.reason)
        raise Dismissed(rejected.code, why(rejected, self._me))

    # What the node says.

    def _take(self, message: FromNode) -> None:
        match message:
            case Run():
                self._run(self._read(message.task), message.token)
            case RunLight():
                self._run(self._whole(message), message.token)
            case Stop(tokens):
                self._stop(tokens)
            case Kept(tokens):
                self._kept(tokens)
            case Beaten():
                self._stop(message.stop)
            case Secrets():
                self._questions.answered(message)
            case Order():
                self.told_to_leave.set()
            case Rejected():
                if self._connection is not None:
                    self._connection.turn(message)
            case Welcome():
                raise Malformed("it welcomes twice")
            case _:
                assert_never(message)

    def _read(self, body: bytes) -> Task:
        try:
            return crew.decode_task(body)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise Malformed(f"a task cannot be read: {error}") from None

    def _whole(self, run: RunLight) -> Task:
        for name, body in run.bodies.items():
            self._values[name] = msgspec.Raw(body)
        for name in run.forget:
            self._values.pop(name, None)
        try:
            return filled(self._read(run.task), run.places, self._values)
        except KeyError as unknown:
            raise Malformed(f"a task refers to a value that never came: {unknown}") from None

    def _run(self, task: Task, token: Token) -> None:
        assert self._work is not None
        if token in self._spool:
            self._outbox.result(token)
            return
        if task.name in self._work.held():
            return  # said twice
        try:
            self._check()
            self._work.start(task)
        except Refused as refused:
            self._outbox.say(Returned(task.name, token, str(refused)))
        else:
            self._tokens[task.name], self._names[token] = token, task.name

    def _check(self) -> None:
        """Raises Refused if it may take no task."""
        if self._leaving:
            raise Refused(f"worker {self._me.worker} is leaving")
        if self._spool.full:
            if not self._full_told:
                log.warning("no new tasks: too many results are not acknowledged yet")
            self._full_told = True
            raise Refused(f"worker {self._me.worker} keeps as many unacknowledged results as it may")
        self._full_told = False

    def _stop(self, tokens: Sequence[Token]) -> None:
        assert self._work is not None
        for token in tokens:
            self._spool.drop(token)
            if (name := self._names.get(token)) is not None:
                self._work.stop(name)

    def _kept(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            self._spool.drop(token)
            kept = self._unkept.get(token)
            if kept is not None and not kept.done():
                kept.set_result(None)

    # Its end.

    async def leave(self, grace_s: float, reason: str = "the worker was stopped") -> int:
        """Take nothing new, finish what can be finished, and return the rest; answers how many that were.

        Serve goes on meanwhile, and is to be cancelled afterwards.
        """
        self._leaving = True
        self._outbox.say(Leaving())
        await self._until(lambda: not self._running(), grace_s)
        returned = await self._give_back(reason)
        await self._until(lambda: not self._held(), min(grace_s, UNACKNOWLEDGED_S))
        if unsent := len(self._spool.names()):
            log.warning("results are kept for the next start", extra={"results": unsent})
        else:
            self._outbox.say(Goodbye())
        self._gone = True
        # The node closes the connection when it has heard that.
        await self._until(lambda: not self.connected, GOODBYE_S)
        return returned

    def _running(self) -> dict[Token, TaskName]:
        return {token: name for token, name in self._held().items() if token not in self._spool}

    async def _give_back(self, reason: str) -> int:
        """Only what is dead for certain: nobody else may begin before."""
        assert self._work is not None
        rest = self._running()
        for name in rest.values():
            self._work.stop(name)
        work = self._work
        await self._until(lambda: work.held().isdisjoint(rest.values()), STOP_S)
        dead = {token: name for token, name in rest.items() if name not in work.held()}
        for token, name in dead.items():
            self._outbox.say(Returned(name, token, reason))
        return len(dead)

    async def _until(self, condition: Callable[[], bool], within_s: float) -> None:
        for _ in range(round(within_s / LOOK_S)):
            if condition():
                return
            await asyncio.sleep(LOOK_S)


def _too_large(size: int) -> Failure:
    message = f"the result is {size:,} bytes; no more than {OUTCOME_BYTES_MAX:,} can be sent to a node"
    return Failure("TooLarge", message, retryable=False)
