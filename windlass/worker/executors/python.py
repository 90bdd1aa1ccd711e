"""Python steps: `with: {call: "module:function", args: {…}}`, run in a warm child process."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from windlass.core.task import Failure, Outcome, Task
from windlass.worker.executors import BadStep, bad_step, process_died, read_with, timed_out
from windlass.worker.link import Ended, Stream
from windlass.worker.processes import Processes

_encode = msgspec.json.Encoder().encode
_decoder: msgspec.json.Decoder[Outcome] = msgspec.json.Decoder(Outcome)


@dataclass(frozen=True, slots=True)
class Logs:
    """What a step printed: the end of each stream."""

    stdout: Stream
    stderr: Stream


class PythonWith(msgspec.Struct, forbid_unknown_fields=True):
    call: str
    args: dict[str, Any] | None = None  # any JSON


class Python:
    """`on_logs` is called with what the step printed, if it printed anything, before the outcome is known."""

    def __init__(self, processes: Processes, on_logs: Callable[[Task, Logs], None] | None = None) -> None:
        self._processes = processes
        self._on_logs = on_logs

    async def run(self, task: Task) -> Outcome:
        try:
            read_with(task, PythonWith)
        except BadStep as error:
            return bad_step(str(error))
        ended = await self._processes.run_python(_encode(task), timeout_s=task.timeout_s)
        if self._on_logs is not None and (ended.stdout.total_bytes or ended.stderr.total_bytes):
            self._on_logs(task, Logs(ended.stdout, ended.stderr))
        return _outcome(task, ended)


def _outcome(task: Task, ended: Ended) -> Outcome:
    match ended.how:
        case "answered":
            try:
                return _decoder.decode(ended.answer)
            except msgspec.DecodeError as error:
                return Failure("ProcessDied", f"answered with something unreadable: {error}")
        case "timeout":
            return timed_out(task.timeout_s)
        case "not_started":
            place = "in the data folder: " if ended.answer == b"cwd" else ""
            return Failure("OSError", f"a Python process cannot be started: {place}{os.strerror(ended.code)}")
        case _:
            return process_died(ended)
