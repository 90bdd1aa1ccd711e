"""Python steps whose function is async: in a loop of their own; all others in processes, as ever."""

from __future__ import annotations

import asyncio
from functools import partial

from windlass.core.task import Json, Outcome, Task
from windlass.worker.calls import arguments_of, failed, success
from windlass.worker.executors import BadStep, bad_step, read_with
from windlass.worker.executors.python import Python, PythonWith, outcome_of, trimmed
from windlass.worker.late_context import Tell
from windlass.worker.lines import Log
from windlass.worker.progress import Heartbeats
from windlass.worker.secrets import Opened
from windlass.worker.streams import TaskOutput
from windlass.worker.telling import details_json
from windlass.worker.user_loop import Function, UserLoop


class AsyncPython:
    """Steps of `with: {call: "module:function"}`; `children` takes those that are not async."""

    def __init__(self, loop: UserLoop, log: Log, heartbeats: Heartbeats, children: Python) -> None:
        self._loop = loop
        self._log = log
        self._heartbeats = heartbeats
        self._children = children

    async def run(self, task: Task, secrets: Opened) -> Outcome:
        try:
            wanted = read_with(task, PythonWith)
        except BadStep as error:
            return bad_step(str(error))
        function = await self._loop.find(wanted.call)
        if function is None:
            return await self._children.run(task, secrets)
        loop = asyncio.get_running_loop()

        def tell(details: Json) -> None:
            """From the thread of the step."""
            loop.call_soon_threadsafe(self._heartbeats.told, task, secrets.mask, details_json(details))

        with self._log.of(task, secrets.mask) as lines:
            output = TaskOutput(self._log.bounds.bytes, lines.take)
            work = partial(_call, function, secrets.filled(task), tell)
            try:
                answer = await self._loop.run(task, work, output.context())
            finally:
                output.flush()
        return trimmed(outcome_of(answer), secrets.mask)


async def _call(function: Function, task: Task, tell: Tell) -> bytes:
    me = asyncio.current_task()
    assert me is not None
    try:
        return success(await function(**arguments_of(function, task, tell)))
    except BaseException as error:  # whatever user code raises is its failure and not ours,
        if isinstance(error, asyncio.CancelledError) and me.cancelling():
            raise  # unless it is we who end it
        return failed(error)
