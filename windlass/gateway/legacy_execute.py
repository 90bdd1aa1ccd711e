"""`POST /execute` of the server that clients know already: a program in, what it printed out, in one call.

stdout and stderr are one text there, and an exit code other than 0 is no error.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Final

import msgspec
from aiohttp import web

from windlass.core.code_request import CodeRequest
from windlass.core.code_step import CODE_BYTES_MAX
from windlass.core.commands import CancelRun
from windlass.core.errors import Refused
from windlass.core.execution_task import ExecutionTask
from windlass.core.names import Key
from windlass.engine.node import Node
from windlass.gateway import answers, bodies, callers, task_views
from windlass.gateway.answers import Problem
from windlass.gateway.task_errors import TaskProblem
from windlass.gateway.task_shapes import Execute, Executed
from windlass.gateway.task_starts import OWN_DOING, TaskStarts
from windlass.gateway.waits import Waits
from windlass.gateway.workflows import command_id

log = logging.getLogger(__name__)

PATH: Final = "/execute"
WAIT_S: Final = 30.0
TOO_LARGE: Final = "code_block exceeds 64KB limit"

_decoder: Final = msgspec.json.Decoder(Execute)


class Failed(Exception):
    """The program could not be run to its end."""


@dataclass(frozen=True, slots=True)
class LegacyExecute:
    node: Node
    starts: TaskStarts
    waits: Waits
    wait_s: float = WAIT_S

    async def execute(self, request: web.Request) -> web.Response:
        asked, caller = await _asked(request), callers.of(request)
        self.starts.check_secrets(asked, caller)
        begun = await self.starts.choose(asked, callers.namespace(request), None)
        callers.about(request, f"task/{begun.key.id}")
        with self.waits.crowd.enter(), self.node.followers.follow(begun.key) as follower:
            deadline = asyncio.get_running_loop().time() + self.wait_s
            await self.starts.start(begun, asked, caller, None)
            ended = await self.waits.ended(follower, deadline)
        if not ended:
            await self._stop(begun.key)
        task = await task_views.folded(self.node, begun.key)
        if task is None or not task.final:
            raise Failed(f"there was no result within {self.wait_s:g} s")
        return answers.json(_executed(task))

    async def _stop(self, key: Key) -> None:
        """Nobody is there any more who wants the result. It may have ended just now."""
        try:
            reason = "whoever asked for it waits no longer"
            command = CancelRun(id=command_id("cancel", None), reason=reason, at=self.node.clock.now())
            await self.node.router.send(key, command)
        except Refused:
            pass


def refusal(error: Exception, request_id: str) -> web.Response:
    """{message}: 400 for a bad request, 500 if it was not run; of the lock, its own status."""
    if isinstance(error, Failed):
        return _message(500, f"execution failed: {error}")
    problem = answers.problem_of(error)
    if problem.status == 500:
        log.error("a request failed", extra={"request": request_id}, exc_info=error)
    words = f"{problem.error}: {problem.message}" if isinstance(error, TaskProblem) else problem.message
    answer = _told(problem, words)
    answer.headers.update(problem.headers)
    if problem.retry_after_s is not None:
        answer.headers["Retry-After"] = str(max(1, round(problem.retry_after_s)))
    if isinstance(error, web.HTTPMethodNotAllowed):
        answer.headers["Allow"] = error.headers["Allow"]
    return answer


def _told(problem: Problem, words: str) -> web.Response:
    if problem.status in (400, 422):
        places = "; ".join(f"{fault.pointer}: {fault.message}".strip(": ") for fault in problem.details)
        return _message(400, words if words == TOO_LARGE else f"invalid request: {places or words}")
    if problem.status < 500:
        return _message(problem.status, words)
    return _message(500, f"execution failed: {words}")


def _message(status: int, message: str) -> web.Response:
    return answers.json({"message": message}, status)


async def _asked(request: web.Request) -> CodeRequest:
    try:
        given = _decoder.decode(await request.read())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem(400, "Invalid request", str(error)) from None
    if len(given.code_block.encode(errors="replace")) > CODE_BYTES_MAX:
        raise Problem(400, "Invalid request", TOO_LARGE)
    return bodies.code_request(
        msgspec.json.encode({"language": given.language, "code": given.code_block}), "json"
    )


def _executed(task: ExecutionTask) -> Executed:
    own = task.status == "COMPLETED" or task.error_type in OWN_DOING
    if not own or task.status == "TIMEOUT" or task.result is None:
        raise Failed(task.error or "it did not run")
    words = task.result.error
    if task.error_type == "ExitCode" and words == task.error:  # it printed nothing there: these are ours
        words = ""
    err = "" if task.status == "COMPLETED" or task.error_type in ("ExitCode", "CompileError") else task.error
    return Executed(id=task.id, result=task.result.output + words, language=task.language.name, err=err)
