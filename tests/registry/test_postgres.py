"""What is special about the registry in PostgreSQL: several nodes at once, and a server that goes away."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from tests import postgres
from tests.journal import keep, row
from tests.journal.test_postgres import connection, own_server, until_there_is
from tests.registry import line, on_postgres, secret, token, told, worker
from windlass.journal import StoreBusy, StoreUnknown
from windlass.journal.postgres import PostgresStore
from windlass.postgres import Place, migrate, migration
from windlass.postgres.readers import FOR_READING
from windlass.registry import AuditQuery
from windlass.registry import postgres_rows as rows
from windlass.registry.postgres import PostgresRegistry

LOCK = "BEGIN; SELECT FROM tokens FOR UPDATE"
WAITS = (
    "SELECT FROM pg_stat_activity WHERE application_name = 'windlass registry' AND wait_event_type = 'Lock'"
)


def with_two_nodes(
    story: Callable[[PostgresRegistry, PostgresRegistry], Awaitable[None]],
) -> Callable[[], None]:
    async def play() -> None:
        async with AsyncExitStack() as stack:
            here, there = await on_postgres(stack, 2)
            await story(here, there)

    def test() -> None:
        asyncio.run(play())

    test.__name__ = story.__name__
    return test


@with_two_nodes
async def test_what_one_node_keeps_the_other_one_sees(
    here: PostgresRegistry, there: PostgresRegistry
) -> None:
    await here.add_token(token())
    assert await there.revoke_token("t1", 2.0)
    assert await here.token("t1") == token(revoked_at=2.0)
    assert not await here.revoke_token("t1", 3.0)


@with_two_nodes
async def test_two_nodes_that_change_one_secret_get_different_versions(
    here: PostgresRegistry, there: PostgresRegistry
) -> None:
    nodes = [here, there] * 20
    versions = await asyncio.gather(*(node.put_secret(secret()) for node in nodes))
    assert sorted(versions) == list(range(1, 41))


@with_two_nodes
async def test_of_two_nodes_that_revoke_a_token_one_has_done_it(
    here: PostgresRegistry, there: PostgresRegistry
) -> None:
    for n in range(20):
        await here.add_token(token(f"t{n}"))
        done = await asyncio.gather(here.revoke_token(f"t{n}", 1.0), there.revoke_token(f"t{n}", 2.0))
        assert sorted(done) == [False, True]


@with_two_nodes
async def test_two_nodes_note_the_last_use_of_the_same_tokens(
    here: PostgresRegistry, there: PostgresRegistry
) -> None:
    ids = [f"t{n}" for n in range(60)]
    for id in ids:
        await here.add_token(token(id))
    for n in range(1, 20):
        given = dict.fromkeys(ids, float(n)), dict.fromkeys(reversed(ids), n + 0.5)
        await asyncio.gather(here.touch_tokens(given[0]), there.touch_tokens(given[1]))
    assert {found.used_at for found in await here.tokens()} == {19.5}


@with_two_nodes
async def test_two_nodes_put_and_drop_the_same_workers(
    here: PostgresRegistry, there: PostgresRegistry
) -> None:
    sessions = [f"s{n}" for n in range(60)]
    for n in range(20):
        given = [worker(session, float(n)) for session in sessions]
        await asyncio.gather(
            here.put_workers(given), there.put_workers(given[::-1]), there.drop_workers(sessions[::-1])
        )
        await asyncio.gather(here.put_workers(given), there.drop_workers(sessions[::-1]))
    await asyncio.gather(here.put_workers(given), there.put_workers(given[::-1]))
    assert sorted(row.session for row in await here.workers()) == sorted(sessions)


@with_two_nodes
async def test_two_nodes_write_one_log_and_purge_each_line_once(
    here: PostgresRegistry, there: PostgresRegistry
) -> None:
    nodes = [here, there] * 10
    await asyncio.gather(
        *(node.write_audit([line(at=float(n), detail=f"{n}")] * 10) for n, node in enumerate(nodes))
    )
    found = await here.audit(AuditQuery(limit=1000))
    assert len(found) == len({row.n for row in found}) == 200
    assert await there.audit(AuditQuery(limit=1000)) == found
    purged = await asyncio.gather(*(node.purge_audit(10.0, 7) for node in nodes))
    rest = await here.purge_audit(10.0, 1000)
    assert sum(purged) + rest == 100
    assert set(await told(here, limit=1000)) == {f"{n}" for n in range(10, 20)}


@with_two_nodes
async def test_what_another_node_is_deleting_is_left_to_it(
    here: PostgresRegistry, there: PostgresRegistry
) -> None:
    await here.write_audit([line(at=float(n)) for n in range(5)])
    async with connection(Place(postgres.url(), postgres.SCHEMA)) as other:
        await other.execute("BEGIN; DELETE FROM audit WHERE at < 2.0")
        assert await there.purge_audit(9.0, 10) == 3
        await other.execute("COMMIT")
    assert await here.audit(AuditQuery()) == []


def test_the_journal_does_not_wait_for_the_registry() -> None:
    async def play() -> None:
        place = await postgres.emptied()
        async with AsyncExitStack() as stack:
            store = await PostgresStore.open(place)
            stack.push_async_callback(store.close)
            registry = PostgresRegistry(store)
            stack.push_async_callback(registry.close)
            await store.claim([0])
            await registry.add_token(token())
            async with connection(place) as other, connection(place) as witness:
                await other.execute(LOCK)
                revoked = asyncio.create_task(registry.revoke_token("t1", 1.0))
                await until_there_is(witness, WAITS)
                assert await keep(store, runs=[row("r")])
                assert await registry.count_open_runs("default", 10) == 1
                assert not revoked.done()
                await other.execute("ROLLBACK")
                assert await revoked

    asyncio.run(play())


def test_a_caller_that_goes_away_leaves_the_registry_usable() -> None:
    async def play() -> None:
        async with AsyncExitStack() as stack:
            (registry,) = await on_postgres(stack, 1)
            await registry.add_token(token())
            place = Place(postgres.url(), postgres.SCHEMA)
            async with connection(place) as other, connection(place) as witness:
                await other.execute(LOCK)
                revoked = asyncio.create_task(registry.revoke_token("t1", 1.0))
                await until_there_is(witness, WAITS)
                revoked.cancel()
                await asyncio.gather(revoked, return_exceptions=True)
                await other.execute("ROLLBACK")
            assert await registry.put_secret(secret()) == 1
            assert await registry.token("t1") is not None

    asyncio.run(play())


def test_a_server_that_goes_away_is_busy_or_unknown_and_is_found_again() -> None:
    with own_server() as server:

        async def play() -> None:
            place = Place(server.url(), "registry")
            async with AsyncExitStack() as stack:
                store = await PostgresStore.open(place)
                stack.push_async_callback(store.close)
                registry = PostgresRegistry(store)
                stack.push_async_callback(registry.close)
                await registry.add_token(token())
                async with connection(place) as other, connection(place) as witness:
                    await other.execute(LOCK)
                    revoked = asyncio.create_task(registry.revoke_token("t1", 1.0))
                    await until_there_is(witness, WAITS)
                    await asyncio.to_thread(server.stop, "immediate")
                    with pytest.raises(StoreUnknown):
                        await revoked
                with pytest.raises(StoreBusy):  # it cannot even be asked
                    await registry.revoke_token("t1", 1.0)
                with pytest.raises((StoreBusy, StoreUnknown)):
                    await registry.token("t1")
                await asyncio.to_thread(server.start)
                assert await registry.token("t1") == token()
                assert await registry.revoke_token("t1", 1.0)
                await asyncio.to_thread(server.restart)
                assert await registry.tokens() == [token(revoked_at=1.0)]
                await registry.write_audit([line()])

        asyncio.run(play())


def test_a_registry_that_was_closed_writes_nothing() -> None:
    async def play() -> None:
        async with AsyncExitStack() as stack:
            here, there = await on_postgres(stack, 2)
            await here.add_token(token())
            await here.close()
            await here.close()
            with pytest.raises(StoreBusy):
                await here.revoke_token("t1", 1.0)
            assert await there.tokens() == [token()]

    asyncio.run(play())


def test_when_another_server_took_over_the_registry_goes_there_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with AsyncExitStack() as stack:
            (registry,) = await on_postgres(stack, 1)
            await registry.add_token(token())
            before = registry._writer
            await registry.revoke_token("t1", 1.0)
            assert registry._writer is before
            monkeypatch.setattr(PostgresStore, "database", property(lambda self: "another"))
            assert await registry.put_secret(secret()) == 1
            assert registry._writer is not before
            assert before is not None
            assert before.is_closed()

    asyncio.run(play())


def test_a_schema_of_the_version_before_gets_the_tables_and_keeps_its_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = migration.migrations()

    async def play() -> None:
        place = await postgres.dropped("windlass_upgraded")
        monkeypatch.setattr(migration, "migrations", lambda: known[:3])
        async with AsyncExitStack() as stack:
            old = await PostgresStore.open(place)
            stack.push_async_callback(old.close)
            await old.claim([0])
            assert await keep(old, runs=[row("r")])
            monkeypatch.undo()
            new = await PostgresStore.open(place)
            stack.push_async_callback(new.close)
            registry = PostgresRegistry(new)
            stack.push_async_callback(registry.close)
            assert await registry.count_open_runs("default", 10) == 1
            await registry.add_token(token())
            # The node that was there goes on, and so does one of its version that starts now.
            assert await keep(old, runs=[row("s")])
            monkeypatch.setattr(migration, "migrations", lambda: known[:3])
            await migrate(place)
            assert await registry.count_open_runs("default", 10) == 2
        await postgres.dropped("windlass_upgraded")

    asyncio.run(play())


@pytest.mark.parametrize(
    ("sql", "values", "index"),
    [
        (rows.COUNT_OPEN_RUNS, ("default", 10), "Index Only Scan using runs_unsettled"),
        (*rows.audit_statement(AuditQuery(namespace="a")), "using audit_of_namespace"),
        (*rows.audit_statement(AuditQuery(who="a")), "using audit_pkey"),
        (*rows.audit_statement(AuditQuery()), "using audit_pkey"),
        (rows.PURGE_AUDIT, (1.0, 10), "using audit_by_age"),
        (rows.TOUCH_TOKENS, (["a"], [1.0]), "using tokens_pkey"),
        (rows.TOKEN, ("a",), "using tokens_pkey"),
        (rows.SETTING, ("a",), "using cluster_settings_pkey"),
        (rows.DROP_WORKERS, (["a"], ""), "using workers_pkey"),
    ],
)
def test_what_is_asked_often_is_found_by_its_index(sql: str, values: tuple[object, ...], index: str) -> None:
    async def play() -> None:
        async with connection(await postgres.emptied()) as cx:
            await cx.execute(FOR_READING)
            plan = "\n".join(found for (found,) in await cx.fetch(f"EXPLAIN {sql}", *values))
            assert index in plan, plan
            assert "Seq Scan" not in plan

    asyncio.run(play())
