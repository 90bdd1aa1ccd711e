"""How the PostgreSQL journal finds runs: every question walks one index, newest first."""

from __future__ import annotations

from typing import Any, Final

from windlass.journal import RunQuery
from windlass.journal.postgres_rows import RUN_VALUES

FEW: Final = 5_000  # runs that are looked at one by one in a few ms

# (of one workflow?, of one status?) -> the order of the one index for it, read backwards: see the schema.
_ORDERS: Final = {
    (False, False): "r.started_at DESC NULLS LAST, r.id DESC NULLS LAST",
    (True, False): "r.started_at DESC NULLS LAST, r.id DESC NULLS FIRST",
    (False, True): "r.started_at DESC NULLS FIRST, r.id DESC NULLS LAST",
    (True, True): "r.started_at DESC NULLS FIRST, r.id DESC NULLS FIRST",
}
_BY_LABEL: Final = "l.started_at DESC, l.id DESC"

Statement = tuple[str, list[Any]]


class _Writing:
    """A statement being written: values get the numbers that the text refers to them by."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def put(self, value: Any, kind: str) -> str:
        self.values.append(value)
        return f"${len(self.values)}::{kind}"


def newest(query: RunQuery, *, by_label: bool) -> Statement:
    """The runs asked for. With a label: by walking the runs that have it, or all others looking for it."""
    to = _Writing()
    limit = to.put(query.limit, "bigint")
    source, order = "runs r", _ORDERS[query.workflow is not None, query.status is not None]
    if query.label is None:
        where = _conditions(query, "r", to)
    elif by_label:
        source = "labels l JOIN runs r ON r.shard = l.shard AND r.namespace = l.namespace AND r.id = l.id"
        where, order = f"{_is_label(query, to)} AND {_conditions(query, 'l', to)}", _BY_LABEL
    else:
        where = f"""{_conditions(query, "r", to)} AND EXISTS (
          SELECT 1 FROM labels l WHERE l.shard = r.shard AND l.id = r.id AND {_is_label(query, to)})"""
    return f"SELECT {RUN_VALUES} FROM {source} WHERE {where} ORDER BY {order} LIMIT {limit}", to.values


def are_few(query: RunQuery) -> Statement:
    """Whether there are few runs of that kind, whatever their labels.

    Either the label or the rest may be the rare one, and the other that of a million runs; so the rest is
    counted, up to a point.
    """
    to = _Writing()
    where = _conditions(query, "r", to)
    few = f"SELECT count(*) < {FEW} FROM (SELECT 1 FROM runs r WHERE {where} LIMIT {FEW}) AS found"
    return few, to.values


def _is_label(query: RunQuery, to: _Writing) -> str:
    assert query.label is not None
    name, value = query.label
    return (
        f"l.namespace = {to.put(query.namespace, 'text')} AND l.key = {to.put(name, 'text')} "
        f"AND l.value = {to.put(value, 'text')}"
    )


def _conditions(query: RunQuery, t: str, to: _Writing) -> str:
    """All but the label; `t` is the table by whose times the runs are walked."""
    where = [f"r.namespace = {to.put(query.namespace, 'text')}"]
    if query.workflow is not None:
        where.append(f"r.workflow = {to.put(query.workflow, 'text')}")
    if query.status is not None:
        where.append(f"r.status = {to.put(query.status, 'text')}")
    if query.started_after is not None:
        where.append(f"{t}.started_at > {to.put(query.started_after, 'float8')}")
    if query.started_before is not None:
        where.append(f"{t}.started_at < {to.put(query.started_before, 'float8')}")
    if query.after is not None:
        at, ident = query.after
        where.append(f"({t}.started_at, {t}.id) < ({to.put(at, 'float8')}, {to.put(ident, 'text')})")
    return " AND ".join(where)
