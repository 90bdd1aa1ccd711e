"""Python steps: `with: {call: "module:function", args: {…}}`, run in a warm child process."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import msgspec

from windlass.core.task import Failure, Outcome, Task
from windlass.wire.lightening import Lightener
from windlass.worker import requests
from windlass.worker.calls import CUT, MESSAGE_CHARS_MAX
from windlass.worker.executors import BadStep, bad_step, process_died, read_with, timed_out
from windlass.worker.lines import Log
from windlass.worker.link import Ended
from windlass.worker.masking import Mask
from windlass.worker.processes import Processes
from windlass.worker.progress import Heartbeats
from windlass.worker.secrets import Opened

_decoder: msgspec.json.Decoder[Outcome] = msgspec.json.Decoder(Outcome)


class PythonWith(msgspec.Struct, forbid_unknown_fields=True):
    call: str
    args: dict[str, Any] | None = None  # any JSON


class Python:
    def __init__(self, processes: Processes, log: Log, heartbeats: Heartbeats) -> None:
        self._processes = processes
        self._log = log
        self._heartbeats = heartbeats
        self._lightener = Lightener()

    async def run(self, task: Task, secrets: Opened) -> Outcome:
        try:
            read_with(task, PythonWith)
        except BadStep as error:
            return bad_step(str(error))
        with self._log.of(task, secrets.mask) as lines:
            ask = partial(
                self._processes.run_python,
                timeout_s=task.timeout_s,
                forward_bytes=self._log.bounds.bytes,
                printing=lines.take,
                progressing=partial(self._heartbeats.told, task, secrets.mask),
            )
            light = self._lightener.lighten(secrets.filled(task))
            # Children have what they were sent with earlier tasks; only a new one, or another one, has not.
            fresh = {name: light.bodies[name] for name in light.fresh}
            ended = await ask(requests.encode(light.task, light.places, fresh))
            if ended.how == "missing":
                ended = await ask(requests.encode(light.task, light.places, light.bodies))
        return trimmed(_outcome(task, secrets.ended(ended)), secrets.mask)


def trimmed(outcome: Outcome, mask: Mask) -> Outcome:
    """The child cuts long messages without knowing of secrets: half of one may be left where it cut."""
    if not mask or not isinstance(outcome, Failure):
        return outcome
    message, detail = outcome.message, outcome.detail
    if len(message) > MESSAGE_CHARS_MAX:
        message = mask.between(message, 0, max(0, len(message) - mask.reach)) + "…"
    if detail.startswith(CUT):
        detail = CUT + mask.between(detail, len(CUT) + mask.reach)
    return msgspec.structs.replace(outcome, message=message, detail=detail)


def outcome_of(answer: bytes) -> Outcome:
    try:
        return _decoder.decode(answer)
    except msgspec.DecodeError as error:
        return Failure("ProcessDied", f"answered with something unreadable: {error}")


def _outcome(task: Task, ended: Ended) -> Outcome:
    match ended.how:
        case "answered":
            return outcome_of(ended.answer)
        case "timeout":
            return timed_out(task.timeout_s)
        case "not_started":
            place = "in the data folder: " if ended.answer == b"cwd" else ""
            return Failure("OSError", f"a Python process cannot be started: {place}{os.strerror(ended.code)}")
        case _:
            return process_died(ended)
