"""What runs a task of one kind: the port. The adapters are named after their kind."""

from __future__ import annotations

import signal
from typing import Protocol, TypeVar

import msgspec

from windlass.core.task import Failure, Outcome, Task
from windlass.worker.link import Ended
from windlass.worker.secrets import Opened

DETAIL_BYTES_MAX = 8 * 1024
T = TypeVar("T", bound=msgspec.Struct)


class Executor(Protocol):
    async def run(self, task: Task, secrets: Opened) -> Outcome:
        """Run the attempt to its end. A step's own failure is a Failure; what is raised is a fault of ours.

        The task holds references to secrets; `secrets` fills them in, and hides them in what the step prints.
        What is answered or raised is masked by the caller.

        When this is cancelled, whatever the task started has ended before it returns.
        """
        ...


class BadStep(Exception):
    """What the step says under `with` cannot be run; the message says what to write instead."""


def read_with(task: Task, shape: type[T]) -> T:
    try:
        return msgspec.convert(task.with_, shape)
    except msgspec.ValidationError as error:
        known = ", ".join(shape.__struct_fields__)
        raise BadStep(f"with of this {task.kind} step: {error} (it may have {known})") from None


Word = str | int | float | bool  # YAML makes numbers of what a program or a server takes as text


def word(value: Word) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def bad_step(message: str) -> Failure:
    return Failure("BadStep", message, retryable=False)


def timed_out(timeout_s: float | None) -> Failure:
    return Failure("Timeout", f"took longer than {timeout_s or 0:g}s", bases=("TimeoutError",))


def process_died(ended: Ended) -> Failure:
    """For a process that ended without saying how the step went."""
    match ended.how:
        case "signalled":
            message = f"was killed by {signal_name(ended.code)}"
            if ended.code == signal.SIGKILL:
                message += ": perhaps out of memory"
        case "lost":
            message = "its minder process was killed, perhaps by the step itself"
        case _:
            message = f"exited with {ended.code} before it answered"
    return Failure("ProcessDied", message, detail=tail(ended.stderr.end))


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def tail(raw: bytes) -> str:
    """The end of a stream, for people."""
    return raw[-DETAIL_BYTES_MAX:].decode(errors="replace")
