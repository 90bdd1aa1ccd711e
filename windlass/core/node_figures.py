"""What one node has counted since it started, and what is there now: as it tells others."""

from __future__ import annotations

import msgspec

from windlass.core.spread import Shares


class NodeFigures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    node: str  # its name
    at: float
    lease_fresh: bool = True  # it surely owns its shards
    trouble: str = ""  # why the journal cannot be written now
    commits: int = 0
    rows: int = 0  # that they held
    refused: int = 0
    unknown: int = 0
    commit_s: Shares = Shares()
    events: int = 0
    snapshots: int = 0
    live: int = 0
    inbox: int = 0
    timers: int = 0
    runs_started: int = 0
    runs_ended: int = 0
    recovered: int = 0
    restarts: int = 0
    waiting: int = 0  # tasks
    running: int = 0
    lost: int = 0
    routing_s: Shares = Shares()
