"""Pipeline steps: `with: {stages, edges}`, run in a process of their own; see windlass.worker.pipeline."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from windlass.core.task import Failure, Outcome, Task
from windlass.worker.executors import process_died, timed_out
from windlass.worker.executors.python import outcome_of
from windlass.worker.lines import Log
from windlass.worker.link import Ended
from windlass.worker.pipeline import BOOTSTRAP, Request
from windlass.worker.pipeline.files import Folders
from windlass.worker.pipeline.parts import clear_all
from windlass.worker.processes import ROOT, Processes
from windlass.worker.progress import Heartbeats
from windlass.worker.secrets import Opened

FILES: Final = "files"  # the folder for files in the data folder, where no other was named
ARGV: Final = (sys.executable, "-P", "-c", BOOTSTRAP, str(ROOT))

_encode = msgspec.json.Encoder().encode


def processes_of(*, slots: int, cwd: Path, env: Mapping[str, str], memory_bytes: int) -> Processes:
    """Apart from those of Python steps, whose warm children would have to make room."""
    return Processes(slots=slots, folders=(), cwd=cwd, env=env, memory_bytes=memory_bytes, argv=ARGV)


class Pipeline:
    """File stages stay under `folders`; relative paths are under the first."""

    def __init__(
        self, processes: Processes, log: Log, heartbeats: Heartbeats, *, folders: Sequence[Path]
    ) -> None:
        self._processes = processes
        self._log = log
        self._heartbeats = heartbeats
        self._folders = tuple(map(os.path.abspath, folders))

    async def run(self, task: Task, secrets: Opened) -> Outcome:
        filled, ended = secrets.filled(task), None
        try:
            with self._log.of(task, secrets.mask) as lines:
                ended = await self._processes.run_python(
                    _encode(Request(_bare(filled), self._folders)),
                    timeout_s=task.timeout_s,
                    forward_bytes=self._log.bounds.bytes,
                    printing=lines.take,
                    progressing=partial(self._heartbeats.told, task, secrets.mask),
                )
        finally:
            if ended is None or ended.how != "answered":
                # It was killed, and could not take away what it had begun.
                await asyncio.to_thread(clear_all, Folders(self._folders), filled, _paths(filled))
        return _outcome(task, secrets.ended(ended))


def _bare(task: Task) -> Task:
    """Without what a pipeline does not look at, and what may be large."""
    return msgspec.structs.replace(task, input=None, context={}, parents={}, progress=None)


def _paths(task: Task) -> list[str]:
    """All that may have been written to, and others: looking there does no harm."""
    stages = task.with_.get("stages")
    configs = [stage.get("config") for stage in stages or () if isinstance(stage, dict)]
    paths = [config.get("path") for config in configs if isinstance(config, dict)]
    return [path for path in paths if isinstance(path, str)]


def _outcome(task: Task, ended: Ended) -> Outcome:
    match ended.how:
        case "answered":
            return outcome_of(ended.answer)
        case "timeout":
            return timed_out(task.timeout_s)
        case "not_started":
            return Failure("OSError", f"a process cannot be started: {os.strerror(ended.code)}")
        case _:
            return process_died(ended)
