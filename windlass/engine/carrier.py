"""How an errand is asked for: one question to another entity, and whether what it says is its last word."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final, Protocol, assert_never

from windlass.core import run as run_core
from windlass.core.commands import AskPermit, CancelRun, ReturnPermit, StartRun
from windlass.core.errands import Asker, CancelOther, CheckHolder, Errand, GiveBack, Permit, StartOther
from windlass.core.errors import Invalid, NotFound, Refused, Stuck, Unavailable
from windlass.core.names import Key, limit_key, run_key
from windlass.core.orders import Holds, Order, Reply
from windlass.core.run_state import restore
from windlass.core.task import Json
from windlass.core.vocabulary import ENDED
from windlass.engine.clock import Clock
from windlass.engine.definitions import Definitions
from windlass.engine.seen import Seen
from windlass.journal import Document

# A start that is still on its way may arrive after somebody found no such run: so long it cannot be.
LATE_S: Final = 12.0
DECIDED: Final = ("granted", "denied", "returned")  # the last: somebody took it away


@dataclass(frozen=True, slots=True)
class LastWord:
    status: str
    value: Json = None
    reason: str = ""


class Ways(Protocol):
    """How other entities are reached."""

    async def send(self, key: Key, order: Order) -> Reply: ...

    async def read(self, key: Key) -> Seen: ...


class Carrier:
    def __init__(self, ways: Ways, definitions: Definitions, clock: Clock) -> None:
        self._ways = ways
        self._definitions = definitions
        self._clock = clock

    async def ask(self, sender: Key, errand: Errand, since: float) -> LastWord | None:
        """None: not yet. Raises Unavailable and its kin where nobody could be asked."""
        match errand:
            case StartOther():
                return await self._start(sender, errand)
            case CancelOther():
                return await self._cancel(sender, errand, since)
            case Permit():
                return await self._permit(sender, errand)
            case GiveBack():
                back = ReturnPermit(holder=sender.text(), number=errand.number, at=self._clock.now())
                await self._ways.send(limit_key(errand.key, sender.namespace), back)
                return LastWord("returned")
            case CheckHolder():
                return await self._holder(sender, errand)
            case _:
                assert_never(errand)

    async def _start(self, sender: Key, errand: StartOther) -> LastWord | None:
        key = run_key(errand.run, sender.namespace)
        try:
            status = (await self._ways.send(key, await self._command(sender, errand))).status
        except (Refused, Invalid) as error:
            # It may have begun when it was asked for before: the workflow may have been deleted since.
            # Or a run of this id was begun by another request: it is the one that was meant.
            try:
                status = (await self._ways.read(key)).row.status
            except NotFound:
                return LastWord("refused", reason=_told(error))
        if not errand.wait:
            return LastWord(status)
        return await self._ending(key) if status in ENDED else None

    async def _command(self, sender: Key, errand: StartOther) -> StartRun:
        document = await self._document(sender.namespace, errand)
        self._definitions.add(sender.namespace, document)  # the shard needs it in a moment
        return StartRun(
            workflow=errand.workflow,
            version=document.version,
            document_hash=document.hash,
            # Not of the version: the newest may be another one when it is asked again.
            request_hash=f"errand {sender.text()} {errand.errand}",
            input=errand.input,
            labels=errand.labels,
            priority=errand.priority,
            by=errand.by,
            asker=Asker(sender.text(), errand.errand, errand.depth) if errand.wait else None,
            at=self._clock.now(),
        )

    async def _document(self, namespace: str, errand: StartOther) -> Document:
        found = await self._definitions.document(namespace, errand.workflow, errand.version)
        if found is None:
            version = "" if errand.version is None else f" of version {errand.version}"
            raise NotFound(f"there is no workflow {errand.workflow}{version}")
        return found

    async def _ending(self, key: Key) -> LastWord:
        seen = await self._ways.read(key)
        row = seen.row
        if seen.image is None:
            return LastWord(row.status, reason=row.error)
        image = seen.image
        if image.ended is None:
            raise Unavailable(f"{key.id} is being read while it ends")
        run = restore(await self._definitions.of_image(key.namespace, image), image, key)
        assert run.ended is not None
        return LastWord(run.ended.status, run_core.outputs(run), run.ended.reason)

    async def _cancel(self, sender: Key, errand: CancelOther, since: float) -> LastWord | None:
        ident = f"errand {sender.text()} {errand.errand}"
        order = CancelRun(id=ident, reason=errand.reason, at=self._clock.now())
        try:
            await self._ways.send(run_key(errand.run, sender.namespace), order)
        except NotFound:
            if asyncio.get_running_loop().time() < since + LATE_S:
                return None
        except Stuck:
            return None  # until somebody frees it
        except Refused:
            pass  # it has ended already
        return LastWord("cancelled")

    async def _permit(self, sender: Key, errand: Permit) -> LastWord | None:
        order = AskPermit(
            holder=sender.text(),
            number=errand.number,
            most=errand.most,
            per_s=errand.per_s,
            on_conflict=errand.on_conflict,
            errand=errand.errand,
            share=errand.share,
            priority=errand.priority,
            at=self._clock.now(),
        )
        try:
            reply = await self._ways.send(limit_key(errand.key, sender.namespace), order)
        except Stuck:
            return None
        except Refused as error:
            return LastWord("refused", reason=str(error))
        return LastWord(reply.status, reason=reply.reason) if reply.status in DECIDED else None

    async def _holder(self, sender: Key, errand: CheckHolder) -> LastWord:
        try:
            reply = await self._ways.send(run_key(errand.run, sender.namespace), Holds(errand.number))
        except NotFound:
            return LastWord("gone")
        return LastWord(reply.status)


def _told(error: Refused | Invalid) -> str:
    if isinstance(error, Invalid) and error.faults:
        return "; ".join(f"{fault.pointer}: {fault.message}" for fault in error.faults[:5])
    return str(error)
