"""How busy this process is."""

from __future__ import annotations

from windlass.core.cluster import Load


class Probe:
    def __init__(self, *, overload_cpu: float, overload_memory: float, refuse_memory: float) -> None:
        pass

    def __call__(self) -> Load:
        return Load()
