"""PostgreSQL, as the adapters of two ports share it: how to connect, the schema, and what an error means."""

from __future__ import annotations

from windlass.postgres.connection import DatabaseUnusable, Place, connect, identity
from windlass.postgres.migration import migrate
from windlass.postgres.verdict import Verdict, verdict

__all__ = ["DatabaseUnusable", "Place", "Verdict", "connect", "identity", "migrate", "verdict"]
