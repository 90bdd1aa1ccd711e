"""A PostgreSQL for the tests: one server for all of them, started when the first one needs it.

It is the one that TEST_DATABASE_URL names, else one of our own. Where there is none, tests that need it are
skipped; not so in CI, where they fail.
"""

import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

import asyncpg
import pytest

from windlass.own_postgres import NoPostgres, OwnPostgres
from windlass.postgres import Place, connect, migrate

SCHEMA = "windlass_test"
TABLES = "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = $1 AND tablename <> 'migrations'"
_started: list[OwnPostgres] = []


def folder() -> Path:
    """A new folder that PostgreSQL can use even if root runs the tests: those of pytest are closed to it."""
    made = Path(tempfile.mkdtemp(prefix="windlass-test-"))
    made.chmod(0o755)
    return made


@cache
def url() -> str:
    """Of a database that tests may do anything with."""
    if given := os.environ.get("TEST_DATABASE_URL"):
        # Some tests end every connection of the server, or wait until nobody waits for a lock.
        assert int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) == 1, "one database is for JOBS=0 only"
        return given
    try:
        server = OwnPostgres(folder(), fsync=False)
        server.start()
    except NoPostgres as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    _started.append(server)
    return server.url()


def stop() -> None:
    """End what was started here, and remove its data."""
    for server in _started:
        server.stop("immediate")
        shutil.rmtree(server.folder)
    _started.clear()
    url.cache_clear()


async def emptied(schema: str = SCHEMA) -> Place:
    """A schema that is up to date and has nothing in it. Faster than a new one by far."""
    place = Place(url(), schema)
    await migrate(place)
    cx = await connect(place, application="windlass test")
    try:
        tables = await cx.fetch(TABLES, schema)
        # Quicker than TRUNCATE, which makes new files for every table and index.
        await cx.execute("; ".join(f"DELETE FROM {table}" for (table,) in tables))
    finally:
        cx.terminate()
    return place


async def dropped(schema: str = SCHEMA) -> Place:
    """A schema that does not exist."""
    cx = await asyncpg.connect(url())
    try:
        await cx.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')
    finally:
        cx.terminate()
    return Place(url(), schema)
