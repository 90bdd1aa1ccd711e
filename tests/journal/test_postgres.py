"""What is special about the journal in PostgreSQL: two writers at once, and a server that goes away."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import asyncpg
import pytest

from tests import postgres
from tests.journal import entity, fact, facts, keep, notice, row
from windlass import postgres as plumbing
from windlass.core.names import run_key, workflow_key
from windlass.journal import Group, Store, StoreBusy, StoreUnknown
from windlass.journal import postgres as adapter
from windlass.journal import postgres_rows as rows
from windlass.journal.postgres import PostgresStore
from windlass.own_postgres import OwnPostgres
from windlass.postgres import Place, connect, identity, migration

A, B = run_key("a"), run_key("b")
ROUNDS = 40


@asynccontextmanager
async def journal(place: Place) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(place)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def connection(place: Place) -> AsyncIterator[asyncpg.Connection]:
    cx = await connect(place, application="windlass test")
    try:
        yield cx
    finally:
        cx.terminate()


@contextmanager
def own_server(**more: Any) -> Iterator[OwnPostgres]:
    """For tests that take it down, or want it different."""
    postgres.url()  # skips the test where there is none
    folder = postgres.folder()
    try:
        with OwnPostgres(folder, fsync=False, **more) as server:
            yield server
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def server() -> Iterator[OwnPostgres]:
    with own_server() as started:
        yield started


def on_postgres(story: Callable[[Place], Awaitable[None]]) -> Callable[[], None]:
    async def play() -> None:
        await story(await postgres.emptied())

    def test() -> None:
        asyncio.run(play())

    test.__name__ = story.__name__
    return test


async def until_there_is(cx: asyncpg.Connection, rows: str) -> None:
    """Return when the database has such rows; fail when it has none for 10 s."""
    await cx.execute(
        f"""DO $$ BEGIN
          WHILE NOT EXISTS ({rows}) LOOP PERFORM pg_sleep(0.005), pg_stat_clear_snapshot(); END LOOP;
        END $$"""
    )


async def waiting_for_a_lock(cx: asyncpg.Connection) -> None:
    await until_there_is(cx, "SELECT FROM pg_locks WHERE NOT granted")


RAISE = "UPDATE shards SET epoch = epoch + 1 WHERE shard = 0"


@on_postgres
async def test_a_claim_waits_for_an_append_in_flight(place: Place) -> None:
    async with journal(place) as store, connection(place) as other, connection(place) as witness:
        await store.claim([0])
        await other.execute("BEGIN; SELECT FROM shards WHERE shard = 0 FOR SHARE")
        claim = asyncio.create_task(store.claim([0]))
        await waiting_for_a_lock(witness)
        assert not claim.done()
        await other.execute("COMMIT")
        assert await claim == {0: 2}


@on_postgres
async def test_an_append_holds_the_fence_until_it_is_committed(place: Place) -> None:
    """The real statement, kept open by hand: what it locked stays locked, and nobody can claim meanwhile."""
    async with journal(place) as store, connection(place) as other, connection(place) as witness:
        await store.claim([0])
        group = Group(shard=0, epoch=1, facts=facts(A, [1]))
        await other.execute("BEGIN")
        assert await other.fetchval(rows.KEEP, *rows.keep_values([group])) == [0]
        claim = asyncio.create_task(store.claim([0]))
        await waiting_for_a_lock(witness)
        await other.execute("COMMIT")
        assert await claim == {0: 2}
        assert await store.facts(0, A, after=0, limit=9) == facts(A, [1])


@pytest.mark.accepts("S2.24")
@on_postgres
async def test_an_append_that_waited_for_a_claim_is_fenced(place: Place) -> None:
    async with journal(place) as store, connection(place) as other, connection(place) as witness:
        await store.claim([0, 1])
        await other.execute(f"BEGIN; {RAISE}")
        groups = [
            Group(shard=1, epoch=1, facts=facts(B, [1])),
            Group(shard=0, epoch=1, facts=facts(A, [1]), runs=[row("a", labels={"k": "v"})]),
        ]
        append = asyncio.create_task(store.commit(groups))
        await waiting_for_a_lock(witness)
        await other.execute("COMMIT")
        assert await append == [True, False]
        (stored,) = await store.load(0, [A])
        assert (stored.facts, stored.run) == ((), None)


@on_postgres
async def test_an_append_that_waited_for_a_claim_that_failed_is_kept(place: Place) -> None:
    async with journal(place) as store, connection(place) as other, connection(place) as witness:
        await store.claim([0])
        await other.execute(f"BEGIN; {RAISE}")
        append = asyncio.create_task(keep(store, facts=facts(A, [1])))
        await waiting_for_a_lock(witness)
        await other.execute("ROLLBACK")
        assert await append


@pytest.mark.accepts("S2.24")
@on_postgres
async def test_of_two_concurrent_writers_exactly_one_commits(place: Place) -> None:
    async with journal(place) as old, journal(place) as new:
        await old.claim([0])
        await new.claim([0])
        for n in range(1, ROUNDS + 1):
            kept = tuple(
                await asyncio.gather(
                    keep(old, epoch=1, facts=[fact(A, n, type="Old")]),
                    keep(new, epoch=2, facts=[fact(A, n, type="New")]),
                )
            )
            assert kept == (False, True)
        assert {kept.type for kept in await new.facts(0, A, after=0, limit=1_000)} == {"New"}


@pytest.mark.accepts("S2.24")
@on_postgres
async def test_what_a_new_owner_reads_is_all_that_the_former_one_ever_kept(place: Place) -> None:
    """The former owner appends without pause while another claims and reads: no write slips in behind it."""
    async with journal(place) as one, journal(place) as two:
        await one.claim([0])
        old, new, last = one, two, 0
        for epoch in range(1, ROUNDS):
            acknowledged = asyncio.create_task(append_until_fenced(old, epoch, last))
            await asyncio.sleep(0.001 * (epoch % 7))
            assert await new.claim([0]) == {0: epoch + 1}
            seen = len(await new.facts(0, A, after=0, limit=100_000))
            assert await acknowledged == seen
            old, new, last = new, old, seen


async def append_until_fenced(store: Store, epoch: int, last: int) -> int:
    """The number of the last fact that was kept."""
    while await keep(store, epoch=epoch, facts=facts(A, [last + 1])):
        last += 1
    return last


COMMIT_AND_SAY_SO = """
import asyncio, sys
from tests.journal import facts, keep
from windlass.core.names import run_key
from windlass.journal.postgres import PostgresStore
from windlass.postgres import Place

