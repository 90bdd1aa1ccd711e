"""How busy the machine of a worker is: all its processes count, for they are what the tasks started."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

STAT: Final = Path("/proc/stat")
IDLE: Final = slice(3, 5)  # idle, and waiting for a disk
ALL: Final = slice(0, 8)  # what guests use is in these


class Machine:
    """Answers (processor, memory), each 0 to 1. `memory` says its part."""

    def __init__(self, memory: Callable[[], float], stat: Path = STAT) -> None:
        self._memory = memory
        self._stat = stat
        self._before = self._ticks()
        self._cpu = 0.0

    def __call__(self) -> tuple[float, float]:
        (idle, total), (idle_before, total_before) = self._ticks(), self._before
        if total > total_before:  # else it was asked just now, and the last answer is still right
            self._cpu = max(0.0, min(1.0, 1.0 - (idle - idle_before) / (total - total_before)))
            self._before = idle, total
        return round(self._cpu, 4), round(self._memory(), 4)

    def _ticks(self) -> tuple[int, int]:
        """Idle, and all; nothing where the system does not say."""
        try:
            with self._stat.open() as file:
                ticks = [int(word) for word in file.readline().split()[1:]]
        except (OSError, ValueError):
            return 0, 0
        return sum(ticks[IDLE]), sum(ticks[ALL])
