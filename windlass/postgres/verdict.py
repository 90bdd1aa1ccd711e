"""What an error of the driver or the database means for what was asked.

The same event, a server that goes away, comes as an error of the operating system, of asyncpg's protocol, of
its interface, or of the server; so everything that is not clearly an answer is taken for none.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

import asyncpg


class Verdict(Enum):
    """What is known after an error."""

    REFUSED = auto()  # it answered: something is wrong with the values or rows; nothing was kept
    BUSY = auto()  # it answered: not now; nothing was kept, and the same thing may pass later
    UNKNOWN = auto()  # no answer: it may have been done or not


# By SQLSTATE, the whole code or its class.
_BUSY: Final = frozenset(
    {
        "25006",  # read-only: a standby, or the disk is nearly full
        "28",  # the password was changed under us
        "3D000",  # the database is gone
        "3F000",  # the schema is gone
        "40001",  # serialization failure
        "40P01",  # deadlock
        "42501",  # a right was taken from us
        "42703",  # a column is gone
        "42P01",  # a table is gone
        "53",  # disk full, out of memory, too many connections
        "55",  # a lock was not to be had in time; an object is in use
        "57014",  # cancelled: it took too long
        "57P03",  # starting up or shutting down
        "58",  # the operating system gave the server an error
    }
)
# Of the busy ones, those that stay until a person has done something.
_UNTIL_MENDED: Final = frozenset({"28", "3D000", "3F000", "42501", "42703", "42P01"})
# Of these the connection was not made in the first place: the server says them as its last words.
_LAST_WORDS: Final = frozenset({"28", "3D000", "53300", "57P03"})
_UNKNOWN: Final = frozenset(
    {
        "08",  # the connection failed
        "40003",  # as it says: statement completion unknown
        "57P01",  # the server shuts down, or an administrator ended us
        "57P02",  # the server crashed
        "57P04",  # the database was dropped
        "57P05",  # we were silent for too long
    }
)
_NO_ANSWER: Final = (
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,  # ConnectionError, TimeoutError and the errors of TLS and of name lookup are some
    EOFError,
)


def verdict(error: BaseException) -> Verdict | None:
    """What this error means for what was asked; None if it is not the database's."""
    match error:
        case asyncpg.PostgresError():
            return _of_state(error)
        case asyncpg.DataError():  # the driver could not write a value down, and sent nothing
            return Verdict.REFUSED
        case BaseException() if isinstance(error, _NO_ANSWER):
            return Verdict.UNKNOWN
    return None


def may_pass(error: BaseException) -> bool:
    """Whether the same may work later, though nobody does anything about it."""
    if isinstance(error, asyncpg.PostgresError) and _is(error.sqlstate or "", _UNTIL_MENDED):
        return False
    return verdict(error) in (Verdict.BUSY, Verdict.UNKNOWN)


def _of_state(error: asyncpg.PostgresError) -> Verdict:
    state = error.sqlstate or ""
    ended = (error.severity_en or error.severity) in ("FATAL", "PANIC")
    if _is(state, _UNKNOWN) or (ended and not _is(state, _LAST_WORDS)):
        return Verdict.UNKNOWN
    # The plan of a statement became void by a migration: the next time it is planned anew.
    if isinstance(error, asyncpg.InvalidCachedStatementError) or _is(state, _BUSY):
        return Verdict.BUSY
    return Verdict.REFUSED


def _is(state: str, kinds: frozenset[str]) -> bool:
    return state in kinds or state[:2] in kinds
