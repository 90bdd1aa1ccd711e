"""How a command ends: the exit codes, and the one line that says what to do next."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from enum import IntEnum
from typing import IO, Any, Final

import click

from windlass.cli.screen import clean
from windlass.core.errors import Fault, Invalid, NotFound, Refused, Unavailable, Unknown, WindlassError
from windlass.core.task import Json
from windlass.sdk.refusals import NotAllowed, NotReachable


class Exit(IntEnum):
    SUCCEEDED = 0
    FAILED = 1
    USAGE = 2
    CANCELLED = 3
    PARTIAL = 4
    UNREACHABLE = 5
    TIMED_OUT = 6
    REFUSED = 7
    INTERRUPTED = 130


ENDINGS: Final = """\
  0  it worked; the run succeeded
  1  the run failed, or is stuck; `doctor` found something; something else went wrong
  2  the command was not understood
  3  the run was cancelled
  4  the run ended as partial_success: steps that may fail have failed
  5  no server answers, or it is too busy
  6  --timeout passed; the run goes on
  7  refused: not found, not valid, or not possible now
  130  Ctrl-C; a run that was watched goes on"""

BY_OUTCOME: Final[dict[str, Exit]] = {
    "succeeded": Exit.SUCCEEDED,
    "partial_success": Exit.PARTIAL,
    "failed": Exit.FAILED,
    "stuck": Exit.FAILED,
    "cancelled": Exit.CANCELLED,
}


class Ending(click.ClickException):
    """The end of a command that did not work: a code, a line, and the faults of a document, one line each."""

    def __init__(
        self,
        code: Exit,
        message: str,
        *,
        kind: str = "error",
        faults: Sequence[Json] = (),
        as_json: bool = False,
    ) -> None:
        super().__init__(message)
        self.exit_code = int(code)  # type: ignore[misc]  # click asks the instance, and some are known only now
        self.kind = kind
        self.faults = list(faults)
        self.as_json = as_json

    @classmethod
    def of(cls, error: WindlassError, *, as_json: bool, file: str = "") -> Ending:
        if isinstance(error, Ended):
            return cls(error.code, str(error), kind=error.kind, as_json=as_json)
        faults = error.faults if isinstance(error, Invalid) else ()
        file = error.file if isinstance(error, InvalidFile) else file
        details = [detail(fault, file) for fault in faults]
        code, kind = _code(error)
        return cls(code, _advise(error), kind=kind, faults=details, as_json=as_json)

    def show(self, file: IO[Any] | None = None) -> None:  # Any: as click has it
        if self.as_json:
            body = {"error": self.kind, "message": self.message, "details": self.faults}
            click.echo(json.dumps(body), file=file or sys.stdout)
            return
        for fault in self.faults:
            click.echo(clean(f"{fault['place']}: {fault['message']}"), file=file, err=True)
        click.secho("error: ", file=file, err=True, fg="red", bold=True, nl=False)
        click.echo(clean(self.message), file=file, err=True)


class Ended(WindlassError):
    """A command that ends with a code of its own."""

    def __init__(self, code: Exit, kind: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.kind = kind


class InvalidFile(Invalid):
    """A document of the user's is not sound; its faults have their places in this file."""

    def __init__(self, file: str, invalid: Invalid) -> None:
        super().__init__(str(invalid), invalid.faults)
        self.file = file


def _code(error: WindlassError) -> tuple[Exit, str]:
    match error:
        case NotReachable():
            return Exit.UNREACHABLE, "not_reachable"
        case Unavailable():
            return Exit.UNREACHABLE, "unavailable"
        case NotAllowed():
            return Exit.REFUSED, "not_allowed"
        case Unknown():
            return Exit.UNREACHABLE, "unknown"
        case Invalid():
            return Exit.REFUSED, "invalid"
        case NotFound():
            return Exit.REFUSED, "not_found"
        case Refused():
            return Exit.REFUSED, "refused"
        case _:
            return Exit.FAILED, "error"


def _advise(error: WindlassError) -> str:
    match error:
        case NotReachable(url=url, reason=reason):
            advice = "start one with `windlass up`, or name another with --server"
            return f"no Windlass answers at {url}: {advice} ({reason})"
        case NotAllowed():
            return f"{error} (the command line shows what WINDLASS_TOKEN holds)"
        case Unknown():
            return f"{error}; asking again is safe"
        case _:
            return str(error)


def detail(fault: Fault, file: str) -> dict[str, Json]:
    """A fault as JSON has it, and as a line `place: message`."""
    place = [file] if file else []
    place += [str(fault.line), str(fault.column)] if fault.line else [fault.pointer] if fault.pointer else []
    told: dict[str, Json] = {"place": ":".join(place) or "the request", "message": fault.message}
    told |= {"file": file} if file else {}
    told |= {"line": fault.line, "column": fault.column} if fault.line else {}
    return told | {"pointer": fault.pointer}
