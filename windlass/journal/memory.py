"""A journal that lasts as long as its object: for the simulator, and as the plainest reading of the port.

Handed on to the next engine it has survived that engine's death. Nothing in it waits, and the same calls
always give the same answers.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from windlass.core.log import size_bytes
from windlass.core.names import Key, Kind
from windlass.journal import (
    Document,
    EntityRow,
    Fact,
    Group,
    LogLine,
    LogSize,
    Notice,
    RunQuery,
    RunRow,
    Snapshot,
    Stored,
    StoreRefused,
    StuckRow,
    Unsettled,
)
from windlass.journal.search import age, finds

SNAPSHOTS_KEPT: Final = 2
_LARGEST: Final = 2**63 - 1


@dataclass(slots=True)
class _Shard:
    epoch: int = 0  # 0: nobody ever claimed it
    facts: defaultdict[Key, dict[int, Fact]] = field(default_factory=lambda: defaultdict(dict))
    snapshots: dict[Key, list[Snapshot]] = field(default_factory=dict)  # oldest first
    runs: dict[Key, RunRow] = field(default_factory=dict)
    documents: dict[Key, dict[int, Document]] = field(default_factory=dict)
    logs: defaultdict[Key, dict[int, LogLine]] = field(default_factory=lambda: defaultdict(dict))
    stuck: dict[Key, StuckRow] = field(default_factory=dict)
    notices: dict[str, Notice] = field(default_factory=dict)
    entities: dict[Key, EntityRow] = field(default_factory=dict)


class MemoryStore:
    def __init__(self) -> None:
        self._shards: defaultdict[int, _Shard] = defaultdict(_Shard)
        self._settings: dict[str, str] = {}

    async def claim(self, shards: Sequence[int]) -> dict[int, int]:
        for shard in dict.fromkeys(shards):
            self._shards[shard].epoch += 1
        return {shard: self._shards[shard].epoch for shard in shards}

    async def commit(self, groups: Sequence[Group]) -> list[bool]:
        outcomes = [0 < group.epoch == self._shards[group.shard].epoch for group in groups]
        kept = [group for group, ours in zip(groups, outcomes, strict=True) if ours]
        # Everything that can be refused is refused before anything changes.
        for group in kept:
            _check(group)
        self._refuse_duplicates(kept)
        self._refuse_repeated_lines(kept)
        for group in kept:
            _keep(self._shards[group.shard], group)
        return outcomes

    async def load(self, shard: int, keys: Sequence[Key]) -> list[Stored]:
        return [self._stored(self._shards[shard], key) for key in keys]

    async def facts(self, shard: int, key: Key, *, after: int, limit: int) -> list[Fact]:
        return _in_order(self._shards[shard], key, after)[:limit]

    async def last_facts(self, shard: int, key: Key, *, limit: int) -> list[Fact]:
        return _in_order(self._shards[shard], key, 0)[-limit:]

    async def logs(
        self, shard: int, key: Key, *, after: int, limit: int, step: str | None = None
    ) -> list[LogLine]:
        return _lines(self._shards[shard], key, after, step)[:limit]

    async def last_logs(self, shard: int, key: Key, *, limit: int, step: str | None = None) -> list[LogLine]:
        return _lines(self._shards[shard], key, 0, step)[-limit:]

    async def log_size(self, shard: int, key: Key) -> LogSize:
        lines = self._shards[shard].logs.get(key, {})
        return LogSize(max(lines, default=0), sum(size_bytes(line.text) for line in lines.values()))

    async def unsettled(self, shard: int) -> list[Unsettled]:
        here = self._shards[shard]
        rows = [
            row
            for row in here.runs.values()
            if not (row.settled or row.key in here.stuck or (_sleeps(row) and row.wake_at is None))
        ]
        rows.sort(key=lambda row: (row.started_at, row.key.namespace, row.key.id))
        others = [
            row
            for row in here.entities.values()
            if row.key not in here.stuck and (row.awake or row.wake_at is not None)
        ]
        others.sort(key=lambda row: row.key)
        return [
            *(Unsettled(row.key, _sleeps(row), row.wake_at) for row in rows),
            *(Unsettled(row.key, not row.awake, row.wake_at) for row in others),
        ]

    async def notices(
        self, shard: int, *, limit: int, after: tuple[float, str] | None = None
    ) -> list[Notice]:
        waiting = sorted(self._shards[shard].notices.values(), key=lambda notice: (notice.at, notice.id))
        return [notice for notice in waiting if after is None or (notice.at, notice.id) > after][:limit]

    async def stuck(self, namespace: str) -> list[StuckRow]:
        rows = [
            row
            for shard in self._shards.values()
            for row in shard.stuck.values()
            if row.key.namespace == namespace
        ]
        return sorted(rows, key=lambda row: (row.since, row.key.text()))

    async def document(self, shard: int, key: Key, version: int | None) -> Document | None:
        versions = self._shards[shard].documents.get(key, {})
        if version is None:
            return versions[max(versions)] if versions else None
        return versions.get(version)

    async def documents(self, namespace: str, *, after: str = "", limit: int | None = None) -> list[Document]:
        newest = [
            versions[max(versions)]
            for shard in self._shards.values()
            for key, versions in shard.documents.items()
            if key.namespace == namespace and key.id > after
        ]
        defined = sorted((found for found in newest if not found.deleted), key=lambda found: found.key.id)
        return defined[:limit]

    async def runs(self, query: RunQuery) -> list[RunRow]:
        rows = [row for shard in self._shards.values() for row in shard.runs.values() if _matches(row, query)]
        rows.sort(key=age, reverse=True)
        return rows[: query.limit]

    async def newest_runs(self, namespace: str, workflows: Sequence[str]) -> list[RunRow]:
        asked = [RunQuery(namespace=namespace, workflow=workflow, limit=1) for workflow in set(workflows)]
        return [row for query in asked for row in await self.runs(query)]

    async def run(self, shard: int, key: Key) -> RunRow | None:
        return self._shards[shard].runs.get(key)

    async def count_runs(self, namespace: str, workflow: str, limit: int) -> int:
        found = sum(
            row.key.namespace == namespace and row.workflow == workflow
            for shard in self._shards.values()
            for row in shard.runs.values()
        )
        return min(found, limit)

    async def count_entities(self) -> dict[int, int]:
        counts = {shard: len(_entities(here)) for shard, here in self._shards.items()}
        return {shard: counts[shard] for shard in sorted(counts) if counts[shard]}

    async def entities(self, shard: int, limit: int) -> list[Key]:
        return sorted(_entities(self._shards[shard]))[:limit]

    async def entity_row(self, shard: int, key: Key) -> EntityRow | None:
        return self._shards[shard].entities.get(key)

    async def entity_rows(self, kind: Kind, namespace: str, *, after: str, limit: int) -> list[EntityRow]:
        rows = [
            row
            for shard in self._shards.values()
            for row in shard.entities.values()
            if row.key[:2] == (kind, namespace) and row.key.id > after
        ]
        return sorted(rows, key=lambda row: row.key.id)[:limit]

    async def expired(self, shard: int, ended_before: float, limit: int) -> list[Key]:
        ended = [
            (row.ended_at, row.key.namespace, row.key.id, row.key)
            for row in self._shards[shard].runs.values()
            if row.settled and not row.purged and row.ended_at is not None and row.ended_at < ended_before
        ]
        return [key for *_, key in sorted(ended)[:limit]]

    async def setting(self, name: str, value: str) -> str:
        return self._settings.setdefault(name, value)

    async def close(self) -> None:
        """Nothing to let go of: what was kept stays for whoever is handed this object next."""

    def open_runs(self, namespace: str) -> int:
        """How many runs of the namespace have not ended."""
        return sum(
            row.key.namespace == namespace and not row.settled
            for shard in self._shards.values()
            for row in shard.runs.values()
        )

    def spaces(self) -> dict[str, int]:
        """The namespaces of all runs, and of workflows that are not deleted: how many of these each has."""
        found: dict[str, int] = {}
        for shard in self._shards.values():
            for key in shard.runs:
                found.setdefault(key.namespace, 0)
            for key, versions in shard.documents.items():
                if not versions[max(versions)].deleted:
                    found[key.namespace] = found.get(key.namespace, 0) + 1
        return found

    def epoch(self, shard: int) -> int:
        """The one that may write the shard now; 0: nobody ever claimed it."""
        return self._shards[shard].epoch if shard in self._shards else 0

    def _stored(self, here: _Shard, key: Key) -> Stored:
        snapshots = here.snapshots.get(key)
        snapshot = snapshots[-1] if snapshots else None
        return Stored(
            key=key,
            snapshot=snapshot,
            facts=tuple(_in_order(here, key, snapshot.seq if snapshot else 0)),
            run=here.runs.get(key),
            stuck=here.stuck.get(key),
        )

    def _refuse_duplicates(self, groups: Iterable[Group]) -> None:
        """Groups count in their order: what an earlier one deletes, a later one may write again."""
        fresh: dict[tuple[int, Key], set[int]] = defaultdict(set)
        cleared: dict[tuple[int, Key], float] = {}
        for group in groups:
            for fact in group.facts:
                place = (group.shard, fact.key)
                old = self._shards[group.shard].facts.get(fact.key, {})
                if fact.seq in fresh[place] or (fact.seq in old and fact.seq > cleared.get(place, -math.inf)):
                    raise StoreRefused(f"{fact.key.text()} has an event {fact.seq} already")
                fresh[place].add(fact.seq)
            for key, upto in (*group.deletions, *((key, math.inf) for key in group.purged)):
                place = (group.shard, key)
                cleared[place] = max(upto, cleared.get(place, upto))
                fresh[place] = {seq for seq in fresh[place] if seq > upto}

    def _refuse_repeated_lines(self, groups: Iterable[Group]) -> None:
        known: dict[tuple[int, Key], set[int]] = {}
        for group in groups:
            for line in group.logs:
                place = (group.shard, line.key)
                if place not in known:
                    known[place] = set(self._shards[group.shard].logs.get(line.key, ()))
                if line.n in known[place]:
                    raise StoreRefused(f"{line.key.text()} has a line {line.n} already")
                known[place].add(line.n)
            known |= {(group.shard, key): set() for key in group.purged}


def _keep(here: _Shard, group: Group) -> None:
    for fact in group.facts:
        here.facts[fact.key][fact.seq] = fact
    for row in group.runs:
        here.runs[row.key] = row
    for document in group.documents:
        here.documents.setdefault(document.key, {})[document.version] = document
    for snapshot in group.snapshots:
        others = [old for old in here.snapshots.get(snapshot.key, []) if old.seq != snapshot.seq]
        in_order = sorted([*others, snapshot], key=lambda kept: kept.seq)
        here.snapshots[snapshot.key] = in_order[-SNAPSHOTS_KEPT:]
    for line in group.logs:
        here.logs[line.key][line.n] = line
    for stuck in group.stuck:
        here.stuck[stuck.key] = stuck
    for key, upto in group.deletions:
        here.facts[key] = {seq: fact for seq, fact in here.facts[key].items() if seq > upto}
    for key in group.freed:
        here.stuck.pop(key, None)
    for key in group.purged:
        here.facts.pop(key, None)
        here.snapshots.pop(key, None)
        here.logs.pop(key, None)
        if key in here.runs:
            here.runs[key] = msgspec.structs.replace(here.runs[key], purged=True, waiting_for="")
    for notice in group.notices:
        here.notices.setdefault(notice.id, notice)
    for ident in group.delivered:
        here.notices.pop(ident, None)
    for entity in group.entities:
        here.entities[entity.key] = entity
    for key in group.entities_gone:
        here.entities.pop(key, None)


def _entities(here: _Shard) -> list[Key]:
    defined = [key for key, versions in here.documents.items() if not versions[max(versions)].deleted]
    return [row.key for row in here.runs.values() if not row.settled] + defined


def _in_order(here: _Shard, key: Key, after: int) -> list[Fact]:
    return [fact for seq, fact in sorted(here.facts.get(key, {}).items()) if seq > after]


def _lines(here: _Shard, key: Key, after: int, step: str | None) -> list[LogLine]:
    kept = sorted(here.logs.get(key, {}).items())
    return [line for n, line in kept if n > after and (step is None or line.step == step)]


def _matches(row: RunRow, query: RunQuery) -> bool:
    return (
        row.key.namespace == query.namespace
        and (query.workflow is None or row.workflow == query.workflow)
        and (query.status is None or row.status == query.status)
        and (query.started_after is None or row.started_at > query.started_after)
        and (query.started_before is None or row.started_at < query.started_before)
        and (query.label is None or row.labels.get(query.label[0]) == query.label[1])
        and (query.waiting_for is None or _waits(row, query.waiting_for))
        and (query.search is None or finds(query.search, row.key.id, row.workflow))
        and (query.after is None or (row.started_at, row.key.id) < query.after)
    )


def _sleeps(row: RunRow) -> bool:
    return row.asleep and row.waiting_for is not None


def _waits(row: RunRow, what: str) -> bool:
    return bool(row.waiting_for) if what == "any" else row.waiting_for == what


def _check(group: Group) -> None:
    """What a database could not hold is refused here too, so that the simulator meets the same answers."""
    try:
        for fact in group.facts:
            _check_key(fact.key)
            _check_text(fact.type)
            _check_body(fact.body)
            _check_numbers(fact.seq, fact.version, fact.at)
        for row in group.runs:
            words = (row.workflow, row.status, row.request_hash, row.error, *row.labels, *row.labels.values())
            _check_key(row.key)
            _check_text(*words)
            _check_numbers(row.version, row.priority, row.started_at)
        for document in group.documents:
            _check_key(document.key)
            _check_text(document.hash)
            _check_body(document.body)
            _check_numbers(document.version, document.at, document.created_at)
        for snapshot in group.snapshots:
            _check_key(snapshot.key)
            _check_body(snapshot.body)
            _check_numbers(snapshot.seq, snapshot.version)
        for line in group.logs:
            _check_key(line.key)
            _check_text(line.step, line.stream, line.text)
            _check_numbers(line.n, line.attempt, line.at)
        for stuck in group.stuck:
            _check_key(stuck.key)
            _check_text(stuck.error)
            _check_numbers(stuck.since)
        for notice in group.notices:
            _check_text(notice.id, notice.hook, notice.namespace, notice.workflow, notice.run, notice.what)
            _check_body(notice.body)
            _check_numbers(notice.at)
        for entity in group.entities:
            _check_key(entity.key)
            _check_body(entity.summary)
            _check_numbers(entity.wake_at or 0.0)
    except ValueError as error:  # UnicodeError is one
        raise StoreRefused(str(error)) from error


def _check_key(key: Key) -> None:
    text = key.text()
    _check_text(text)
    if "\0" in text:
        raise ValueError("an id with a NUL in it")


def _check_text(*texts: str) -> None:
    for text in texts:
        text.encode()  # refuses half a surrogate pair


def _check_body(body: bytes) -> None:
    body.decode()


def _check_numbers(*numbers: float) -> None:
    for number in numbers:
        if isinstance(number, int) and not -_LARGEST <= number <= _LARGEST:
            raise ValueError(f"{number} has more than 64 bits")
        if math.isnan(number):
            raise ValueError("a time that is not a number")
