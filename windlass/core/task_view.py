"""A code task as its readers see it: the shape of seed 003, and after that what we know besides."""

from __future__ import annotations

from windlass.core.execution_task import ExecutionResult, ExecutionTask
from windlass.core.moments import iso
from windlass.core.task import Json


def view(task: ExecutionTask) -> dict[str, Json]:
    return {
        "taskId": task.id,
        "status": task.status.lower(),
        "language": task.language.name,
        "result": None if task.result is None else result(task.result),
        "timestamps": {
            "createdAt": iso(task.created_at),
            "submittedAt": _maybe(task.submitted_at),
            "startedAt": _maybe(task.started_at),
            "completedAt": _maybe(task.completed_at),
        },
        "assignedClient": task.assigned_client or None,
        "final": task.final,
        "attempts": task.attempts,
        "failure": {"type": task.error_type, "message": task.error} if task.error else None,
        "version": task.language.version or None,
        "resourceLimit": {
            "timeout": seconds(task.resource_limit.timeout_s),
            "memory": f"{task.resource_limit.memory_bytes}B",
            "cpu": f"{task.resource_limit.cpu:g}" if task.resource_limit.cpu else None,
        },
        "priority": task.priority,
        "metadata": task.metadata,
    }


def result(found: ExecutionResult) -> dict[str, Json]:
    facts = found.facts
    return {
        "output": found.output,
        "error": found.error,
        "exitCode": found.exit_code,
        "executionTime": None if found.execution_time_s is None else seconds(found.execution_time_s),
        "cpuTime": seconds(float(facts["cpuS"])) if "cpuS" in facts else None,
        "peakMemory": facts.get("peakBytes"),
        "signal": facts.get("signal"),
        "exceeded": facts.get("exceeded"),
        "version": facts.get("version"),
        "tier": facts.get("tier"),
        "protections": facts.get("protections"),
        "files": facts.get("files"),
        "compile": facts.get("compile"),
    }


def seconds(amount_s: float) -> str:
    """1.2s, to the millisecond."""
    return f"{amount_s:.3f}".rstrip("0").rstrip(".") + "s"


def _maybe(at: float | None) -> str | None:
    return None if at is None else iso(at)
