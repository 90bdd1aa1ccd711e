"""The latest choices of workers that this node has made, in memory: why each task went where it went."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from windlass.core.assign.chosen import Chosen, Sought
from windlass.core.fleet import Seen
from windlass.engine.queues import Entry

KEPT: Final = 200


@dataclass(frozen=True, slots=True)
class Choices:
    now: Callable[[], float] = float  # 0.0 where nobody asks
    _kept: deque[Chosen] = field(default_factory=lambda: deque(maxlen=KEPT))

    def note(self, entry: Entry, workflow: str, seen: Seen, usual: str, known: int) -> None:
        """`usual`: the strategy of the cluster. Every task comes by here: nothing is put into words."""
        said = entry.assign
        own = said is not None and said.strategy
        self._kept.append(
            Chosen(
                self.now(),
                entry.key.namespace,
                workflow,
                entry.key.id,
                entry.step,
                entry.attempt,
                seen.id,
                seen.node,
                own or usual,
                ("step" if entry.by_step else "workflow") if own else "cluster",
                known,
                entry.placed,
            )
        )

    def latest(self, sought: Sought) -> list[Chosen]:
        """Newest first."""
        return list(islice(filter(sought.fits, reversed(self._kept)), sought.limit))
