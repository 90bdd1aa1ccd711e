"""How the PostgreSQL journal finds runs among many: it walks one index, and reads or sorts nothing else."""

import asyncio
from typing import Any

import asyncpg

from tests import postgres
from windlass.journal import RunQuery
from windlass.journal import postgres_rows as rows
from windlass.journal.postgres_lists import Statement, are_few, newest
from windlass.postgres import connect
from windlass.postgres.readers import FOR_READING

# Most runs are of one huge workflow and have succeeded; one in a hundred has the label.
SEED = """
    INSERT INTO runs
    SELECT n % 10, 'default', 'r' || n, n, CASE WHEN n % 20 = 0 THEN 'rare' ELSE 'huge' END, 1,
      CASE WHEN n % 500 = 0 THEN 'running' ELSE 'succeeded' END, n, n + 1, 0,
      CASE WHEN n % 100 = 0 THEN '{"team":"x"}' ELSE '{}' END, '', '', n % 500 <> 0, false, NULL, false
    FROM generate_series(1, 30000) n;
    UPDATE runs SET waiting_for = 'approval' WHERE NOT settled;
    INSERT INTO labels
    SELECT n % 10, 'default', 'r' || n, 'team', 'x', n FROM generate_series(100, 30000, 100) n;
    INSERT INTO entities
    SELECT n % 10, 'workflow', 'default', 'w' || n, n, CASE WHEN n % 50 = 0 THEN n END, n % 70 = 0, '{}'
    FROM generate_series(1, 30000) n;
    ANALYZE runs; ANALYZE labels; ANALYZE entities"""
CASES: list[tuple[dict[str, Any], str]] = [
    ({}, "runs_newest"),
    ({"workflow": "huge"}, "runs_of_workflow"),
    ({"workflow": "rare"}, "runs_of_workflow"),
    ({"status": "running"}, "runs_by_status"),
    ({"status": "succeeded"}, "runs_by_status"),
    ({"workflow": "huge", "status": "running"}, "runs_of_workflow_by_status"),
    ({"workflow": "rare", "status": "succeeded"}, "runs_of_workflow_by_status"),
    ({"label": ("team", "x")}, "labels_newest"),
    ({"waiting_for": "any"}, "runs_waiting"),
    ({"waiting_for": "approval"}, "runs_waiting"),
    ({"waiting_for": "signal", "workflow": "huge", "status": "running"}, "runs_waiting"),
]
WHEN: list[dict[str, Any]] = [
    {},
    {"after": (15_000.0, "r15000")},
    {"started_after": 9_000.0, "started_before": 20_000.0},
]

ENTITIES: list[tuple[str, list[Any], str]] = [
    (rows.ENTITY_ROWS, ["workflow", "default", "w1500", 100], "entities_by_id"),
    (rows.UNSETTLED_ENTITIES, [3], "entities_unsettled"),
]


def test_every_list_walks_the_index_made_for_it() -> None:
    async def story() -> None:
        place = await postgres.emptied("windlass_lists")
        cx = await connect(place, application="windlass test")
        try:
            await cx.execute(SEED)
            await cx.execute(FOR_READING)
            for given, index in CASES:
                for when in WHEN:
                    query = RunQuery(**given, **when)
                    lines = await plan(cx, newest(query, by_label=query.label is not None))
                    assert any(f"using {index} " in line for line in lines), (query, lines)
                    assert not [line for line in lines if "Sort" in line or "Seq Scan" in line], (
                        query,
                        lines,
                    )
            for sql, values, index in ENTITIES:
                lines = await plan(cx, (sql, values))
                assert any(f"using {index} " in line for line in lines), lines
                assert not [line for line in lines if "Sort" in line or "Seq Scan" in line], lines
            waiting = RunQuery(waiting_for="any", label=("team", "x"))
            for statement in (newest(waiting, by_label=False), are_few(waiting)):
                lines = await plan(cx, statement)
                assert any("using runs_waiting " in line for line in lines), lines
            both = RunQuery(workflow="rare", status="running", label=("team", "x"))
            for statement in (newest(both, by_label=True), newest(both, by_label=False), are_few(both)):
                lines = await plan(cx, statement)
                assert not [line for line in lines if "Seq Scan" in line], lines
        finally:
            cx.terminate()
            await postgres.dropped(place.schema)

    asyncio.run(story())


async def plan(cx: asyncpg.Connection, statement: Statement) -> list[str]:
    sql, values = statement
    return [line for (line,) in await cx.fetch(f"EXPLAIN {sql}", *values)]
