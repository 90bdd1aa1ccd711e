"""Rows of runs that wait for somebody where an older program wrote them: before an upgrade, and beside it."""

import asyncio
import sqlite3
from contextlib import closing
from importlib import resources
from pathlib import Path

import asyncpg
import pytest

from tests import postgres
from tests.journal import fact, keep, row, snapshot
from windlass.core.names import run_key
from windlass.journal import Group, RunQuery, Store, Unsettled
from windlass.journal import postgres_rows as rows
from windlass.journal.postgres import PostgresStore
from windlass.journal.sqlite import SqliteStore
from windlass.postgres import connect, migrate, migration

BEFORE_SQLITE, BEFORE_POSTGRES = 11, 10  # the last migrations without
# What runs that sleep have behind them, and whether they may be waiting.
RUNS = {
    "asked": (True, "StepAwaits", "{}"),
    "cut": (True, "StepQueued", '{"steps":[{"phase":"awaiting"}]}'),
    "naps": (True, "WaitStarted", '{"steps":[{"phase":"timing"}]}'),
    "awake": (False, "StepAwaits", "{}"),
}
MAYBE = ["asked", "cut"]


def of_older(ident: str) -> str:
    """The statements by which an older program had written this run."""
    sleeps, event, image = RUNS[ident]
    asleep = int(sleeps)
    columns = "shard, namespace, id, hash, workflow, version, status, started_at, priority, labels, asleep"
    return f"""
        INSERT INTO runs ({columns}, request_hash, error, settled, purged)
        VALUES (0, 'default', '{ident}', 1, 'w', 1, 'running', 1, 0, '{{}}', '{asleep}', '', '', '0', '0');
        INSERT INTO events VALUES (0, 'run/default/{ident}', 2, 1, 1, '{event}', 1, '{{}}');
        INSERT INTO snapshots VALUES (0, 'run/default/{ident}', 1, 1, 1, '{image}');"""


async def check(store: Store) -> None:
    for ident in RUNS:
        found = await store.run(0, run_key(ident))
        assert found is not None
        assert found.waiting_for == (None if ident in MAYBE else "")
    # They are read when their shard is opened, and in no list before.
    awake = [found.key.id for found in await store.unsettled(0) if not found.asleep]
    assert awake == ["asked", "awake", "cut"]
    assert await store.runs(RunQuery(waiting_for="any")) == []


def test_sleepers_that_may_be_waiting_are_to_be_read_after_an_upgrade_of_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    scripts = sorted(
        (resources.files("windlass.journal") / "sqlite_schema").iterdir(), key=lambda entry: entry.name
    )
    with closing(sqlite3.connect(path)) as cx:
        for number, script in enumerate(scripts[:BEFORE_SQLITE], start=1):
            cx.executescript(script.read_text())
            cx.execute("INSERT INTO migrations VALUES (?, '')", (number,))
        cx.executescript("".join(map(of_older, RUNS)))
        cx.commit()

    async def story() -> None:
        store = await SqliteStore.open(path)
        try:
            await check(store)
        finally:
            await store.close()

    asyncio.run(story())


def test_sleepers_that_may_be_waiting_are_to_be_read_after_an_upgrade_of_postgres(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = migration.migrations()

    async def story() -> None:
        place = await postgres.dropped("waiting_before")
        monkeypatch.setattr(migration, "migrations", lambda: known[:BEFORE_POSTGRES])
        await migrate(place)
        cx = await connect(place, application="windlass test")
        await cx.execute("".join(map(of_older, RUNS)))
        cx.terminate()
        monkeypatch.setattr(migration, "migrations", lambda: known)
        store = await PostgresStore.open(place)
        try:
            await check(store)
        finally:
            await store.close()
            await postgres.dropped(place.schema)

    asyncio.run(story())


def test_an_older_node_beside_goes_on_writing_rows_and_leaves_nothing_untrue() -> None:
    async def story() -> None:
        place = await postgres.emptied()
        store = await PostgresStore.open(place)
        older = await connect(place, application="windlass test")
        try:
            await store.claim([0])
            # Given runs that wait, by this program's rows
            told = [row(ident, waiting_for="approval") for ident in ("over", "goes-on", "sleeps")]
            await keep(store, runs=told, facts=[fact(run_key("sleeps"), 1)])
            # When an older program, which knows nothing of it, begins and changes runs
            await keep_as_before(older, runs=[row("new"), row("over", status="succeeded", settled=True)])
            await keep_as_before(older, runs=[row("goes-on", status="paused"), row("sleeps", asleep=True)])
            # Then no list says of those that they wait,
            assert await store.runs(RunQuery(waiting_for="any")) == []
            # and whoever opens the shard reads what may have to be told anew.
            ours = row("sleeps", asleep=True, waiting_for=None)
            assert await store.run(0, ours.key) == ours
            assert Unsettled(ours.key, asleep=False, wake_at=None) in await store.unsettled(0)
        finally:
            older.terminate()
            await store.close()

    asyncio.run(story())


def test_rows_that_say_nothing_of_waiting_are_written_by_the_call_of_before() -> None:
    plain = Group(shard=0, epoch=1, runs=[row("a")], snapshots=[snapshot(run_key("a"), 1)])
    assert rows.append([plain])[0] == rows.KEEP
    waiting = Group(shard=0, epoch=1, runs=[row("a", waiting_for="signal")])
    assert rows.append([plain, waiting])[0] == rows.KEEP_WITH_WAITING


async def keep_as_before(cx: asyncpg.Connection, **given: object) -> None:
    values = rows.keep_values([Group(shard=0, epoch=1, **given)])  # type: ignore[arg-type]  # of a group
    assert await cx.fetchval(rows.KEEP, *values) == [0]
