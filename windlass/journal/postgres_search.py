"""How the PostgreSQL journal lists and searches runs: by ids and by workflows, each with the index for it."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any, Final, Protocol

from msgspec.structs import replace

from windlass.journal import RunQuery, RunRow
from windlass.journal import postgres_lists as lists
from windlass.journal import postgres_rows as rows
from windlass.journal.postgres_lists import Statement, Writing
from windlass.journal.search import IDS_FEW, Ids, beginning, merged, named, settles

# From one workflow to the next, whatever lies between: as many steps as there are workflows.
WORKFLOWS: Final = """
    WITH RECURSIVE w (id) AS (
      (SELECT workflow FROM runs WHERE namespace = $1 ORDER BY workflow LIMIT 1)
      UNION ALL
      SELECT (
        SELECT workflow FROM runs WHERE namespace = $1 AND workflow > w.id ORDER BY workflow LIMIT 1)
      FROM w WHERE w.id IS NOT NULL)
    SELECT id FROM w WHERE id IS NOT NULL"""
_NEWEST: Final = "ORDER BY r.started_at DESC, r.id DESC"


class Ask(Protocol):
    def __call__(self, sql: str, *values: Any) -> Awaitable[list[Any]]: ...


async def runs(ask: Ask, query: RunQuery) -> list[RunRow]:
    if query.search is None:
        return await _listed(ask, query)
    if "\0" in query.search:  # which no text here can have
        return []
    rest, ids = replace(query, search=None), beginning(query.search)
    known = [] if query.workflow is not None else await ask(WORKFLOWS, query.namespace)
    workflows = [workflow for (workflow,) in known]
    having = named(query.search, workflows)
    if settles(query, having, workflows):
        return await _listed(ask, rest)
    if query.waiting_for is not None:
        return await _runs(ask, walked(rest, ids, having))
    if await _so(ask, few_begin_so(query, ids)):
        begun = await _runs(ask, gathered(rest, ids))
    else:
        begun = await _listed(ask, rest, ids)
    return merged(begun, await _of_workflows(ask, rest, having) if having else [], limit=query.limit)


async def _listed(ask: Ask, query: RunQuery, ids: Ids | None = None) -> list[RunRow]:
    by_label = query.label is not None
    if by_label and (query.workflow, query.status, query.waiting_for) != (None, None, None):
        by_label = not await _so(ask, lists.are_few(query, ids))
    return await _runs(ask, lists.newest(query, by_label=by_label, ids=ids))


async def _of_workflows(ask: Ask, query: RunQuery, workflows: Sequence[str]) -> list[RunRow]:
    if query.label is None:
        return await _runs(ask, newest_of(query, workflows))
    # Either the label or the workflows may be rare.
    few = await _so(ask, few_of(query, workflows))
    return await _runs(ask, labelled_of(query, workflows, by_label=not few))


async def _so(ask: Ask, statement: Statement) -> bool:
    sql, values = statement
    return bool((await ask(sql, *values))[0][0])


async def _runs(ask: Ask, statement: Statement) -> list[RunRow]:
    sql, values = statement
    return [rows.run(row) for row in await ask(sql, *values)]


def walked(query: RunQuery, ids: Ids, workflows: Sequence[str]) -> Statement:
    """All that there are, where these are few."""
    to = Writing()
    begin = lists.within("r", ids, to)
    found = f"({begin} OR r.workflow = ANY ({to.put(list(workflows), 'text[]')}))"
    where = f"{found} AND {lists.conditions(query, 'r', to)}"
    if query.label is not None:
        where = f"{where} AND {lists.has_label(query, to)}"
    limit = to.put(query.limit, "bigint")
    order = lists.order_of(query)
    return f"SELECT {rows.RUN_VALUES} FROM runs r WHERE {where} ORDER BY {order} LIMIT {limit}", to.values


def few_begin_so(query: RunQuery, ids: Ids) -> Statement:
    """Whatever else is asked of them: to look for what is rare among very many would take long, too."""
    to = Writing()
    few = IDS_FEW if query.label is None else lists.FEW  # whose labels are looked at one by one
    source = _by_id("1", lists.conditions(RunQuery(namespace=query.namespace), "r", to, ids))
    return f"SELECT count(*) < {few} FROM (SELECT 1 FROM {source} LIMIT {few}) AS found", to.values


def gathered(query: RunQuery, ids: Ids) -> Statement:
    """By their ids, and sorted then: good for few."""
    to = Writing()
    source = _by_id("*", lists.conditions(RunQuery(namespace=query.namespace), "r", to, ids))
    where = lists.conditions(query, "r", to)
    if query.label is not None:
        where = f"{where} AND {lists.has_label(query, to)}"
    return _sorted(source, where, query, to), to.values


def newest_of(query: RunQuery, workflows: Sequence[str]) -> Statement:
    """The newest run of each of these workflows says which of them can add to the list, and from when on."""
    to, order = Writing(), lists.order_of(replace(query, workflow=""))
    limit, given = to.put(query.limit, "bigint"), to.put(list(workflows), "text[]")
    where = lists.conditions(query, "r", to)
    sql = f"""
        WITH last AS MATERIALIZED (
          SELECT w.id AS workflow, r.started_at FROM unnest({given}) AS w (id) CROSS JOIN LATERAL (
            SELECT r.started_at, r.id FROM runs r WHERE {where} AND r.workflow = w.id
            ORDER BY {order} LIMIT 1) r
          {_NEWEST} LIMIT {limit}),
        since AS MATERIALIZED (
          SELECT CASE WHEN count(*) < {limit} THEN '-infinity' ELSE min(started_at) END AS at FROM last)
        SELECT {rows.RUN_VALUES} FROM last CROSS JOIN LATERAL (
          SELECT * FROM runs r
          WHERE {where} AND r.workflow = last.workflow AND r.started_at >= (SELECT at FROM since)
          ORDER BY {order} LIMIT {limit}) r
        {_NEWEST} LIMIT {limit}"""
    return sql, to.values


def few_of(query: RunQuery, workflows: Sequence[str]) -> Statement:
    to = Writing()
    source = _of("1", lists.conditions(query, "r", to), workflows, to)
    return (
        f"SELECT count(*) < {lists.FEW} FROM (SELECT 1 FROM {source} LIMIT {lists.FEW}) AS found",
        to.values,
    )


def labelled_of(query: RunQuery, workflows: Sequence[str], *, by_label: bool) -> Statement:
    to = Writing()
    if not by_label:
        source = _of("*", lists.conditions(query, "r", to), workflows, to)
        return _sorted(source, lists.has_label(query, to), query, to), to.values
    where = f"{lists.is_label(query, to)} AND {lists.conditions(query, 'l', to)}"
    walk = f"{where} AND r.workflow = ANY ({to.put(list(workflows), 'text[]')})"
    limit = to.put(query.limit, "bigint")
    sql = (
        f"SELECT {rows.RUN_VALUES} FROM {lists.LABELLED} WHERE {walk} ORDER BY {lists.BY_LABEL} LIMIT {limit}"
    )
    return sql, to.values


def _by_id(what: str, where: str) -> str:
    """The runs of each shard by its key: not a walk over all, whatever the planner thinks of it."""
    return f"""shards s CROSS JOIN LATERAL (
      SELECT {what} FROM runs r WHERE r.shard = s.shard AND {where} OFFSET 0) r"""


def _of(what: str, where: str, workflows: Sequence[str], to: Writing) -> str:
    return f"""unnest({to.put(list(workflows), "text[]")}) AS w (id) CROSS JOIN LATERAL (
      SELECT {what} FROM runs r WHERE {where} AND r.workflow = w.id OFFSET 0) r"""


def _sorted(source: str, where: str, query: RunQuery, to: Writing) -> str:
    limit = to.put(query.limit, "bigint")
    return f"SELECT {rows.RUN_VALUES} FROM {source} WHERE {where} {_NEWEST} LIMIT {limit}"
