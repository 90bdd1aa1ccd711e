"""How an error is told: each surface has its own shape for all of them."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from windlass.gateway import answers, legacy_execute, task_errors

TASKS: Final = ("/api/v1/tasks", "/api/tasks")


def refusal(path: str, error: Exception, request_id: str, **subject: str) -> web.Response:
    if any(path == root or path.startswith(f"{root}/") for root in TASKS):
        return task_errors.refusal(error, request_id)
    if path == legacy_execute.PATH:
        return legacy_execute.refusal(error, request_id)
    return answers.refusal(error, request_id, **subject)


def subject(request: web.Request) -> dict[str, str]:
    """What the request was about, for those who read answers by program."""
    names = {"workflow": "workflowId", "run": "runId"}
    return {names[part]: value for part, value in request.match_info.items() if part in names}
