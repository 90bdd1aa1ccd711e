"""One vocabulary, and the one table that maps it to every older surface."""

from __future__ import annotations

from typing import Final, Literal

RunStatus = Literal[
    "queued", "running", "paused", "succeeded", "partial_success", "failed", "cancelled", "stuck"
]
StepStatus = Literal["waiting", "queued", "running", "succeeded", "failed", "skipped", "cancelled"]
WaitingFor = Literal["", "approval", "release", "signal"]  # of a run: from outside

ENDED: Final = frozenset({"succeeded", "partial_success", "failed", "cancelled"})

# Ours → the states of seed 000's HTTP answers.
STATE: Final[dict[str, str]] = {
    "queued": "running",
    "running": "running",
    "paused": "running",
    "succeeded": "completed",
    "partial_success": "completed",
    "failed": "failed",
    "cancelled": "failed",
    "stuck": "failed",
}

# Ours → the states of a node in seed 000's history. A step that waits to be tried again has begun.
NODE_STATE: Final[dict[StepStatus, str]] = {
    "waiting": "running",
    "queued": "running",
    "running": "running",
    "succeeded": "completed",
    "failed": "failed",
    "skipped": "failed",
    "cancelled": "failed",
}

# Ours → the instance status of seed 002's tables. The SQL views repeat it; a test compares them.
INSTANCE_STATUS: Final[dict[str, str]] = {
    "queued": "WAITING",
    "running": "RUNNING",
    "paused": "RUNNING",
    "succeeded": "SUCCEED",
    "partial_success": "PARTIAL_SUCCESS",
    "failed": "FAILED",
    "cancelled": "STOPPED",
    "stuck": "FAILED",
}
