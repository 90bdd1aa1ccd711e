"""Windlass: workflows that survive anything."""

from __future__ import annotations

import importlib
from typing import Final

from windlass.core.task import Result, StepContext

__version__ = "0.1.0"

# Found when they are asked for: every process that runs a step imports this package, and few need these.
# Type checkers read __init__.pyi instead.
_LATER: Final = {
    **dict.fromkeys(("Step", "step"), "windlass.sdk.authoring.steps"),
    **dict.fromkeys(("index", "item"), "windlass.sdk.authoring.items"),
    **dict.fromkeys(("Workflow", "workflow"), "windlass.sdk.authoring.workflows"),
    **dict.fromkeys(
        ("approval", "child", "code", "error", "http", "shell", "signal", "sleep", "status", "wait_until"),
        "windlass.sdk.authoring.controls",
    ),
    **dict.fromkeys(("expr",), "windlass.sdk.authoring.values"),
    **dict.fromkeys(("Client",), "windlass.sdk.asynchronous"),
}

__all__ = ["Result", "StepContext", "__version__", *_LATER]


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(_LATER[name]), name)
    globals()[name] = found
    return found
