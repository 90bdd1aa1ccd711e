"""Reads the journal after the fact, by plain SQL, and believes nobody.

What is kept must be whole (no gap, nothing after the end), each step must have ended once and never begun
again, rows must say what the events say, everything that was acknowledged must have ended, and every event
must have been written by the one process that owned its shard under that epoch.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import asyncpg

from tests.cluster.work import Mark, read_marks
from windlass.core import sharding
from windlass.core.definition import Definition
from windlass.core.names import Key
from windlass.engine.definitions import Definitions
from windlass.engine.live import fold_run, row
from windlass.journal import RunRow
from windlass.journal.postgres import PostgresStore
from windlass.postgres import Place, connect

FOLDED_AT_ONCE = 500
SHOWN_MAX = 25
# Times come from the clock of this machine, but not in the same instant.
SLACK_S = 0.005
BEGINS = ("StepQueued", "StepGranted", "WaitStarted")
ENDS = ("StepSucceeded", "StepFailed")
SETTLES = ("PermitReturned", "ChildDropped", "Acknowledged")  # what an ended run still owes others

Step = tuple[str, str]  # run, step


class Violation(AssertionError):
    """With all of them."""


@dataclass
class Account:
    """What was looked at, so that a check of nothing does not pass for a proof."""

    runs: int = 0
    events: int = 0
    ends: int = 0  # of steps
    lost: int = 0  # attempts
    claims: int = 0  # changes of a shard's epoch
    writers: set[str] = field(default_factory=set)
    marks: int = 0
    repeated: int = 0  # attempts that left more than one mark: cut off before their grant was kept
    overlapping: int = 0  # of these, while the first one still ran: on a node that was frozen or cut off


async def check(
    place: Place, *, shards: int, acknowledged: Collection[str], marks: Path | None = None, asleep: str = ""
) -> Account:
    """Raises Violation. Runs whose id begins with `asleep` are not expected to end, nor folded."""
    account = Account()
    found: list[str] = []
    cx = await connect(place, application="windlass checker", statement_timeout_s=120.0)
    try:
        found += [fault async for fault in _acknowledged(cx, acknowledged, asleep)]
        found += [fault async for fault in _history(cx, shards, asleep, account)]
        found += [fault async for fault in _owners(cx, account)]
        found += [fault async for fault in _odds(cx)]
        if marks is not None:
            found += [fault async for fault in _marks(cx, list(read_marks(marks)), account)]
        found += [fault async for fault in _folds(cx, place, shards, asleep)]
    finally:
        cx.terminate()
    if found:
        rest = f"\n… and {len(found) - SHOWN_MAX} more" if len(found) > SHOWN_MAX else ""
        raise Violation(f"{len(found)} violations\n" + "\n".join(found[:SHOWN_MAX]) + rest)
    return account


Faults = Any  # AsyncIterator[str]; spelled out it would hide what the functions do


async def _acknowledged(cx: asyncpg.Connection, acknowledged: Collection[str], asleep: str) -> Faults:
    """Every acknowledged start is there and has ended; and so has everything else that was started."""
    rows = dict(
        await cx.fetch("SELECT id, status FROM runs WHERE NOT ($1 <> '' AND starts_with(id, $1))", asleep)
    )
    for run in sorted(set(acknowledged) - rows.keys()):
        yield f"{run} was acknowledged and is not there"
    ended = ("succeeded", "partial_success", "failed", "cancelled")
    for run, status in rows.items():
        if status not in ended:
            yield f"{run} never ended: it is {status}"


async def _history(cx: asyncpg.Connection, shards: int, asleep: str, account: Account) -> Faults:
    for shard in range(shards):
        snapshots: dict[str, list[int]] = defaultdict(list)
        for entity, seq in await cx.fetch("SELECT entity, seq FROM snapshots WHERE shard = $1", shard):
            snapshots[entity].append(seq)
        rows = await cx.fetch(
            "SELECT entity, seq, at, type, body FROM events WHERE shard = $1 AND NOT ($2 <> '' AND "
            "starts_with(entity, 'run/default/' || $2)) ORDER BY entity, seq",
            shard,
            asleep,
        )
        for entity, events in groupby(rows, key=lambda row: str(row["entity"])):
            kept = list(events)
            account.events += len(kept)
            for fault in _whole(entity, kept, snapshots[entity]):
                yield fault
            if entity.startswith("run/"):
                account.runs += 1
                for fault in _sound(entity, kept, account):
                    yield fault


def _whole(entity: str, events: list[Any], snapshots: list[int]) -> Iterator[str]:
    """1, 2, 3 …; what is missing at the beginning is in a snapshot. Time does not go back."""
    first = events[0]["seq"]
    if first != 1 and first - 1 not in snapshots:
        yield f"{entity} begins with {first}, and has snapshots of {snapshots}"
    for before, after in pairwise(events):
        if after["seq"] != before["seq"] + 1:
            yield f"{entity} jumps from {before['seq']} to {after['seq']}"
        if after["at"] < before["at"]:
            yield f"{entity} goes back in time from {before['seq']} to {after['seq']}"


def _sound(entity: str, events: list[Any], account: Account) -> Iterator[str]:
    """Each step ends once and does not begin again; attempts are numbered; nothing follows the end."""
    ended: set[str] = set()
    attempts: dict[str, int] = defaultdict(int)
    over = False
    for event in events:
        kind, where = event["type"], f"{entity} at {event['seq']}"
        body = json.loads(event["body"])
        step = body.get("step", "")
        if over and kind not in SETTLES:
            yield f"{where}: {kind} after the end"
        if (kind == "RunStarted") != (event["seq"] == 1):
            yield f"{where}: {kind}"
        if kind in BEGINS and step in ended:
            yield f"{where}: {kind} of {step}, which has ended"
        if kind in ENDS:
            account.ends += 1
            if step in ended:
                yield f"{where}: {kind} of {step}, which has ended before"
            ended.add(step)
        if kind == "StepQueued":
            if body["attempt"] < attempts[step]:
                yield f"{where}: attempt {body['attempt']} of {step} after {attempts[step]}"
            attempts[step] = body["attempt"]
        elif kind in ("StepGranted", "AttemptLost", "AttemptFailed", "StepSucceeded"):
            if attempts[step] and body.get("attempt", attempts[step]) != attempts[step]:
                yield f"{where}: {kind} of attempt {body['attempt']} of {step}, while {attempts[step]} is on"
            account.lost += kind == "AttemptLost"
        over = over or kind == "RunEnded"


async def _owners(cx: asyncpg.Connection, account: Account) -> Faults:
    """Epochs grow, and under each of them only the process that owned the shard has written."""
    epochs: dict[int, int] = {}
    names: dict[tuple[int, int], str | None] = {}
    for claim in await cx.fetch("SELECT * FROM audit_shards ORDER BY n"):
        account.claims += 1
        shard, epoch = claim["shard"], claim["epoch"]
        if epoch != claim["old_epoch"] + 1 or epoch <= epochs.get(shard, 0):
            yield f"shard {shard} goes from epoch {claim['old_epoch']} to {epoch}"
        epochs[shard] = epoch
        names[shard, epoch] = claim["owner_name"]
    writers: dict[tuple[int, int], str] = {}
    newest: dict[int, int] = defaultdict(int)
    for shard, epoch, writer in await cx.fetch("SELECT shard, epoch, writer FROM audit_events ORDER BY n"):
        if epoch is None or not writer:
            yield f"shard {shard} was written by {writer!r} under epoch {epoch}"
            continue
        account.writers.add(writer)
        if epoch < newest[shard]:
            yield f"shard {shard} was written under epoch {epoch} after {newest[shard]}"
        newest[shard] = epoch
        if writers.setdefault((shard, epoch), writer) != writer:
            yield f"shard {shard} was written by {writers[shard, epoch]} and {writer} under epoch {epoch}"
        owner = names.get((shard, epoch))
        if owner != writer.rpartition("-")[0]:
            yield f"shard {shard} was written by {writer} under epoch {epoch}, which was {owner}'s"
    missing = await cx.fetchval(
        "SELECT count(*) FROM events e WHERE NOT EXISTS (SELECT FROM audit_events a "
        "WHERE a.shard = e.shard AND a.entity = e.entity AND a.seq = e.seq) "
        "AND EXISTS (SELECT FROM audit_events a WHERE a.shard = e.shard AND a.entity = e.entity)"
    )
    if missing:
        yield f"{missing} events were never seen by the audit"


async def _odds(cx: asyncpg.Connection) -> Faults:
    for entity, error in await cx.fetch("SELECT entity, error FROM stuck"):
        yield f"{entity} is stuck: {error}"
    gaps = "SELECT id, count(*), max(n) FROM logs GROUP BY shard, namespace, id HAVING max(n) <> count(*)"
    for run, lines, last in await cx.fetch(gaps):
        yield f"{run} has {lines} lines of log, and the last one is number {last}"


async def _marks(cx: asyncpg.Connection, marks: list[Mark], account: Account) -> Faults:
    """No step began after its end was kept. Compared with when PostgreSQL was given the end."""
    ends: dict[Step, float] = {}
    rows = await cx.fetch(
        "SELECT a.entity, a.at, e.body FROM audit_events a JOIN events e USING (shard, entity, seq) "
        "WHERE a.type = ANY ($1)",
        list(ENDS),
    )
    for entity, at, body in rows:
        ends[Key.parse(entity).id, json.loads(body)["step"]] = at
    account.marks = len(marks)
    for mark in marks:
        end = ends.get((mark.run, mark.step))
        if mark.what == "begin" and end is not None and mark.at > end + SLACK_S:
            late_s = mark.at - end
            yield f"{mark.run}/{mark.step} began as attempt {mark.attempt} {late_s:.3f} s after its end"
    by_attempt = sorted(marks, key=lambda mark: (mark.run, mark.step, mark.attempt, mark.at))
    for _, of_attempt in groupby(by_attempt, key=lambda mark: mark[:3]):
        spans = list(_spans(of_attempt))
        account.repeated += len(spans) > 1
        account.overlapping += any(
            before[1] is not None and after[0] < before[1] for before, after in pairwise(spans)
        )


def _spans(marks: Iterable[Mark]) -> Iterator[tuple[float, float | None]]:
    """When each process that made this attempt began and ended; None: it never came to its end."""
    began: dict[int, float] = {}
    ended: dict[int, float] = {}
    for mark in marks:
        (began if mark.what == "begin" else ended)[mark.pid] = mark.at
    for pid, at in sorted(began.items(), key=lambda item: item[1]):
        yield at, ended.get(pid)


async def _folds(cx: asyncpg.Connection, place: Place, shards: int, asleep: str) -> Faults:
    """What rows say is what the events say."""
    store = await PostgresStore.open(place, readers=1)
    from_store = Definitions(store, lambda ident: sharding.of(ident, shards))
    known: dict[tuple[str, int], Definition] = {}
    try:
        for shard in range(shards):
            keys = [
                Key("run", namespace, run)
                for namespace, run in await cx.fetch(
                    "SELECT namespace, id FROM runs WHERE shard = $1 AND NOT purged "
                    "AND NOT ($2 <> '' AND starts_with(id, $2))",
                    shard,
                    asleep,
                )
            ]
            for first in range(0, len(keys), FOLDED_AT_ONCE):
                for stored in await store.load(shard, keys[first : first + FOLDED_AT_ONCE]):
                    assert stored.run is not None
                    named = (stored.run.workflow, stored.run.version)
                    if named not in known:
                        known[named] = await from_store.get(stored.key.namespace, *named)
                    folded = row(fold_run(stored, known[named]), asleep=stored.run.asleep)
                    if _shown(folded) != _shown(stored.run):
                        yield f"{stored.key.id} is {_shown(folded)}, and its row says {_shown(stored.run)}"
    finally:
        await store.close()


def _shown(row: RunRow) -> tuple[object, ...]:
    return (
        row.workflow, row.version, row.status, row.started_at, row.ended_at, row.settled, row.labels,
        row.waiting_for,
    )  # fmt: skip
