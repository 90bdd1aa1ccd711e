"""How runs are searched: what begins with a text, whichever way is the shorter, and without reading all."""

import asyncio
import itertools
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Literal

import pytest

from tests import postgres
from tests.journal import Place, keep, row
from windlass.journal import (
    RunQuery,
    RunRow,
    Store,
    postgres_lists,
    postgres_rows,
    postgres_search,
    sqlite_lists,
    sqlite_search,
)
from windlass.journal.postgres_lists import Statement
from windlass.journal.search import Ids, beginning
from windlass.journal.sqlite import SqliteStore
from windlass.postgres import connect
from windlass.postgres.readers import FOR_READING


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", Ids("", None)),
        ("run-1", Ids("run-1", "run-2")),
        ("a/", Ids("a/", "a0")),
        ("z", Ids("z", "{")),
        ("x\ud7ff", Ids("x\ud7ff", "x\ue000")),
        ("x\U0010ffff", Ids("x\U0010ffff", "y")),
        ("\U0010ffff\U0010ffff", Ids("\U0010ffff\U0010ffff", None)),
    ],
)
def test_the_ids_that_begin_with_a_text_end_before_the_next_text(text: str, ids: Ids) -> None:
    assert beginning(text) == ids
    within = [f"{text}{end}" for end in ("", "0", "zz", "\U0010ffff" * 3)]
    assert all(ids.low <= ident and (ids.high is None or ident < ids.high) for ident in within)


FEW = [(0, 0), (40, 12), (1_000_000, 1_000_000)]  # never, in between, always


