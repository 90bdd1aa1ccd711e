"""Runs that sleep, by the hundred thousand: put straight into the journal, as if started some time ago."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from tests.cluster.asking import API, post
from tests.cluster.machines import Cluster, Rows
from tests.waiting import wait_until
from windlass.core import sharding
from windlass.postgres import connect

PREFIX = "asleep-"
FIRST = f"{PREFIX}first"
FAR_OFF_S = 30 * 86_400
DOCUMENT = {"id": "sleeper", "steps": {"wait": {"kind": "wait", "with": {"for": f"{FAR_OFF_S}s"}}}}
EVENTS = ("shard", "entity", "seq", "hash", "at", "type", "version", "body")
RUNS = (
    *("shard", "namespace", "id", "hash", "workflow", "version", "status", "started_at", "ended_at"),
    *("priority", "labels", "request_hash", "error", "settled", "asleep", "wake_at", "purged"),
)
AT_ONCE = 20_000
SEED_S = 120.0


def seed(cluster: Cluster, count: int) -> None:
    """One is started as any other; the rest are like it, and wait for a day that is far off.

    Nodes that run know nothing of these before they open the shards anew.
    """
    cluster.apply(DOCUMENT)
    machine = next(iter(cluster))
    assert post(machine.url, f"{API}/workflows/sleeper/execute", {"runId": FIRST}).ok

    def events() -> Rows:
        asked = "SELECT seq, type, version, hash, body FROM events WHERE entity = $1 ORDER BY seq"
        return cluster.rows(asked, f"run/default/{FIRST}")

    wait_until(lambda: len(events()) == 2)
    (row,) = cluster.rows("SELECT * FROM runs WHERE id = $1", FIRST)
    assert row["hash"] == sharding.hash32(FIRST)
    cluster.stage.do(_copy(cluster, count, events(), row), SEED_S)


async def _copy(cluster: Cluster, count: int, events: Rows, row: Any) -> None:
    cx = await connect(cluster.place, application="windlass test", statement_timeout_s=SEED_S)
    schema, shards = cluster.place.schema, cluster.shards
    try:
        # Nobody wrote these: the audit has nothing to say about them.
        await cx.execute("ALTER TABLE events DISABLE TRIGGER audit_event")
        for begin in range(0, count, AT_ONCE):
            names = [f"{PREFIX}{n:06}" for n in range(begin, min(begin + AT_ONCE, count))]
            for table, columns, records in (
                ("events", EVENTS, _events(names, events, shards)),
                ("runs", RUNS, _rows(names, row, shards)),
            ):
                await cx.copy_records_to_table(table, columns=columns, records=records, schema_name=schema)
        await cx.execute("ALTER TABLE events ENABLE TRIGGER audit_event")
        await cx.execute("ANALYZE events, runs")
    finally:
        cx.terminate()


def _events(names: list[str], like: Rows, shards: int) -> Iterator[tuple[Any, ...]]:
    now = time.time()
    for name in names:
        hashed = sharding.hash32(name)
        for event in like:
            body = {**json.loads(event["body"]), "at": now}
            if "due" in body:
                body["due"] = now + FAR_OFF_S
            where = (hashed % shards, f"run/default/{name}", event["seq"], hashed, now)
            yield (*where, event["type"], event["version"], json.dumps(body))


def _rows(names: list[str], like: Any, shards: int) -> Iterator[tuple[Any, ...]]:
    now = time.time()
    for name in names:
        hashed = sharding.hash32(name)
        own = {"id": name, "hash": hashed, "shard": hashed % shards, "started_at": now}
        own |= {"asleep": True, "wake_at": now + FAR_OFF_S}
        yield tuple(own.get(column, like[column]) for column in RUNS)


def faults(cluster: Cluster, count: int) -> list[str]:
    """What is wrong with them afterwards: they must all be there, untouched."""
    there = cluster.value("SELECT count(*) FROM runs WHERE starts_with(id, $1) AND NOT settled", PREFIX)
    found = [] if there == count + 1 else [f"{there} of {count + 1} sleepers are there"]
    asked = (
        "SELECT entity, count(*) FROM events WHERE starts_with(entity, $1) GROUP BY 1 HAVING count(*) <> 2"
    )
    rows = cluster.rows(asked, f"run/default/{PREFIX}")
    return found + [f"{entity} has {events} events" for entity, events in rows[:10]]
