"""Snapshots: taken right after a commit, when memory holds nothing that is not kept.

They go to disk with the next commit. One is due every so many events, but never before the events since
the last one outweigh it.
"""

from __future__ import annotations

import logging

from windlass.core.names import Key
from windlass.engine.live import Live, snapshot, workflow_of
from windlass.journal import Group, Snapshot

log = logging.getLogger(__name__)


class Snapshots:
    def __init__(self, *, every: int, delete_events: bool) -> None:
        self._every = every
        self._delete_events = delete_events
        self._taken: dict[Key, tuple[Live, Snapshot]] = {}

    def __bool__(self) -> bool:
        return bool(self._taken)

    def take_if_due(self, live: Live, level: int) -> bool:
        if live.seq - live.snapshot_seq < self._every or live.key in self._taken:
            return False
        if live.bytes_since < live.snapshot_bytes:
            return False
        self._taken[live.key] = (live, snapshot(live, level))
        return True

    def join(self, group: Group) -> None:
        for live, taken in self._taken.values():
            group.snapshots.append(taken)
            # Nobody reads what a limit or a schedule did, and a busy one does much. Versions are kept apart.
            deletes = self._delete_events or live.key.kind != "run"
            if deletes and live.snapshot_seq > 0:
                # Not even the older of the two snapshots kept needs these.
                group.deletions.append((live.key, live.snapshot_seq))

    def kept(self) -> int:
        """They are on disk; answers how many."""
        count = len(self._taken)
        for live, taken in self._taken.values():
            live.snapshot_seq, live.snapshot_bytes, live.bytes_since = taken.seq, len(taken.body), 0
            extra = {"workflow": workflow_of(live), "run": live.key.id, "seq": taken.seq}
            log.info("snapshot kept", extra=extra)
        self._taken.clear()
        return count

    def drop(self, key: Key) -> None:
        self._taken.pop(key, None)

    def clear(self) -> None:
        self._taken.clear()