async def main() -> None:
    store = await PostgresStore.open(Place(sys.argv[1], sys.argv[2]))
    await store.setting("warm", "up")
    print("ready", flush=True)
    sys.stdin.readline()
    await keep(store, facts=facts(run_key("a"), [1]))
    print("kept", flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize("fate", [signal.SIGKILL, signal.SIGSTOP])
def test_the_locks_of_an_append_end_whatever_becomes_of_its_client(fate: signal.Signals) -> None:
    async def story(child: subprocess.Popen[str]) -> None:
        assert child.stdin is not None
        async with journal(place) as store, connection(place) as other, connection(place) as witness:
            await other.execute("BEGIN; SELECT FROM shards WHERE shard = 0 FOR UPDATE")
            child.stdin.write("go\n")
            child.stdin.flush()
            await waiting_for_a_lock(witness)
            child.send_signal(fate)
            await other.execute("COMMIT")
            async with asyncio.timeout(2):
                assert await store.claim([0]) == {0: 2}, "nothing waits for the client"
            # The server had the whole append, and finished it before the claim.
            assert await store.facts(0, A, after=0, limit=9) == facts(A, [1])

    place = asyncio.run(prepared())
    command = [sys.executable, "-c", COMMIT_AND_SAY_SO, place.url, place.schema]
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root
    ) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            asyncio.run(story(child))
        finally:
            child.kill()


