"""What a dispatcher has done, counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Tally:
    offered: int = 0
    granted: int = 0
    abroad: int = 0  # of these, to workers of other nodes
    adopted: int = 0
    lost: int = 0
    recalled: int = 0
    by_strategy: Counter[str] = field(default_factory=Counter)
