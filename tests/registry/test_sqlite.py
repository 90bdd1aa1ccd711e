"""What is special about the registry in SQLite: it lies in the journal's file, and goes where that goes."""

import asyncio
import sqlite3
from contextlib import AsyncExitStack, closing
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calls import command
from tests.journal import keep, row
from tests.registry import Place, hook, line, secret, token, told
from windlass.core.names import run_key
from windlass.journal import StoreBusy, StoreRefused
from windlass.journal.sqlite import SqliteStore
from windlass.registry import AuditQuery
from windlass.registry import sqlite as adapter


async def fill(folder: Path) -> None:
    async with AsyncExitStack() as stack:
        registry, store = await Place("sqlite", folder).open(stack)
        await store.claim([0])
        await keep(store, runs=[row("r")])
        await registry.add_token(token())
        await registry.put_secret(secret())
        await registry.put_hook(hook())
        await registry.write_audit([line(detail="kept")])


async def is_filled(folder: Path) -> None:
    async with AsyncExitStack() as stack:
        registry, _ = await Place("sqlite", folder).open(stack)
        assert await registry.tokens() == [token()]
        assert await registry.secrets() == [secret(version=1)]
        assert await registry.hooks() == [hook()]
        assert await told(registry) == ["kept"]
        assert await registry.count_open_runs("default", 10) == 1


def test_a_journal_from_before_gets_the_tables_and_keeps_its_runs(tmp_path: Path) -> None:
    schema = resources.files("windlass.journal") / "sqlite_schema"
    with closing(sqlite3.connect(tmp_path / "windlass.db")) as cx:
        for version in range(1, 5):
            cx.executescript((schema / f"{version:04}.sql").read_text())
            cx.execute("INSERT INTO migrations VALUES (?, 'then')", (version,))
        cx.execute(
            """INSERT INTO runs VALUES (
              0, 'default', 'old', 1, 'nightly', 1, 'running', 1.0, NULL, 0, '{}', '', '', 0, 0, NULL, 0)"""
        )
        cx.commit()
        (tables,) = cx.execute("SELECT count(*) FROM sqlite_master WHERE name = 'tokens'").fetchone()
        assert tables == 0

    async def play() -> None:
        async with AsyncExitStack() as stack:
            registry, store = await Place("sqlite", tmp_path).open(stack)
            assert [found.key for found in await store.unsettled(0)] == [run_key("old")]
            assert await registry.count_open_runs("default", 10) == 1
            await registry.add_token(token())
            assert await registry.tokens() == [token()]

    asyncio.run(play())


def test_a_backup_has_the_registry_in_it_and_a_restore_brings_it_back(tmp_path: Path) -> None:
    data, again = tmp_path / "data", tmp_path / "again"
    for folder in (data, again):
        folder.mkdir()
    asyncio.run(fill(data))
    for told_to in (
        ("backup", tmp_path / "kept.db", "--data", data),
        ("restore", tmp_path / "kept.db", "--data", again),
    ):
        done = command(*told_to)
        assert done.returncode == 0, done.stderr
    asyncio.run(is_filled(again))


def test_the_registry_and_the_journal_have_one_writer(tmp_path: Path) -> None:
    async def play() -> None:
        async with AsyncExitStack() as stack:
            registry, store = await Place("sqlite", tmp_path).open(stack)
            await store.claim([0])
            kept = await asyncio.gather(
                *(keep(store, runs=[row(f"r{n}")]) for n in range(30)),
                *(registry.write_audit([line(), line()]) for _ in range(30)),
            )
            assert kept[:30] == [True] * 30
            assert await registry.count_open_runs("default", 99) == 30
            assert len(await registry.audit(AuditQuery())) == 60

    asyncio.run(play())


def test_a_file_that_somebody_else_holds_is_busy_and_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windlass.journal.sqlite.BUSY_TIMEOUT_MS", 1)

    async def play() -> None:
        async with AsyncExitStack() as stack:
            registry, _ = await Place("sqlite", tmp_path).open(stack)
            with closing(sqlite3.connect(tmp_path / "windlass.db", isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                with pytest.raises(StoreBusy):
                    await registry.add_token(token())
                other.execute("ROLLBACK")
            assert await registry.tokens() == []
            await registry.add_token(token())
            with pytest.raises(StoreRefused):
                await registry.add_token(token())
            assert await registry.tokens() == [token()]

    asyncio.run(play())


@pytest.mark.parametrize(
    ("sql", "values", "index"),
    [
        (
            adapter.COUNT_OPEN_RUNS,
            {"namespace": "a", "limit": 9},
            "COVERING INDEX runs_by_status (namespace=?",
        ),
        (*adapter.audit_statement(AuditQuery(namespace="a")), "INDEX audit_of_namespace (namespace=?)"),
        (*adapter.audit_statement(AuditQuery(namespace="a", before=9)), "(namespace=? AND n<?)"),
        (*adapter.audit_statement(AuditQuery(who="a", before=9)), "USING INTEGER PRIMARY KEY (rowid<?)"),
        (*adapter.audit_statement(AuditQuery(until=9.0)), "SCAN audit"),
        (adapter.PURGE_AUDIT, {"before": 1.0, "limit": 9}, "INDEX audit_by_age (at<?)"),
        (adapter.TOUCH_TOKEN, {"id": "a", "at": 1.0}, "USING PRIMARY KEY (id=?)"),
    ],
)
def test_what_is_asked_often_is_found_by_its_index(
    sql: str, values: dict[str, Any], index: str, tmp_path: Path
) -> None:
    def plan(cx: sqlite3.Connection) -> str:
        steps = cx.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall()
        return "\n".join(step[3] for step in steps)

    async def play() -> str:
        store = await SqliteStore.open(tmp_path / "windlass.db")
        try:
            return await store.read(plan)
        finally:
            await store.close()

    found = asyncio.run(play())
    assert index in found, found
    assert "TEMP B-TREE" not in found