async def prepared() -> Place:
    """An empty journal whose shard 0 was claimed once."""
    place = await postgres.emptied()
    async with journal(place) as store:
        await store.claim([0])
    return place


def test_a_server_that_dies_in_the_middle_leaves_the_outcome_unknown_and_is_found_again(
    server: OwnPostgres,
) -> None:
    place = Place(server.url(), "restart")

    async def story() -> None:
        async with journal(place) as store:
            await store.claim([0])
            assert await keep(store, facts=facts(A, [1]))
            assert await store.run(0, A) is None
            async with connection(place) as other, connection(place) as witness:
                await other.execute(f"BEGIN; {RAISE}")
                append = asyncio.create_task(keep(store, facts=facts(A, [2])))
                await waiting_for_a_lock(witness)
                await asyncio.to_thread(server.stop, "immediate")
                with pytest.raises(StoreUnknown):
                    await append
            with pytest.raises(StoreBusy):  # it cannot even be asked
                await keep(store, facts=facts(A, [2]))
            with pytest.raises((StoreBusy, StoreUnknown)) as refused:
                await store.facts(0, A, after=0, limit=9)
            assert str(refused.value).startswith(f"the database at {place} ")
            assert str(refused.value).endswith("; ask again")
            await asyncio.to_thread(server.start)
            assert await store.facts(0, A, after=0, limit=9) == facts(A, [1]), "and nothing of the second"
            assert await keep(store, facts=facts(A, [2]))

    asyncio.run(story())


def test_connections_that_died_while_idle_are_not_noticed_by_anyone(server: OwnPostgres) -> None:
    place = Place(server.url(), "idle")

    async def story() -> None:
        async with journal(place) as store:
            await store.claim([0])
            assert await keep(store, facts=facts(A, [1]))
            assert len(await store.facts(0, A, after=0, limit=9)) == 1
            await asyncio.to_thread(server.restart)
            assert len(await store.facts(0, A, after=0, limit=9)) == 1
            assert await keep(store, facts=facts(A, [2]))

    asyncio.run(story())


def test_a_server_that_says_nothing_is_given_up_and_what_it_does_later_is_fenced(
    server: OwnPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "WRITE_S", 0.2)
    monkeypatch.setattr(adapter, "SILENCE_S", 0.3)
    place = Place(server.url(), "silence")

    async def story() -> None:
        async with journal(place) as store, connection(place) as witness:
            await store.claim([0])
            assert await keep(store, facts=facts(A, [1]))
            (frozen,) = [found for (found,) in await witness.fetch(WRITERS)]
            os.kill(frozen, signal.SIGSTOP)
            try:
                async with asyncio.timeout(5):
                    with pytest.raises(StoreUnknown):
                        await keep(store, facts=facts(A, [2]))
                    assert await store.claim([0]) == {0: 2}, "on a new connection"
            finally:
                os.kill(frozen, signal.SIGCONT)
            await until_there_is(witness, f"SELECT WHERE {frozen} NOT IN ({WRITERS})")
            assert await store.facts(0, A, after=0, limit=9) == facts(A, [1])
            assert await keep(store, epoch=2, facts=facts(A, [2]))

    asyncio.run(story())


