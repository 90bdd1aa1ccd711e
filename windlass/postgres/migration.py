"""The schema of the database: made, and brought up to date, by numbered files.

A file is sent whole, in one transaction that also writes down its number; an advisory lock, and the key of
that number, keep two nodes that start at the same time from doing it twice. It may say in a comment which
programs can go on while it is already applied:

    -- min_reader: 3        those that know the schema up to file 3, and newer ones
"""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from functools import cache
from importlib import resources
from typing import Final, NamedTuple

import asyncpg

from windlass.postgres.connection import DatabaseAway, DatabaseUnusable, Place, connect, quoted
from windlass.postgres.verdict import may_pass, verdict

_MIN_READER: Final = re.compile(r"^-- min_reader: (\d+)$", re.MULTILINE)

_BEGIN: Final = """
    SELECT set_config('lock_timeout', '60s', true);
    SELECT pg_advisory_xact_lock({lock});
    SELECT set_config('lock_timeout', '5s', true); -- who waits for a table makes everybody else wait for it
    CREATE SCHEMA IF NOT EXISTS {schema};
    CREATE TABLE IF NOT EXISTS {schema}.migrations (
      version int PRIMARY KEY,
      name text NOT NULL,
      min_reader int NOT NULL, -- the oldest schema a program may be made for and still work on this one
      applied_at timestamptz NOT NULL DEFAULT now()
    );
    INSERT INTO {schema}.migrations (version, name, min_reader) VALUES ({version}, '{name}', {min_reader});
    {script}"""


class Migration(NamedTuple):
    version: int
    name: str
    min_reader: int
    script: str


class _Applied(NamedTuple):
    version: int = 0
    min_reader: int = 0


async def migrate(place: Place) -> None:
    """Make the schema, or bring it up to date, while others may be using it.

    Raises DatabaseUnusable, and DatabaseAway if it was not to be reached, or to be changed, at this time.

    A schema newer than this program is left as it is, and used if it says that this program can.
    """
    try:
        cx = await connect(place, application="windlass migrate", statement_timeout_s=None)
    except Exception as error:
        if verdict(error) is None:
            raise
        unusable = DatabaseAway if may_pass(error) else DatabaseUnusable
        raise unusable(f"the database at {place} cannot be reached: {_said(error)}") from error
    try:
        await _bring_up_to_date(cx, place)
    except asyncpg.InsufficientPrivilegeError as error:
        advice = f"let its user create the schema {place.schema}, or give that schema to it"
        raise DatabaseUnusable(
            f"the database at {place} does not let us make tables: {error}; {advice}"
        ) from None
    except Exception as error:
        if verdict(error) is None:
            raise
        unusable = DatabaseAway if may_pass(error) else DatabaseUnusable
        raise unusable(f"the schema at {place} cannot be brought up to date: {_said(error)}") from error
    finally:
        cx.terminate()


@cache
def migrations() -> tuple[Migration, ...]:
    """All that this program knows, in order."""
    found = []
    for entry in (resources.files("windlass.postgres") / "schema").iterdir():
        if entry.name.endswith(".sql"):
            script = entry.read_text(encoding="utf-8")
            version = int(entry.name.partition("_")[0])
            stated = _MIN_READER.search(script)
            found.append(
                Migration(
                    version, entry.name.removesuffix(".sql"), int(stated[1]) if stated else version, script
                )
            )
    return tuple(sorted(found))


async def _bring_up_to_date(cx: asyncpg.Connection, place: Place) -> None:
    known = migrations()
    newest = known[-1].version
    applied = await _applied(cx, place)
    for migration in known:
        if migration.version > applied.version:
            with suppress(asyncpg.UniqueViolationError):  # another node was quicker: it is done, then
                await cx.execute(_statement(migration, place))
    if applied.min_reader > newest:
        raise DatabaseUnusable(
            f"the schema at {place} was made by a newer Windlass: it is {applied.version}, this one knows "
            f"{newest}, and {applied.min_reader} is the least that works; install the newer one"
        )


def _statement(migration: Migration, place: Place) -> str:
    return _BEGIN.format(lock=lock_of(place.schema), schema=quoted(place.schema), **migration._asdict())


async def _applied(cx: asyncpg.Connection, place: Place) -> _Applied:
    table = f"{quoted(place.schema)}.migrations"
    if await cx.fetchval("SELECT to_regclass($1)", table) is None:
        return _Applied()
    found = await cx.fetchrow(f"SELECT max(version), max(min_reader) FROM {table}")
    return _Applied(found[0] or 0, found[1] or 0)


def lock_of(schema: str) -> int:
    """The number of the advisory lock under which a schema is changed."""
    digest = hashlib.blake2b(f"windlass schema {schema}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _said(error: BaseException) -> str:
    return str(error) or type(error).__name__
