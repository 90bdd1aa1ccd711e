"""Notices that a module imported from the users' folders has changed on disk since."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

MARGIN_NS = 20_000_000  # file systems stamp with a coarse clock, which lags a few milliseconds


class Freshness:
    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = tuple(os.path.join(os.path.abspath(folder), "") for folder in folders)
        self._seen: dict[str, tuple[int, int] | None] = {}
        self._modules = 0

    def stale(self) -> bool:
        """Whether some imported file is no longer as it was when it was imported."""
        return any(stamp is None or _stamp(path) != stamp for path, stamp in self._seen.items())

    def note(self, since_ns: int) -> None:
        """Remember what was imported since that moment. A file written later than that may have been read
        before or after: it counts as changed."""
        if len(sys.modules) == self._modules:
            return
        self._modules = len(sys.modules)
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if isinstance(path, str) and path not in self._seen and path.startswith(self._folders):
                stamp = _stamp(path)
                sure = stamp is not None and stamp[0] < since_ns - MARGIN_NS
                self._seen[path] = stamp if sure else None


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
