"""How the SQLite journal finds runs: every question walks one index, newest first."""

from __future__ import annotations

from typing import Any, Final

from windlass.journal import RunQuery
from windlass.journal.search import Ids
from windlass.journal.sqlite_rows import RUN_VALUES

FEW: Final = 5_000  # runs that are looked at one by one in a few ms
IS_LABEL: Final = "l.namespace = ? AND l.key = ? AND l.value = ?"
LABELLED: Final = "labels l CROSS JOIN runs r ON r.shard = l.shard AND r.id = l.id"
HAS_LABEL: Final = f"""EXISTS (
      SELECT 1 FROM labels l WHERE {IS_LABEL}
        AND l.started_at = r.started_at AND l.id = r.id AND l.shard = r.shard)"""
_FOUND: Final = "r.shard = f.shard AND r.namespace = ? AND r.id = f.id"


def runs_statement(query: RunQuery, ids: Ids | None = None) -> tuple[str, list[Any]]:
    """The statement for this query, and its values. Every combination walks one index, newest first.

    `ids`: only those runs. What the query searches for is no part of it: see `sqlite_search`.
    """
    runs = f"runs r INDEXED BY {index(query)}"
    where, values = conditions(query, "r", ids)
    if query.label is None and ids is None:
        return f"{newest(runs, where, 'r')} LIMIT ?", [*values, query.limit]
    if query.label is None:
        # Many may be passed by: their rows are not to be read, only what the index says of them.
        found = f"{newest(runs, where, 'r', 'r.shard, r.id')} LIMIT ?"
        return newest(f"({found}) f CROSS JOIN runs r", _FOUND, "r"), [*values, query.limit, query.namespace]
    label = (query.namespace, *query.label)
    by_label, label_values = conditions(query, "l", ids)
    walk = newest(LABELLED, f"{IS_LABEL} AND {by_label}", "l")
    if (query.workflow, query.status, query.waiting_for) == (None, None, None):
        return f"{walk} LIMIT ?", [*label, *label_values, query.limit]
    # Either may be the rare one, and the other that of a million runs. So it is counted, up to a point, and
    # one of the two walks has no steps.
    few = f"SELECT count(*) < {FEW} AS so FROM (SELECT 1 FROM {runs} WHERE {where} LIMIT {FEW})"
    other = newest(runs, f"{where} AND {HAS_LABEL}", "r")
    sql = f"""
        WITH few AS MATERIALIZED ({few})
        SELECT * FROM ({walk} LIMIT ? * (SELECT NOT so FROM few))
        UNION ALL SELECT * FROM ({other} LIMIT ? * (SELECT so FROM few))"""
    return sql, [*values, *label, *label_values, query.limit, *values, *label, query.limit]


def index(query: RunQuery) -> str:
    """Named, because many conditions on the time lead the planner to the index that has nothing else."""
    if query.waiting_for is not None:
        return "runs_waiting"  # few, of whatever workflow and status
    if query.workflow is not None:
        return "runs_of_workflow" if query.status is None else "runs_of_workflow_by_status"
    return "runs_newest" if query.status is None else "runs_by_status"


def newest(source: str, where: str, t: str, what: str = RUN_VALUES) -> str:
    return f"SELECT {what} FROM {source} WHERE {where} ORDER BY {t}.started_at DESC, {t}.id DESC"


def conditions(query: RunQuery, t: str, ids: Ids | None = None) -> tuple[str, list[Any]]:
    """All but the label; `t` is the table by whose times the runs are walked."""
    where: list[tuple[str, tuple[Any, ...]]] = [("r.namespace = ?", (query.namespace,))]
    if query.workflow is not None:
        where.append(("r.workflow = ?", (query.workflow,)))
    if query.status is not None:
        where.append(("r.status = ?", (query.status,)))
    if query.waiting_for is not None:
        where.append(("r.waiting_for <> ''", ()))
        if query.waiting_for != "any":
            where.append(("r.waiting_for = ?", (query.waiting_for,)))
    if query.started_after is not None:
        where.append((f"{t}.started_at > ?", (query.started_after,)))
    before, after = query.started_before, query.after
    if before is not None and after is not None:
        # One follows from the other. With both, the index would be entered at the wrong one.
        before, after = (before, None) if before <= after[0] else (None, after)
    if before is not None:
        where.append((f"{t}.started_at < ?", (before,)))
    if after is not None:
        where.append((f"({t}.started_at, {t}.id) < (?, ?)", after))
    if ids is not None:
        where.append(within(t, ids))
    return " AND ".join(condition for condition, _ in where), [value for _, given in where for value in given]


def within(t: str, ids: Ids) -> tuple[str, tuple[str, ...]]:
    if ids.high is None:
        return f"{t}.id >= ?", (ids.low,)
    return f"({t}.id >= ? AND {t}.id < ?)", (ids.low, ids.high)
