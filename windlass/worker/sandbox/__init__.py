"""Runs programs that nobody trusts. The port is in port.py; probe.py finds the tier that carries here."""

from __future__ import annotations

from windlass.worker.sandbox.port import How, Job, Limits, Protections, Ran, Sandbox, Tried
from windlass.worker.sandbox.probe import ON_REQUEST, best, probe

__all__ = ["ON_REQUEST", "How", "Job", "Limits", "Protections", "Ran", "Sandbox", "Tried", "best", "probe"]
