"""Tells the address that a task came with what became of it: kept as any notice, made when it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec

from windlass.core import callbacks, task_fold, task_view
from windlass.core.callbacks import Address
from windlass.core.errors import WindlassError
from windlass.core.events import RunEnded, RunEvent, StepQueued
from windlass.core.names import Attempt, StepId, run_key
from windlass.core.notices import Answer
from windlass.core.run_model import Run
from windlass.engine.batch import Batch, Touched
from windlass.engine.clock import Clock
from windlass.engine.post import Post
from windlass.engine.reading import in_time
from windlass.engine.secrets import Secrets
from windlass.journal import Fact, Notice, Store, Stored
from windlass.wire import codec

FACTS_MAX: Final = 1_000  # a task has a few dozen
READ_AT_ONCE: Final = 2  # each may be many times as large as what is sent of it

_addresses: Final = msgspec.json.Decoder(Address)


def owed(batch: Batch) -> list[Notice]:
    """One for each run that ends with this batch, and was given an address."""
    found = [_notice(touched) for touched in batch.touched.values()]
    return [notice for notice in found if notice is not None]


def _notice(touched: Touched) -> Notice | None:
    run, key = touched.live.entity, touched.live.key
    ended = next((event for event in touched.events if isinstance(event, RunEnded)), None)
    if ended is None or not isinstance(run, Run) or run.started is None:
        return None
    where = callbacks.address(run.started)
    if where is None:
        return None
    return Notice(
        id=callbacks.ident(key, ended),
        hook=callbacks.place(where),
        namespace=key.namespace,
        workflow=run.started.workflow,
        run=key.id,
        what=callbacks.WHAT,
        at=ended.at,
        body=msgspec.json.encode(where),
    )


class Callbacks:
    def __init__(self, store: Store, secrets: Secrets, post: Post, clock: Clock) -> None:
        self._store = store
        self._secrets = secrets
        self._post = post
        self._clock = clock
        self._readers = asyncio.Semaphore(READ_AT_ONCE)

    async def send(self, shard: int, notice: Notice) -> Answer | None:
        """What came back; None if there is nothing left to tell of. Raises StoreError."""
        where = _addresses.decode(notice.body)
        try:
            secret = await self._secret(notice.namespace, where.secret)
            async with self._readers:
                body = await self._body(shard, notice)
        except WindlassError as error:  # it may be otherwise later: a secret can be set, a journal comes back
            return Answer(0, str(error))
        if body is None:
            return None
        headers = {callbacks.REQUEST_HEADER: notice.run}
        now = self._clock.now()
        return await self._post.call(where.url, notice.id, body, now, secret=secret, headers=headers)

    async def _secret(self, namespace: str, name: str) -> str:
        """Never another one, nor none, than was asked for."""
        return (await self._secrets.open(namespace, {name}))[name] if name else ""

    async def _body(self, shard: int, notice: Notice) -> bytes | None:
        """None: the run is older than runs are kept."""
        key = run_key(notice.run, notice.namespace)
        facts = await in_time(self._store.facts(shard, key, after=0, limit=FACTS_MAX))
        if not facts:
            return None
        events = _events(facts)
        if facts[0].seq > 1:
            (stored,) = await in_time(self._store.load(shard, [key]))
            events = [*_begun(stored), *events]
        task = task_fold.fold(notice.run, events)
        return callbacks.body(task_view.view(task), notice.at)


def _events(facts: Sequence[Fact]) -> list[RunEvent]:
    found = [codec.decode_event(fact.type, fact.version, fact.body) for fact in facts]
    return [event for event in found if isinstance(event, RunEvent)]


def _begun(stored: Stored) -> list[RunEvent]:
    """How it began, where its first events went after a snapshot. Attempts of that time are not told."""
    assert stored.snapshot is not None, "events go only after a snapshot"
    started = codec.decode_run(stored.snapshot.version, stored.snapshot.body).started
    return [started, StepQueued(step=StepId(task_fold.STEP), attempt=Attempt(1), at=started.at)]
