"""Definitions by (workflow, version): they never change, so they are read once.

A run may bring its own document along instead, which is kept in its first event and nowhere else: then its
version is OWN.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from windlass.core import document, document_level
from windlass.core.commands import StartRun
from windlass.core.definition import Definition
from windlass.core.errors import Invalid, NotFound
from windlass.core.events import RunStarted
from windlass.core.names import Key, workflow_key
from windlass.core.run_model import RunImage
from windlass.engine.reading import in_time
from windlass.journal import Document, RunRow, Store, Stored
from windlass.wire import codec

CACHED_STEPS_MAX: Final = 1_000_000
OWN: Final = 0  # the version of a run that is one of no workflow


class Definitions:
    def __init__(self, store: Store, shard_of: Callable[[str], int]) -> None:
        self._store = store
        self._shard_of = shard_of
        self._cache: OrderedDict[tuple[str, str, int], tuple[str, Definition]] = OrderedDict()  # with hashes
        self._era = 0  # grows when what is cached may never have been
        self._steps = 0
        self._asking: dict[Key, list[asyncio.Future[Document | None]]] = {}

    def cached(self, namespace: str, workflow: str, version: int) -> Definition | None:
        known = self._cache.get((namespace, workflow, version))
        return None if known is None else known[1]

    def forget(self) -> None:
        """Another database took over: it may know other documents under the same numbers."""
        self._cache.clear()
        self._steps = 0
        self._era += 1

    async def get(self, namespace: str, workflow: str, version: int) -> Definition:
        known = self.cached(namespace, workflow, version)
        if known is not None:
            return known
        key, era = workflow_key(workflow, namespace), self._era
        found = await self._store.document(self._shard_of(workflow), key, version)
        if found is None:
            raise NotFound(f"workflow {workflow} has no version {version}")
        return self.add(namespace, found) if era == self._era else _read(found)

    async def document(self, namespace: str, workflow: str, version: int | None) -> Document | None:
        """A version that can be run; None: there is none. The newest is read from its row."""
        if version is None:
            return await self.latest(namespace, workflow)
        return await in_time(
            self._store.document(self._shard_of(workflow), workflow_key(workflow, namespace), version)
        )

    async def of_image(self, namespace: str, image: RunImage) -> Definition:
        started = image.started
        if started.version != OWN:
            return await self.get(namespace, started.workflow, started.version)
        return own(started)

    async def of(self, stored: Stored, row: RunRow) -> Definition:
        """What a run is one of, of which this was kept."""
        if row.version != OWN:
            return await self.get(row.key.namespace, row.workflow, row.version)
        return own(_started(stored))

    async def latest(self, namespace: str, workflow: str) -> Document | None:
        """The newest version, from its row and never from a cache; None if there is none any more.

        Those who ask while a row is being read share the next reading of it, which begins after they asked.
        """
        key = workflow_key(workflow, namespace)
        waiting = self._asking.get(key)
        if waiting is not None:
            turn: asyncio.Future[Document | None] = asyncio.get_running_loop().create_future()
            waiting.append(turn)
            return await in_time(turn)
        self._asking[key] = []
        try:
            found = await in_time(self._newest(key))
        finally:
            self._pass_on(key)
        return found

    def _pass_on(self, key: Key) -> None:
        """Read once more for all who asked meanwhile, if any."""
        waiting = [turn for turn in self._asking.pop(key) if not turn.done()]
        if waiting:
            self._asking[key] = []
            reading = asyncio.ensure_future(self._newest(key))
            reading.add_done_callback(partial(self._share, key, waiting))

    def _share(
        self,
        key: Key,
        waiting: list[asyncio.Future[Document | None]],
        reading: asyncio.Future[Document | None],
    ) -> None:
        error = asyncio.CancelledError() if reading.cancelled() else reading.exception()
        for turn in waiting:
            if turn.done():
                continue
            if error is None:
                turn.set_result(reading.result())
            elif isinstance(error, asyncio.CancelledError):
                turn.cancel()
            else:
                turn.set_exception(error)
        self._pass_on(key)

    async def _newest(self, key: Key) -> Document | None:
        found = await self._store.document(self._shard_of(key.id), key, None)
        return None if found is None or found.deleted else found

    def add(self, namespace: str, found: Document) -> Definition:
        name = (namespace, found.key.id, found.version)
        known = self._cache.pop(name, None)
        if known is not None and known[0] != found.hash:
            self._steps -= len(known[1].steps)
            known = None
        if known is not None:
            self._cache[name] = known
            return known[1]
        definition = _read(found)
        self._cache[name] = found.hash, definition
        self._steps += len(definition.steps)
        while self._steps > CACHED_STEPS_MAX and len(self._cache) > 1:
            _, (_, dropped) = self._cache.popitem(last=False)
            self._steps -= len(dropped.steps)
        return definition


def _read(found: Document) -> Definition:
    given = msgspec.json.decode(found.body)
    try:
        return document.read(given)
    except Invalid:
        # Nothing is saved that has faults. A version from before there were expressions may look as if.
        literal = document.read_literally(given)
        if document_level.level_of(given, literal) >= document_level.LEVEL:
            raise
        return literal


def own(started: StartRun | RunStarted) -> Definition:
    """What a run brings along. Raises Invalid."""
    if started.document is None:
        raise NotFound(f"the document of this run of {started.workflow} was not kept")
    return document.read_literally(started.document)


def _started(stored: Stored) -> RunStarted:
    if stored.snapshot is not None:
        return codec.decode_run(stored.snapshot.version, stored.snapshot.body).started
    if stored.facts:
        first = stored.facts[0]
        event = codec.decode_event(first.type, first.version, first.body)
        if isinstance(event, RunStarted):
            return event
    raise NotFound(f"nothing is left of {stored.key.text()} but its row")
