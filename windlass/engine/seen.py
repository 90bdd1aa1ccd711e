"""A run as a reader is shown it."""

from __future__ import annotations

from dataclasses import dataclass

from windlass.core.run_model import RunImage
from windlass.journal import RunRow


@dataclass(frozen=True, slots=True)
class Seen:
    seq: int
    image: RunImage | None  # None: its events were deleted, and only its row is left
    row: RunRow