def test_a_commit_that_no_standby_has_is_unknown_and_stays_unseen(
    server: OwnPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "SILENCE_S", 0.3)
    place = Place(server.url(), "synchronous")

    async def story() -> None:
        async with journal(place) as store, connection(place) as witness:
            await store.claim([0])
            await configure(witness, "ALTER SYSTEM SET synchronous_standby_names = 'somebody'")
            try:
                last = 0
                with pytest.raises(StoreUnknown):  # the server's processes hear of it in their own time
                    while await keep(store, facts=facts(A, [last + 1])):
                        last += 1
                await until_there_is(witness, "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
                assert await store.facts(0, A, after=last, limit=9) == []
            finally:
                await configure(witness, "ALTER SYSTEM RESET synchronous_standby_names")
            await until_there_is(witness, f"SELECT FROM events WHERE seq = {last + 1}")
            assert await keep(store, facts=facts(A, [last + 2]))

    asyncio.run(story())


async def configure(cx: asyncpg.Connection, change: str) -> None:
    await cx.execute(change)
    await cx.execute("SELECT pg_reload_conf()")


WRITERS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'windlass writer'"


@on_postgres
async def test_a_caller_that_goes_away_leaves_the_journal_usable(place: Place) -> None:
    async with journal(place) as store, connection(place) as other, connection(place) as witness:
        await store.claim([0])
        await other.execute(f"BEGIN; {RAISE}")
        append = asyncio.create_task(keep(store, facts=facts(A, [1])))
        await waiting_for_a_lock(witness)
        append.cancel()
        with pytest.raises(asyncio.CancelledError):
            await append
        await other.execute("COMMIT")
        assert await keep(store, epoch=2, facts=facts(A, [1]))


def test_a_fence_that_nobody_lets_go_of_is_tried_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plumbing.connection._SETTINGS, "lock_timeout", "50ms")

    async def story() -> None:
        place = await prepared()
        async with journal(place) as store, connection(place) as other:
            await other.execute(f"BEGIN; {RAISE}")
            with pytest.raises(StoreBusy):
                await keep(store, facts=facts(A, [1]))
            await other.execute("ROLLBACK")
            assert await keep(store, facts=facts(A, [1]))

    asyncio.run(story())


def test_a_server_with_too_many_connections_is_busy() -> None:
    settings = {"max_connections": "8", "superuser_reserved_connections": "0"}

    async def story(place: Place) -> None:
        async with journal(place) as store:
            await store.claim([0])
            taken = await all_connections(place)
            with pytest.raises(StoreBusy, match=r"cannot be read now: .*; ask again$"):
                await store.stuck("default")
            # The writer's own place is taken by another one as soon as it is lost.
            await taken[0].execute(f"SELECT pg_terminate_backend(pid) FROM ({WRITERS}) AS w")
            taken += await all_connections(place)
            with pytest.raises((StoreBusy, StoreUnknown)):
                await keep(store, facts=facts(A, [1]))
            with pytest.raises(StoreBusy):
                await keep(store, facts=facts(A, [1]))
            for cx in taken:
                await cx.close()
            assert await keep(store, facts=facts(A, [1]))
            assert await store.stuck("default") == []

    with own_server(settings=settings) as small:
        asyncio.run(story(Place(small.url())))


async def all_connections(place: Place) -> list[asyncpg.Connection]:
    taken: list[asyncpg.Connection] = []
    with suppress(asyncpg.TooManyConnectionsError):
        while True:
            taken.append(await connect(place, application="windlass test"))
    return taken


def test_what_a_standby_missed_is_noticed_and_not_written_over() -> None:
    """An asynchronous standby takes over, without the last event: all is fenced until it is read anew."""

    async def story(primary: OwnPostgres, standby: OwnPostgres) -> None:
        place = Place(f"{primary.url()[: -len('/postgres')]},127.0.0.1:{standby.port}/postgres")
        async with journal(place) as store:
            await store.claim([0, 1])
            assert await keep(store, facts=facts(A, [1]))
            async with connection(place) as witness:
                await until_there_is(witness, "SELECT FROM pg_stat_replication WHERE " + UP_TO_DATE)
            await asyncio.to_thread(standby.stop, "fast")
            assert await keep(store, facts=facts(A, [2])), "which the standby never hears of"
            await asyncio.to_thread(primary.kill)
            await asyncio.to_thread(standby.start)
            await promote(standby)

            with suppress(StoreUnknown):  # unless the loss of the connection was noticed before
                assert not await keep(store, facts=facts(A, [3]))
            assert not await keep(store, facts=facts(A, [3]))
            await store.unsettled(1)
            assert not await keep(store, facts=facts(A, [3])), "another shard was read"
            assert await keep(store, shard=1, facts=facts(B, [1]))
            assert await store.unsettled(0) == []
            assert await store.facts(0, A, after=0, limit=9) == facts(A, [1])
            assert await keep(store, facts=facts(A, [2]))
            assert await store.claim([2]) == {2: 1}
            assert await keep(store, shard=2, facts=facts(B, [1])), "a claim opens it too"

    with own_server() as primary, standby_of(primary) as standby:
        asyncio.run(story(primary, standby))


