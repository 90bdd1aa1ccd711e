"""Clients of a cluster: they start runs, meddle with them and look at them, and insist on an answer."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Final, Protocol

from windlass.core import document, sharding
from windlass.core.commands import (
    CancelRun,
    DefineWorkflow,
    PauseRun,
    ReleaseStep,
    ResumeRun,
    SignalRun,
    StartRun,
)
from windlass.core.errors import NotFound, Refused, Unavailable, Unknown
from windlass.core.names import Key, WorkflowId, run_key, workflow_key
from windlass.core.orders import Read
from windlass.core.task import Json
from windlass.core.timetable import Timetable
from windlass.engine.definitions import OWN
from windlass.engine.node import Node
from windlass.journal import StoreError
from windlass.journal.memory import MemoryStore
from windlass.leases.memory import MemoryLeases
from windlass.sim.checks import Auditor, Violation
from windlass.sim.control import kid_document, tick_document, tick_timetable
from windlass.sim.documents import any_document
from windlass.sim.home import Gone, Home
from windlass.sim.inputs import Inputs
from windlass.sim.listener import Listener

PATIENCE_S: Final = 8.0  # of a client; a node answers within 5 s if it lives
PROMISED_S: Final = 5.0  # and in the calm, with what was asked for

Order = StartRun | CancelRun | PauseRun | ResumeRun | ReleaseStep | SignalRun | DefineWorkflow


class Stage(Protocol):
    """Where clients live: the world."""

    chance: random.Random
    homes: list[Home]

    @property
    def places(self) -> list[str]: ...

    disk: MemoryStore
    leases: MemoryLeases
    shards: int
    auditor: Auditor
    inputs: Inputs
    acknowledged: set[Key]
    forgotten: bool
    settled: bool

    def now(self) -> float: ...

    def guarded(self, check: Callable[[], None]) -> None: ...

    def broken(self, violation: Violation) -> None: ...


class Clients:
    def __init__(self, stage: Stage, group: asyncio.TaskGroup) -> None:
        self._stage = stage
        self._chance = stage.chance
        self._group = group
        self._listeners: list[Listener] = []

    async def live(self, n: int, *, runs: int, within_s: float) -> None:
        """One client, all its life."""
        chance = self._chance
        for i in range(runs):
            await asyncio.sleep(chance.uniform(0.0, within_s / runs))
            key = run_key(f"run-{n}-{i}")
            await self._begin(key)
            if chance.random() < 0.2:
                self._listen(key)
            if chance.random() < 0.4:
                await asyncio.sleep(chance.uniform(0.0, 5.0))
                await self._meddle(key)
            for _ in range(chance.randint(0, 3)):
                await asyncio.sleep(chance.uniform(0.0, 3.0))
                await self._look(key)
            if chance.random() < 0.1:
                await self.define(chance.randrange(2, 1000))

    async def define(self, number: int) -> None:
        await self._define(any_document(self._chance, number, self._stage.places))

    async def define_others(self, until_s: float) -> None:
        """What runs begin by themselves, and what begins by its schedule."""
        await self._define(kid_document())
        start = self._stage.now()
        timetable = tick_timetable(self._chance, start=start, end=start + until_s)
        await self._define(tick_document(), timetable)

    async def _define(self, written: dict[str, Json], timetable: Timetable | None = None) -> None:
        command = DefineWorkflow(
            id=str(self._chance.random()),
            document=written,
            document_hash=document.digest(written),
            timetable=timetable,
            at=self._stage.now(),
        )
        await self._insist(workflow_key(written["id"]), command)

    async def finish(self) -> None:
        """In the calm: see to it that everything can end; and every node takes one more run."""
        stage = self._stage
        if stage.forgotten:  # somebody resumed them, and then that never happened
            for key in [key for key in sorted(stage.acknowledged) if stage.auditor.status(key) == "paused"]:
                await self._insist(key, ResumeRun(id="once more", at=stage.now()), refusable=True)
        for key in stage.auditor.runs():  # workers died of them, as it seemed
            for step in stage.auditor.parked(key):
                await self._insist(
                    key, ReleaseStep(id=f"{step} again", step=step, at=stage.now()), refusable=True
                )
        for home in stage.homes:
            await self._begin(run_key(f"run-at-last-{home.name}"), home)

    def unfinished(self) -> str:
        """What was acknowledged and has not ended."""
        if open_run := self._stage.auditor.unsettled():
            return open_run
        for listener in self._listeners:
            if not (listener.over or self._stage.forgotten):
                return f"a listener of {listener.key.id} has heard nothing after {listener.seq}"
        return ""

    def _listen(self, key: Key) -> None:
        stage = self._stage
        listener = Listener(key, self._chance, kept=lambda: stage.auditor.seq(key))
        self._listeners.append(listener)
        self._group.create_task(listener.listen(stage.homes, forgotten=lambda: stage.forgotten))

    async def _begin(self, key: Key, home: Home | None = None) -> None:
        stage = self._stage
        latest = await stage.disk.document(sharding.of("w", stage.shards), workflow_key("w"), None)
        assert latest is not None
        own = any_document(self._chance, 0, stage.places) if self._chance.random() < 0.2 else None
        start = StartRun(
            workflow=WorkflowId("w"),
            version=latest.version if own is None else OWN,
            document_hash=latest.hash if own is None else document.digest(own),
            request_hash="same",
            input=stage.inputs.give(key),
            context={"client": key.id},
            document=own,
            at=stage.now(),
        )
        for _ in range(self._chance.choice([1, 1, 2])):  # the same request twice starts once
            await self._insist(key, start, home=home)
            if stage.forgotten and stage.auditor.seq(key) == 0:
                continue  # it was told, and then the database went back
            stage.guarded(lambda: stage.auditor.acknowledged(key))
            stage.acknowledged.add(key)

    async def _meddle(self, key: Key) -> None:
        ident, now = str(self._chance.random()), self._stage.now
        match self._chance.choice(["cancel", "pause", "doubled pause", "signal"]):
            case "cancel":
                undo = ident[-1] not in "27"  # as good as by chance, and the stories of all seeds stay
                await self._insist(key, CancelRun(id=ident, undo=undo, at=now()), refusable=True)
            case "signal":
                for _ in range(2):  # the second changes nothing
                    order = SignalRun(id=ident, name="go", data=1, at=now())
                    await self._insist(key, order, refusable=True)
            case how:
                await self._insist(key, PauseRun(id=ident, at=now()), refusable=True)
                await asyncio.sleep(self._chance.uniform(0.0, 20.0))
                await self._insist(key, ResumeRun(id=f"{ident} on", at=now()), refusable=True)
                if how == "doubled pause":
                    await self._insist(key, PauseRun(id=ident, at=now()), refusable=True)

    async def _look(self, key: Key) -> None:
        """What a reader is shown has happened, and nothing that had happened when it asked is missing."""
        stage = self._stage
        home, before, database = (
            self._chance.choice(stage.homes),
            stage.auditor.seq(key),
            stage.leases.database,
        )
        look = self._chance.choice([_ask_owner, _read])
        try:
            seq, status = await home.ask(lambda node: look(node, key), within_s=PATIENCE_S)
        except (Gone, Unavailable, Unknown, StoreError):
            return
        except NotFound:
            seq, status = 0, "nowhere"
        if database == stage.leases.database:
            stage.guarded(lambda: stage.auditor.read(key, before, seq, status))

    async def _insist(
        self, key: Key, order: Order, *, refusable: bool = False, home: Home | None = None
    ) -> None:
        """Ask until there is an answer, of one node or another: the same order again is always safe."""
        stage = self._stage
        while True:
            asked = home or self._chance.choice(stage.homes)
            promised = stage.settled
            try:
                within_s = PROMISED_S if promised else PATIENCE_S
                await asked.ask(lambda node: node.router.send(key, order), within_s=within_s)
                return
            except (Unavailable, Unknown, Gone) as error:
                if promised:
                    stage.broken(Violation(f"{order!r} failed in the calm: {error!r}"))
                await asyncio.sleep(self._chance.uniform(0.05, 1.0))
            except Refused as refusal:
                words = ("already ended", "not parked", "has failed already")
                ended = any(word in str(refusal) for word in words)
                if refusable and ended and not isinstance(refusal, NotFound):
                    return
                if isinstance(refusal, NotFound) and stage.forgotten:
                    return
                stage.broken(Violation(f"{order!r} was refused for no fault of its own: {refusal}"))
                await asyncio.sleep(3600.0)


async def _ask_owner(node: Node, key: Key) -> tuple[int | None, str]:
    """Up to which event its owner knows it, None if that is all; and its status."""
    reply = await node.router.send(key, Read())
    return (reply.seq if reply.image else None), reply.status


async def _read(node: Node, key: Key) -> tuple[int | None, str]:
    """As `GET` shows it."""
    seen = await node.router.read(key)
    return seen.seq, seen.image.status if seen.image is not None else seen.row.status
