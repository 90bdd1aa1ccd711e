"""How the PostgreSQL journal finds runs: every question walks one index, newest first."""

from __future__ import annotations

from typing import Any, Final

from windlass.journal import RunQuery
from windlass.journal.postgres_rows import RUN_VALUES
from windlass.journal.search import Ids

FEW: Final = 5_000  # runs that are looked at one by one in a few ms

# (of one workflow?, of one status?) -> the order of the one index for it, read backwards: see the schema.
_ORDERS: Final = {
    (False, False): "r.started_at DESC NULLS LAST, r.id DESC NULLS LAST",
    (True, False): "r.started_at DESC NULLS LAST, r.id DESC NULLS FIRST",
    (False, True): "r.started_at DESC NULLS FIRST, r.id DESC NULLS LAST",
    (True, True): "r.started_at DESC NULLS FIRST, r.id DESC NULLS FIRST",
}
# Those that wait are few, of whatever workflow and status.
_WAITING: Final = "r.started_at DESC, r.id DESC, r.shard DESC"
LABELLED: Final = "labels l JOIN runs r ON r.shard = l.shard AND r.namespace = l.namespace AND r.id = l.id"
BY_LABEL: Final = "l.started_at DESC, l.id DESC"

Statement = tuple[str, list[Any]]


class Writing:
    """A statement being written: values get the numbers that the text refers to them by."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def put(self, value: Any, kind: str) -> str:
        self.values.append(value)
        return f"${len(self.values)}::{kind}"


def newest(query: RunQuery, *, by_label: bool, ids: Ids | None = None) -> Statement:
    """The runs asked for. With a label: by walking the runs that have it, or all others looking for it.

    `ids`: only those. What the query searches for is no part of it: see `postgres_search`.
    """
    to = Writing()
    limit = to.put(query.limit, "bigint")
    source, order = "runs r", order_of(query)
    if query.label is None:
        where = conditions(query, "r", to, ids)
    elif by_label:
        source, order = LABELLED, BY_LABEL
        where = f"{is_label(query, to)} AND {conditions(query, 'l', to, ids)}"
    else:
        where = f"{conditions(query, 'r', to, ids)} AND {has_label(query, to)}"
    return f"SELECT {RUN_VALUES} FROM {source} WHERE {where} ORDER BY {order} LIMIT {limit}", to.values


def are_few(query: RunQuery, ids: Ids | None = None) -> Statement:
    """Whether there are few runs of that kind, whatever their labels.

    Either the label or the rest may be the rare one, and the other that of a million runs; so the rest is
    counted, up to a point.
    """
    to = Writing()
    where = conditions(query, "r", to, ids)
    order = "" if query.waiting_for is None else f"ORDER BY {_WAITING}"
    few = f"SELECT count(*) < {FEW} FROM (SELECT 1 FROM runs r WHERE {where} {order} LIMIT {FEW}) AS found"
    return few, to.values


def order_of(query: RunQuery) -> str:
    if query.waiting_for is not None:
        return _WAITING
    return _ORDERS[query.workflow is not None, query.status is not None]


def is_label(query: RunQuery, to: Writing) -> str:
    assert query.label is not None
    name, value = query.label
    return (
        f"l.namespace = {to.put(query.namespace, 'text')} AND l.key = {to.put(name, 'text')} "
        f"AND l.value = {to.put(value, 'text')}"
    )


def has_label(query: RunQuery, to: Writing) -> str:
    """Asked of one run after the other: OFFSET keeps the planner from asking all labels for their runs."""
    return f"""EXISTS (
      SELECT 1 FROM labels l WHERE l.shard = r.shard AND l.id = r.id AND {is_label(query, to)} OFFSET 0)"""


def conditions(query: RunQuery, t: str, to: Writing, ids: Ids | None = None) -> str:
    """All but the label; `t` is the table by whose times the runs are walked."""
    where = [f"r.namespace = {to.put(query.namespace, 'text')}"]
    if query.workflow is not None:
        where.append(f"r.workflow = {to.put(query.workflow, 'text')}")
    if query.status is not None:
        where.append(f"r.status = {to.put(query.status, 'text')}")
    if query.waiting_for is not None:
        where.append("r.waiting_for <> ''")
        if query.waiting_for != "any":
            where.append(f"r.waiting_for = {to.put(query.waiting_for, 'text')}")
    if query.started_after is not None:
        where.append(f"{t}.started_at > {to.put(query.started_after, 'float8')}")
    if query.started_before is not None:
        where.append(f"{t}.started_at < {to.put(query.started_before, 'float8')}")
    if query.after is not None:
        at, ident = query.after
        where.append(f"({t}.started_at, {t}.id) < ({to.put(at, 'float8')}, {to.put(ident, 'text')})")
    if ids is not None:
        where.append(within(t, ids, to))
    return " AND ".join(where)


def within(t: str, ids: Ids, to: Writing) -> str:
    low = f"{t}.id >= {to.put(ids.low, 'text')}"
    return low if ids.high is None else f"{low} AND {t}.id < {to.put(ids.high, 'text')}"
