"""How the SQLite journal searches runs: by their ids and by their workflows, each with the index for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from windlass.journal import RunQuery, RunRow
from windlass.journal import sqlite_lists as lists
from windlass.journal import sqlite_rows as rows
from windlass.journal.search import IDS_FEW, Ids, beginning, merged, named, settles
from windlass.journal.sqlite_rows import Connection

# From one workflow to the next, whatever lies between: as many steps as there are workflows.
WORKFLOWS: Final = """
    WITH RECURSIVE w (id) AS (
      SELECT min(workflow) FROM runs INDEXED BY runs_of_workflow WHERE namespace = :namespace
      UNION ALL
      SELECT (
        SELECT min(workflow) FROM runs INDEXED BY runs_of_workflow
        WHERE namespace = :namespace AND workflow > w.id)
      FROM w WHERE w.id IS NOT NULL)
    SELECT json_group_array(id) FROM w WHERE id IS NOT NULL"""
_BY_ID: Final = "shards s CROSS JOIN runs r ON r.shard = s.shard"
_OF_WORKFLOWS: Final = "json_each(?) w CROSS JOIN runs r INDEXED BY {index} ON r.workflow = w.value"


def runs(cx: Connection, query: RunQuery) -> list[RunRow]:
    assert query.search is not None
    rest, ids = replace(query, search=None), beginning(query.search)
    workflows = [] if query.workflow is not None else _workflows(cx, query.namespace)
    having = named(query.search, workflows)
    if settles(query, having, workflows):
        return _listed(cx, rest)
    if query.waiting_for is not None:
        return _walked(cx, rest, ids, having)
    begun = _gathered(cx, rest, ids) if _few(cx, query, ids) else _listed(cx, rest, ids)
    of_workflows = _newest_of if query.label is None else _labelled
    return merged(begun, of_workflows(cx, rest, having) if having else [], limit=query.limit)


def _workflows(cx: Connection, namespace: str) -> list[str]:
    """Of all runs, whether the workflows are still defined or not."""
    (text,) = cx.execute(WORKFLOWS, {"namespace": namespace}).fetchone()
    found: list[str] = msgspec.json.decode(text)
    return found


def _listed(cx: Connection, query: RunQuery, ids: Ids | None = None) -> list[RunRow]:
    return [rows.run(row) for row in cx.execute(*lists.runs_statement(query, ids)).fetchall()]


def _walked(cx: Connection, query: RunQuery, ids: Ids, workflows: Sequence[str]) -> list[RunRow]:
    """All that there are, where these are few."""
    where, values = lists.conditions(query, "r")
    begin, bounds = lists.within("r", ids)
    found = f"{where} AND ({begin} OR r.workflow IN (SELECT value FROM json_each(?)))"
    values += [*bounds, rows.as_json(workflows)]
    return _sorted(cx, f"runs r INDEXED BY {lists.index(query)}", found, values, query)


def _few(cx: Connection, query: RunQuery, ids: Ids) -> bool:
    """Whatever else is asked of them: to look for what is rare among very many would take long, too."""
    where, values = lists.conditions(RunQuery(namespace=query.namespace), "r", ids)
    few = IDS_FEW if query.label is None else lists.FEW  # whose labels are looked at one by one
    return _fewer(cx, f"{_BY_ID} WHERE {where}", values, few)


def _fewer(cx: Connection, source: str, values: list[Any], few: int) -> bool:
    (count,) = cx.execute(f"SELECT count(*) FROM (SELECT 1 FROM {source} LIMIT {few})", values).fetchone()
    return int(count) < few


def _gathered(cx: Connection, query: RunQuery, ids: Ids) -> list[RunRow]:
    """By their ids, and sorted then: good for few."""
    where, values = lists.conditions(query, "r", ids)
    return _sorted(cx, _BY_ID, where, values, query)


def _sorted(cx: Connection, source: str, where: str, values: list[Any], query: RunQuery) -> list[RunRow]:
    if query.label is not None:
        where, values = f"{where} AND {lists.HAS_LABEL}", [*values, query.namespace, *query.label]
    found = cx.execute(f"{lists.newest(source, where, 'r')} LIMIT ?", [*values, query.limit]).fetchall()
    return [rows.run(row) for row in found]


def _newest_of(cx: Connection, query: RunQuery, workflows: Sequence[str]) -> list[RunRow]:
    """One workflow after the other, those with the newest runs first, until no other can add to the list."""
    found: list[RunRow] = []
    for newest, workflow in _by_newest(cx, query, workflows):
        since = query.started_after
        if len(found) == query.limit:
            oldest = found[-1].started_at
            if newest < oldest:
                break
            # What is as old may be shown, too; what is older may not.
            since = max(-math.inf if since is None else since, math.nextafter(oldest, -math.inf))
        more = _listed(cx, replace(query, workflow=workflow, started_after=since))
        found = merged(found, more, limit=query.limit)
    return found


def _by_newest(cx: Connection, query: RunQuery, workflows: Sequence[str]) -> list[tuple[float, str]]:
    """When each began last. So many as runs are asked for: the runs of all others are older than these."""
    where, values = lists.conditions(query, "r")
    index = lists.index(replace(query, workflow=""))
    sql = f"""
        SELECT n.started_at, n.workflow FROM json_each(?) w
        CROSS JOIN runs n ON n.namespace = ? AND n.workflow = w.value AND (n.started_at, n.id) = (
          SELECT r.started_at, r.id FROM runs r INDEXED BY {index} WHERE {where} AND r.workflow = w.value
          ORDER BY r.started_at DESC, r.id DESC LIMIT 1)
        ORDER BY n.started_at DESC, n.id DESC LIMIT ?"""
    asked = [rows.as_json(workflows), query.namespace, *values, query.limit]
    return cx.execute(sql, asked).fetchall()


def _labelled(cx: Connection, query: RunQuery, workflows: Sequence[str]) -> list[RunRow]:
    """Either the label or the workflows may be rare: the runs of these are counted, up to a point."""
    assert query.label is not None
    listed = rows.as_json(workflows)
    where, values = lists.conditions(query, "r")
    source = _OF_WORKFLOWS.format(index=lists.index(replace(query, workflow="")))
    if _fewer(cx, f"{source} WHERE {where}", [listed, *values], lists.FEW):
        return _sorted(cx, source, where, [listed, *values], query)
    where, values = lists.conditions(query, "l")
    walk = f"{lists.IS_LABEL} AND {where} AND r.workflow IN (SELECT value FROM json_each(?))"
    asked = [query.namespace, *query.label, *values, listed, query.limit]
    found = cx.execute(f"{lists.newest(lists.LABELLED, walk, 'l')} LIMIT ?", asked).fetchall()
    return [rows.run(row) for row in found]