UP_TO_DATE = "flush_lsn >= pg_current_wal_lsn()"


@contextmanager
def standby_of(primary: OwnPostgres) -> Iterator[OwnPostgres]:
    folder = postgres.folder()
    try:
        standby = OwnPostgres(folder, fsync=False)
        standby.prepare_folder()
        backup: list[str | Path] = [standby.binaries / "pg_basebackup", "-d", primary.url()]
        standby.run([*backup, "-D", standby.data, "-R", "-c", "fast", "--no-sync"])
        with standby:
            yield standby
    finally:
        shutil.rmtree(folder)


async def promote(standby: OwnPostgres) -> None:
    cx = await asyncpg.connect(standby.url())
    try:
        assert await cx.fetchval("SELECT pg_promote(true, 60)")
    finally:
        cx.terminate()


@on_postgres
async def test_shards_of_an_earlier_life_can_be_written_without_reading_them_again(place: Place) -> None:
    async with journal(place) as store:
        await store.claim([0])
    async with journal(place) as store:
        assert await keep(store, facts=facts(A, [1]))


Kind = Literal["all", "system", "timeline"]


@pytest.mark.parametrize("forbidden", ["all", "system", "timeline"])
def test_the_identity_has_as_much_as_we_may_know(forbidden: Kind, server: OwnPostgres) -> None:
    async def story() -> None:
        async with connection(Place(server.url())) as cx:
            whole = await identity(cx)
            await cx.execute("BEGIN")
            for kind, function in (
                ("system", "pg_control_system()"),
                ("timeline", "pg_walfile_name(pg_lsn)"),
            ):
                if forbidden in (kind, "all"):
                    await cx.execute(f"REVOKE EXECUTE ON FUNCTION {function} FROM PUBLIC")
            await cx.execute("COMMIT; CREATE ROLE nobody_special; SET ROLE nobody_special")
            try:
                known = await identity(cx)
            finally:
                await cx.execute(
                    "RESET ROLE; DROP ROLE nobody_special; "
                    "GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC; "
                    "GRANT EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) TO PUBLIC"
                )
        system, timeline = whole.split("/")
        assert timeline.isalnum()
        assert system.isdigit()
        expected = {"all": "?/?", "system": f"?/{timeline}", "timeline": f"{system}/?"}
        assert known == expected[forbidden]

    asyncio.run(story())


def test_a_node_of_the_version_before_goes_on_while_others_keep_entities(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = migration.migrations()
    before = [one for one in known if one.version < 9]

    async def play() -> None:
        place = await postgres.dropped("windlass_entities")
        monkeypatch.setattr(migration, "migrations", lambda: tuple(before))
        async with journal(place) as old:
            assert await old.claim([0, 1]) == {0: 1, 1: 1}
            assert await keep(old, runs=[row("a")])
            monkeypatch.undo()
            async with journal(place) as new:
                assert await new.claim([0]) == {0: 2}
                assert await keep(new, epoch=2, entities=[entity(workflow_key("w"), 4.0)])
                # What the former node calls is still there, and its fence holds.
                assert await keep(old, shard=1, runs=[row("b")], notices=[notice("n")])
                assert not await keep(old, runs=[row("c")])
                assert [found.key for found in await new.unsettled(0)] == [A, workflow_key("w")]
        await postgres.dropped("windlass_entities")

    asyncio.run(play())
