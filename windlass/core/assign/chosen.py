"""One choice of a worker, as the node that made it remembers it: facts, of which others make words."""

from __future__ import annotations

from typing import Literal

import msgspec

from windlass.core.assign.placed import Placed

Source = Literal["cluster", "workflow", "step"]


class Chosen(msgspec.Struct, frozen=True, array_like=True):
    at: float
    namespace: str
    workflow: str
    run: str
    step: str
    attempt: int
    worker: str
    node: str  # where that worker is connected: a NodeId
    strategy: str  # that was in force; `placed` has what was followed in the end
    source: Source  # who said so
    known: int  # workers of the cluster at that time, whatever they could do
    placed: Placed | None


class Sought(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """Which choices are asked for; what is empty is any."""

    limit: int
    namespace: str = ""
    workflow: str = ""
    worker: str = ""

    def fits(self, chosen: Chosen) -> bool:
        return (
            self.namespace in ("", chosen.namespace)
            and self.workflow in ("", chosen.workflow)
            and self.worker in ("", chosen.worker)
        )
