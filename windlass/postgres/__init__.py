"""PostgreSQL, as the adapters of two ports share it: how to connect, the schema, and what an error means."""

from __future__ import annotations

from windlass.postgres.connection import DatabaseAway, DatabaseUnusable, Place, connect, identity
from windlass.postgres.migration import migrate
from windlass.postgres.verdict import Verdict, may_pass, verdict

__all__ = [
    "DatabaseAway",
    "DatabaseUnusable",
    "Place",
    "Verdict",
    "connect",
    "identity",
    "may_pass",
    "migrate",
    "verdict",
]
