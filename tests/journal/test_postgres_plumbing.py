"""Getting to the database: wrong addresses, schemas of other versions, and what errors mean."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Iterator

import asyncpg
import pytest

from tests import postgres
from tests.waiting import wait_until
from windlass.own_postgres import OwnPostgres
from windlass.postgres import (
    DatabaseUnusable,
    Place,
    Verdict,
    connect,
    connection,
    migrate,
    migration,
    verdict,
)

PASSWORD = "s3cr3t:/@?"


@pytest.fixture(scope="module")
def guarded() -> Iterator[OwnPostgres]:
    """A server that asks for a password."""
    postgres.url()
    folder = postgres.folder()
    try:
        with OwnPostgres(folder, fsync=False, password=PASSWORD) as server:
            yield server
    finally:
        shutil.rmtree(folder)


def complaint(place: Place) -> str:
    with pytest.raises(DatabaseUnusable) as found:
        asyncio.run(migrate(place))
    return str(found.value)


def test_a_password_lets_us_in(guarded: OwnPostgres) -> None:
    asyncio.run(migrate(Place(guarded.url())))


def test_a_wrong_password_is_said_and_not_shown(guarded: OwnPostgres) -> None:
    place = Place(guarded.url().replace("s3cr3t", "wrong"))
    said = complaint(place)
    assert "refuses the user or the password" in said
    assert f"127.0.0.1:{guarded.port}/postgres" in said
    assert "wrong" not in said
    assert "wrong" not in f"{place!r} {place}"


def test_a_database_that_does_not_exist_is_said(guarded: OwnPostgres) -> None:
    assert "createdb" in complaint(Place(guarded.url("nowhere")))


def test_a_server_that_is_not_there_is_said(guarded: OwnPostgres) -> None:
    assert "cannot be reached" in complaint(Place("postgresql://u:geheim@127.0.0.1:1/x"))
    assert "cannot be reached" in complaint(Place("postgresql://u:geheim@nowhere.invalid/x"))


@pytest.mark.parametrize(
    "url",
    ["sqlite:windlass.db", "nonsense", "postgresql://u:geheim@[::1/x", "postgresql://u:ge:heim@h:5x2/db"],
)
def test_a_url_that_cannot_be_read_is_said_and_not_shown(url: str) -> None:
    said = complaint(Place(url))
    assert "postgresql://user:password@host:5432/name" in said
    assert "heim" not in said


def test_an_old_server_is_said(guarded: OwnPostgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "OLDEST", 99)
    assert "Windlass needs 99 or newer" in complaint(Place(guarded.url()))


def test_of_several_hosts_the_first_that_answers_is_taken(guarded: OwnPostgres) -> None:
    user, _, rest = guarded.url().rpartition("@")

    async def story() -> None:
        cx = await connect(Place(f"{user}@127.0.0.1:1,{rest}"), application="windlass test")
        assert await cx.fetchval("SELECT 1") == 1
        await cx.close()

    asyncio.run(story())


def test_a_connection_has_our_settings() -> None:
    async def story() -> None:
        place = await postgres.emptied('odd "name"')
        cx = await connect(place, application="windlass test", statement_timeout_s=0.25)
        found = {
            name: await cx.fetchval("SELECT current_setting($1)", name)
            for name in ("application_name", "synchronous_commit", "statement_timeout", "jit")
        }
        assert found == {
            "application_name": "windlass test",
            "synchronous_commit": "on",
            "statement_timeout": "250ms",
            "jit": "off",
        }
        assert await cx.fetchval("SELECT current_schema()") == 'odd "name"'
        with pytest.raises(asyncpg.QueryCanceledError):
            await cx.execute("SELECT pg_sleep(9)")
        await cx.close()

    asyncio.run(story())


async def ask(place: Place, sql: str) -> object:
    cx = await connect(place, application="windlass test")
    try:
        return await cx.fetchval(sql)
    finally:
        cx.terminate()


VERSIONS = "SELECT array_agg(version ORDER BY version) FROM migrations"


def test_nodes_that_start_together_make_the_schema_once() -> None:
    async def story() -> None:
        place = await postgres.dropped("together")
        await asyncio.gather(*(migrate(place) for _ in range(6)))
        assert await ask(place, VERSIONS) == [known.version for known in migration.migrations()]

    asyncio.run(story())


def test_an_older_schema_is_brought_up_to_date_with_what_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    known = migration.migrations()

    async def story() -> None:
        place = await postgres.dropped("older")
        monkeypatch.setattr(migration, "migrations", lambda: known[:1])
        await migrate(place)
        await ask(place, "INSERT INTO shards (shard, epoch) VALUES (7, 3)")
        monkeypatch.undo()
        await migrate(place)
        assert await ask(place, VERSIONS) == [one.version for one in known]
        assert await ask(place, "SELECT epoch FROM shards WHERE shard = 7") == 3
        assert await ask(place, "SELECT count(*) FROM workflow_build_history") == 0

    asyncio.run(story())


def test_a_migration_that_fails_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = migration.Migration(2, "0002_broken", 1, "CREATE TABLE half (x int); SELECT 1 / 0;")

    async def story() -> None:
        place = await postgres.dropped("broken")
        monkeypatch.setattr(migration, "migrations", lambda: (known[0], broken))
        with pytest.raises(DatabaseUnusable, match="division by zero"):
            await migrate(place)
        assert await ask(place, VERSIONS) == [1]
        assert await ask(place, "SELECT to_regclass('half')") is None

    known = migration.migrations()
    asyncio.run(story())


@pytest.mark.parametrize(("min_reader", "usable"), [(1, True), (999, False)])
def test_a_newer_schema_says_itself_whether_we_can_use_it(min_reader: int, usable: bool) -> None:
    async def story() -> None:
        place = await postgres.dropped("newer")
        await migrate(place)
        await ask(place, f"INSERT INTO migrations VALUES (999, '0999_future', {min_reader})")
        if usable:
            await migrate(place)
        else:
            with pytest.raises(DatabaseUnusable, match="install the newer one"):
                await migrate(place)

    asyncio.run(story())


def test_every_migration_has_its_number_and_all_are_in_a_row() -> None:
    versions = [known.version for known in migration.migrations()]
    assert versions == list(range(1, len(versions) + 1))
    assert all(known.min_reader <= known.version for known in migration.migrations())


def answer(state: str, severity: str = "ERROR") -> asyncpg.PostgresError:
    return asyncpg.PostgresError.new({"C": state, "M": "it says", "S": severity, "V": severity})


VERDICTS: list[tuple[BaseException, Verdict | None]] = [
    (answer("23505"), Verdict.REFUSED),
    (answer("22021"), Verdict.REFUSED),
    (answer("54000"), Verdict.REFUSED),
    (answer("XX000"), Verdict.REFUSED),
    (asyncpg.DataError("no such number"), Verdict.REFUSED),
    (answer("53100"), Verdict.BUSY),
    (answer("53200"), Verdict.BUSY),
    (answer("53300", "FATAL"), Verdict.BUSY),
    (answer("25006"), Verdict.BUSY),
    (answer("57P03", "FATAL"), Verdict.BUSY),
    (answer("57014"), Verdict.BUSY),
    (answer("55P03"), Verdict.BUSY),
    (answer("40P01"), Verdict.BUSY),
    (answer("40001"), Verdict.BUSY),
    (answer("42P01"), Verdict.BUSY),
    (answer("53100", "PANIC"), Verdict.UNKNOWN),
    (answer("57P01", "FATAL"), Verdict.UNKNOWN),
    (answer("57P02", "FATAL"), Verdict.UNKNOWN),
    (answer("08006"), Verdict.UNKNOWN),
    (asyncpg.ConnectionDoesNotExistError("closed in the middle of operation"), Verdict.UNKNOWN),
    (asyncpg.InterfaceError("connection is closed"), Verdict.UNKNOWN),
    (asyncpg.InternalClientError("cannot switch to state 12"), Verdict.UNKNOWN),
    (ConnectionRefusedError(), Verdict.UNKNOWN),
    (ConnectionResetError(), Verdict.UNKNOWN),
    (TimeoutError(), Verdict.UNKNOWN),
    (OSError("no route to host"), Verdict.UNKNOWN),
    (ZeroDivisionError(), None),
    (asyncio.CancelledError(), None),
]


@pytest.mark.parametrize(("error", "expected"), VERDICTS, ids=lambda value: repr(value)[:60])
def test_errors_are_judged_by_what_is_known_after_them(
    error: BaseException, expected: Verdict | None
) -> None:
    assert verdict(error) is expected


STARTS_A_SERVER = """
import sys, time
from pathlib import Path
from windlass.own_postgres import OwnPostgres
server = OwnPostgres(Path(sys.argv[1]), fsync=False)
server.start()
print(server.pid, flush=True)
time.sleep(60)
"""


def test_a_server_of_ones_own_dies_with_the_process_that_started_it() -> None:
    postgres.url()
    folder = postgres.folder()
    command = [sys.executable, "-c", STARTS_A_SERVER, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    wait_until(lambda: not (folder / "data" / "postmaster.pid").exists())
    assert pid
    shutil.rmtree(folder)


def test_a_server_of_ones_own_can_be_killed_and_started_again(guarded: OwnPostgres) -> None:
    place = Place(guarded.url(), "killed")

    async def story() -> None:
        await migrate(place)
        await ask(place, "INSERT INTO settings VALUES ('a', 'b')")
        guarded.kill()
        guarded.start()
        assert await ask(place, "SELECT value FROM settings") == "b"

    asyncio.run(story())
