"""Windlass: workflows that survive anything."""

from windlass.core.task import Result, StepContext

__all__ = ["Result", "StepContext", "__version__"]
__version__ = "0.1.0"
