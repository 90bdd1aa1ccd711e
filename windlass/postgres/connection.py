"""Connections to the database, and which database it is that answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qs, urlsplit, urlunsplit

import asyncpg

from windlass.core.errors import WindlassError

OLDEST: Final = 15  # the version of PostgreSQL that everything here needs
CONNECT_S: Final = 5.0  # for all hosts of a URL together
HOST_S_MIN: Final = 1.5  # a host that swallows everything must not keep us from asking the next one
# How much later than the server we give up: its answer, "cancelled", is better than none.
PATIENCE_S: Final = 2.0
IDLE_IN_TRANSACTION_S: Final = 5
LOCK_S: Final = 5  # also for the fence: whoever holds it for so long is frozen
SILENCE_S: Final = 10  # a peer whose machine is gone is given up after that

# What the journal asks for is small and found by an index, in its order. The planner may think otherwise: of
# tables that were empty when it made its plan, or when it takes the values for more common than they are.
BY_INDEX: Final = "; ".join(
    f"SET enable_{way} = off"
    for way in ("seqscan", "bitmapscan", "hashjoin", "mergejoin", "sort", "incremental_sort")
)


@dataclass(frozen=True, slots=True)
class Place:
    """Which database, and which schema in it."""

    url: str = field(repr=False)  # postgresql://…, with one or more hosts; may have a password in it
    schema: str = "windlass"

    def __str__(self) -> str:
        """Where it is, for people to read: without user and password."""
        return f"{_without_secrets(self.url)} (schema {self.schema})"


class DatabaseUnusable(WindlassError):
    """The database cannot be used as it is; the message says what to do. It never shows the password."""


class DatabaseAway(DatabaseUnusable):
    """Nobody answers there, or not now: the same may work later, without anybody doing anything."""


async def connect(
    place: Place, *, application: str, statement_timeout_s: float | None = 10.0
) -> asyncpg.Connection:
    """A connection to a server that takes writes, with our settings and `place.schema` as its search path.

    Raises DatabaseUnusable for what only a person can mend (URL, password, database, version of the server).
    While the server cannot be reached or takes nobody in, it raises what the driver raised: see `verdict`.
    Every statement ends within `statement_timeout_s`: the server gives it up, and soon after so does the
    driver. After a TimeoutError, `terminate()` the connection: `close()` would wait for the same silence.
    """
    settings = {"application_name": application, "search_path": quoted(place.schema), **_SETTINGS}
    command_timeout = None
    if statement_timeout_s is not None:
        settings["statement_timeout"] = f"{round(statement_timeout_s * 1000)}ms"
        command_timeout = statement_timeout_s + PATIENCE_S
    cx = await _first_that_answers(place, settings, command_timeout)
    if cx.get_server_version().major < OLDEST:
        cx.terminate()
        raise DatabaseUnusable(
            f"the server at {place} is PostgreSQL {cx.get_server_version().major}; "
            f"Windlass needs {OLDEST} or newer: upgrade it, or choose another database"
        )
    return cx


async def identity(cx: asyncpg.Connection) -> str:
    """Which database this is, and which of its lives: changes when another server took over.

    It is the system's identifier and the timeline; a part that we may not ask for stands as "?".
    """
    try:
        return str(await cx.fetchval(f"SELECT ({_SYSTEM}) || '/' || ({_TIMELINE})"))
    except asyncpg.PostgresError:
        return f"{await _allowed(cx, _SYSTEM)}/{await _allowed(cx, _TIMELINE)}"


def quoted(name: str) -> str:
    """A name as SQL spells it."""
    return '"' + name.replace('"', '""') + '"'


_SYSTEM: Final = "SELECT system_identifier::text FROM pg_control_system()"
# Not from the control file, which learns of a promotion only at the next checkpoint.
_TIMELINE: Final = "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"

_SETTINGS: Final = {
    "synchronous_commit": "on",  # whatever the server's default: what we call kept is on disk
    "default_transaction_isolation": "read committed",  # the fence relies on it: see journal/postgres_rows.py
    "idle_in_transaction_session_timeout": f"{IDLE_IN_TRANSACTION_S}s",
    "lock_timeout": f"{LOCK_S}s",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": f"{SILENCE_S}s",
    "client_min_messages": "warning",
    "jit": "off",  # our statements are done before it would have compiled them,
    "max_parallel_workers_per_gather": "0",  # or have started helpers
}


async def _first_that_answers(
    place: Place, settings: dict[str, str], command_timeout: float | None
) -> asyncpg.Connection:
    hosts = list(_single_hosts(place))
    attributes = {} if "target_session_attrs" in place.url else {"target_session_attrs": "read-write"}
    last: BaseException | None = None
    for url in hosts:
        try:
            return await asyncpg.connect(
                url,
                timeout=max(CONNECT_S / len(hosts), HOST_S_MIN),
                command_timeout=command_timeout,
                server_settings=settings,
                **attributes,
            )
        except (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidPasswordError):
            raise DatabaseUnusable(
                f"the database at {place} refuses the user or the password; check both in its URL"
            ) from None
        except asyncpg.InvalidCatalogNameError:
            raise DatabaseUnusable(
                f"the server has no database at {place}; create it (createdb), or correct the name in its URL"
            ) from None
        except asyncpg.InsufficientPrivilegeError as error:
            raise DatabaseUnusable(f"the database at {place} does not let us in: {error}") from None
        except ValueError:  # not the driver's words: they might quote what it took for a port
            raise DatabaseUnusable(_MALFORMED) from None
        except (asyncpg.PostgresError, asyncpg.InternalClientError, OSError) as error:
            last = _in_plain_words(error)
    assert last is not None
    raise last


def _in_plain_words(error: Exception) -> Exception:
    """Where the driver says nothing, or what only those understand who know the protocol."""
    if isinstance(error, TimeoutError):
        return TimeoutError("it did not answer in time")
    if isinstance(error, ConnectionError) and "rejected SSL upgrade" in str(error):
        return ConnectionError(
            "what answers there is no PostgreSQL, or has no TLS though the URL asks for it"
        )
    return error


_MALFORMED: Final = (
    "the URL of the database cannot be read; write postgresql://user:password@host:5432/name, "
    "with %-escapes for special characters in the password"
)


def _single_hosts(place: Place) -> Iterator[str]:
    """The URL once per host: a driver that tries them all under one time limit never reaches the second."""
    try:
        parts = urlsplit(place.url)
    except ValueError:
        raise DatabaseUnusable(_MALFORMED) from None
    if parts.scheme not in ("postgresql", "postgres"):
        raise DatabaseUnusable(_MALFORMED)
    user, at, hosts = parts.netloc.rpartition("@")
    for host in hosts.split(","):
        yield urlunsplit(parts._replace(netloc=f"{user}{at}{host}"))


def _without_secrets(url: str) -> str:
    with suppress(ValueError):
        parts = urlsplit(url)
        hosts = parts.netloc.rpartition("@")[2] or ",".join(parse_qs(parts.query).get("host", ["localhost"]))
        return f"{hosts}{parts.path}"
    return "a database whose URL cannot be read"


async def _allowed(cx: asyncpg.Connection, question: str) -> str:
    try:
        return str(await cx.fetchval(question))
    except asyncpg.PostgresError:
        return "?"