@pytest.mark.parametrize("adapter", ["sqlite", "postgres"])
@pytest.mark.parametrize(("ids_few", "few"), FEW)
def test_all_ways_to_search_find_the_same(
    ids_few: int, few: int, adapter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (sqlite_search, postgres_search):
        monkeypatch.setattr(module, "IDS_FEW", ids_few)
    for module in (sqlite_lists, postgres_lists):
        monkeypatch.setattr(module, "FEW", few)
    asyncio.run(searched(Place(adapter, tmp_path), Place("memory", tmp_path)))


async def searched(place: Place, memory: Place) -> None:
    stores = [await place.open(), await memory.open()]
    rows = [
        row(
            f"{'ab'[n % 2]}{n % 11}{n}",
            float(n // 5),
            workflow=f"w{n % 9}",
            status=("running", "failed")[n % 3 == 0],
            labels={"k": "v"} if n % 4 else {},
            waiting_for=("approval", "signal", "", "")[n % 4],
        )
        for n in range(150)
    ]
    for store in stores:
        await store.claim([0, 1])
        await keep(store, runs=rows[::2])
        await keep(store, shard=1, runs=rows[1::2])
    texts, labels = ("a", "b1", "W", "w3", "3", "a10", "zz"), (None, ("k", "v"), ("k", "other"))
    statuses, workflows, afters = (None, "failed"), (None, "w3"), (None, (20.0, "a5"))
    waits: tuple[Literal["any", "signal"] | None, ...] = (None, "any", "signal")
    for given in itertools.product(texts, labels, statuses, workflows, waits, afters, (4, 1000)):
        text, label, status, workflow, waiting, after, limit = given
        query = RunQuery(
            search=text,
            label=label,
            status=status,
            workflow=workflow,
            waiting_for=waiting,
            after=after,
            limit=limit,
        )
        found, wanted = [await store.runs(query) for store in stores]
        assert found == wanted, given
    for store in stores:
        await store.close()


MANY = 20_000
LONG = {
    "an id": RunQuery(search="r07777"),
    "an id and a common label": RunQuery(search="r07777", label=("team", "a")),
    "a common beginning": RunQuery(search="r"),
    "a common beginning of a rare status": RunQuery(search="r", status="failed"),
    "a rare workflow of long ago": RunQuery(search="RARE"),
    "a common workflow": RunQuery(search="nightl"),
    "a rare label of a common workflow": RunQuery(search="nightl", label=("who", "b")),
    "a common label of a rare workflow": RunQuery(search="rare", label=("team", "a")),
    "a rare status of a common workflow": RunQuery(search="nightl", status="failed"),
    "what nobody has": RunQuery(search="%"),
}


def test_no_search_reads_all_runs_to_find_a_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Given many runs that are nearly all alike
    monkeypatch.setattr(sqlite_search, "IDS_FEW", sqlite_lists.FEW)
    asyncio.run(filled(tmp_path / "windlass.db"))
    with closing(sqlite3.connect(tmp_path / "windlass.db")) as cx:
        steps = 0

        def step() -> int:
            nonlocal steps
            steps += 1
            return 0

        cx.set_progress_handler(step, 1)
        for name, query in LONG.items():
            steps = 0
            # When some of them are searched
            found = sqlite_search.runs(cx, query)
            # Then the others are not read, but for so many as are counted to choose the shorter way.
            assert steps < 10 * sqlite_lists.FEW, (name, steps)
            assert bool(found) == ("nobody" not in name), name


async def filled(path: Path) -> None:
    store: Store = await SqliteStore.open(path)
    await store.claim([0])
    await keep(store, runs=[alike(n) for n in range(MANY)])
    await store.close()


def alike(n: int) -> RunRow:
    return row(
        f"r{n:05}",
        float(n),
        workflow="rare" if n < 20 else "nightly",
        status="failed" if n in (9_000, 19_999) else "succeeded",
        labels={"team": "a", "who": "b"} if n == 500 else {"team": "a"},
    )


# Most runs are of one huge workflow and have succeeded; one in a hundred has the label.
SEED = """
    INSERT INTO shards SELECT n, 1 FROM generate_series(0, 9) n;
    INSERT INTO runs
    SELECT n % 10, 'default', 'r' || n, n, CASE WHEN n % 20 = 0 THEN 'rare' ELSE 'huge' END, 1,
      CASE WHEN n % 500 = 0 THEN 'running' ELSE 'succeeded' END, n, n + 1, 0,
      CASE WHEN n % 100 = 0 THEN '{"team":"x"}' ELSE '{}' END, '', '', n % 500 <> 0, false, NULL, false
    FROM generate_series(1, 30000) n;
    INSERT INTO labels
    SELECT n % 10, 'default', 'r' || n, 'team', 'x', n FROM generate_series(100, 30000, 100) n;
    ANALYZE runs; ANALYZE labels"""
IDS = Ids("r123", "r124")
BOTH = ["rare", "huge"]
PLAIN, STATUS = RunQuery(search="r123"), RunQuery(search="r123", status="running")
LABELLED = RunQuery(search="r123", label=("team", "x"))
PLANS: list[tuple[Statement, str]] = [
    ((postgres_search.WORKFLOWS, ["default"]), "runs_of_workflow"),
    (postgres_search.few_begin_so(PLAIN, IDS), "runs_pkey"),
    (postgres_search.gathered(PLAIN, IDS), "runs_pkey"),
    (postgres_search.gathered(STATUS, IDS), "runs_pkey"),
    (postgres_search.gathered(LABELLED, IDS), "runs_pkey"),
    (postgres_lists.newest(PLAIN, by_label=False, ids=IDS), "runs_newest"),
    (postgres_lists.newest(STATUS, by_label=False, ids=IDS), "runs_by_status"),
    (postgres_lists.newest(LABELLED, by_label=True, ids=IDS), "labels_newest"),
    (postgres_search.newest_of(PLAIN, BOTH), "runs_of_workflow"),
    (postgres_search.newest_of(STATUS, BOTH), "runs_of_workflow_by_status"),
    (postgres_search.few_of(LABELLED, BOTH), "runs_of_workflow"),
    (postgres_search.walked(RunQuery(search="r123", waiting_for="any"), IDS, BOTH), "runs_waiting"),
    (postgres_search.labelled_of(LABELLED, BOTH, by_label=False), "runs_of_workflow"),
    (postgres_search.labelled_of(LABELLED, BOTH, by_label=True), "labels_newest"),
    ((postgres_rows.NEWEST_RUNS, ["default", BOTH]), "runs_of_workflow"),
]


def test_every_search_in_postgresql_goes_by_the_index_made_for_it() -> None:
    async def story() -> None:
        place = await postgres.emptied("windlass_search")
        cx = await connect(place, application="windlass test")
        try:
            await cx.execute(SEED)
            await cx.execute(FOR_READING)
            for (sql, values), index in PLANS:
                lines = [line for (line,) in await cx.fetch(f"EXPLAIN {sql}", *values)]
                runs = [line for line in lines if " on runs" in line or " on labels" in line]
                assert any(f"using {index} " in line for line in runs), (sql, lines)
                assert not [line for line in runs if "Seq Scan" in line], (sql, lines)
        finally:
            cx.terminate()
            await postgres.dropped(place.schema)

    asyncio.run(story())
