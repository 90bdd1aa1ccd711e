"""How a program ended that `windlass exec` ran: an exit code and, if it did not go well, a line."""

from __future__ import annotations

import signal
from typing import Final

from windlass.cli.ending import Exit
from windlass.core.task import Json

BY_SIGNAL: Final = 128  # as shells have it
# By the limit that it went beyond: what a program ends with that is killed for the same.
BY_LIMIT: Final = {
    "timeout": 124,
    "memory": BY_SIGNAL + signal.SIGKILL,
    "cpu": BY_SIGNAL + signal.SIGXCPU,
    "disk": BY_SIGNAL + signal.SIGXFSZ,
    "output": BY_SIGNAL + signal.SIGPIPE,
}
CODES: Final = """\
  124  it took longer than it may
  137  it used more memory than it may
  141, 152, 153  it printed, computed or wrote more than it may
  128+N  signal N ended it
  1  it was not compiled, left a file out that was asked for, or could not be run
  2  the command was not understood
  3  it was cancelled, or waited too long for a worker
  5  no server answers, or no worker can run it
  7  refused: not valid, or not allowed
  130  Ctrl-C; the task is cancelled"""


def code_of(task: Json) -> int:
    result = task["result"] or {}
    if task["status"] == "cancelled":
        return Exit.CANCELLED
    if _kind(task) == "CompileError":
        return Exit.FAILED
    if result.get("exceeded"):
        return BY_LIMIT.get(result["exceeded"], Exit.FAILED)
    if result.get("signal"):
        return BY_SIGNAL + _number(result["signal"])
    if task["status"] == "timeout":
        return BY_LIMIT["timeout"]
    if task["status"] in ("completed", "failed") and result.get("exitCode") is not None:
        return int(result["exitCode"])
    return Exit.SUCCEEDED if task["status"] == "completed" else Exit.FAILED


def line_of(task: Json) -> str:
    """What went wrong; "" if nothing did: an exit code of the program's own says it all."""
    if task["status"] == "completed" or _kind(task) == "ExitCode":
        return ""
    ident, failure = task["taskId"], task["failure"] or {}
    if not task["final"]:
        return f"{task['language']}: it does not go on ({ident}); `windlass explain {ident}` says why"
    words = failure.get("message") or f"it ended as {task['status']}"
    if not_compiled(task) and _was_said(words.partition(": ")[2], task["result"] or {}):
        words = "it was not compiled"
    return f"{task['language']}: {words} ({ident})"


def line_of_missing(task: Json, names: list[str]) -> str:
    return f"{task['language']}: it left no {', '.join(names)} ({task['taskId']})" if names else ""


def stderr_of(task: Json) -> str:
    """What the program itself printed there: where that is nothing, a result says what went wrong instead."""
    said, failure = str(task["result"]["error"]), task["failure"] or {}
    return "" if failure and said == failure.get("message") else said


def was_compiled(task: Json) -> bool:
    return bool(task["result"].get("compile"))


def not_compiled(task: Json) -> bool:
    return _kind(task) == "CompileError"


def _was_said(complaint: str, result: dict[str, Json]) -> bool:
    """Whether that is what the compiler printed."""
    return bool(complaint) and any(complaint in result.get(stream, "") for stream in ("output", "error"))


def _kind(task: Json) -> str:
    return str((task["failure"] or {}).get("type", ""))


def _number(name: str) -> int:
    """Of a signal, which workers call by its name, or `signal 34`."""
    if name in signal.Signals.__members__:
        return signal.Signals[name]
    number = name.removeprefix("signal ")
    return int(number) if number.isdigit() else 0
