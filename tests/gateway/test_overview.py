"""The overview: how runs go, and what needs somebody."""

import asyncio

import msgspec
import pytest

from tests.gateway.clusters import town
from tests.gateway.house import ONE_STEP, house
from windlass.core.names import run_key
from windlass.core.orders import Strand
from windlass.core.task import Failure, Outcome, Success, Task
from windlass.gateway.overview import DAY_S
from windlass.journal import RunQuery, RunRow

OVERVIEW = "/api/v1/overview"
SLOW = {"id": "slow", "steps": {"a": {"kind": "shell", "with": {"command": "x"}}}}
BROKEN = {"id": "broken", "steps": {"a": {"kind": "python", "with": {"call": "a:b"}}}}


def work(task: Task) -> Outcome | None:
    if task.kind == "python":
        return Failure(type="ValueError", message="no")
    return Success(1) if task.kind == "noop" else None


def test_it_counts_runs_and_names_what_failed_and_what_is_stuck() -> None:
    async def play() -> None:
        async with house(work=work) as home:
            for document in (ONE_STEP, SLOW, BROKEN):
                await home.save(document)
            await home.execute("one")
            await home.execute("one")
            failed = (await home.execute("broken"))["runId"]
            stuck = str((await home.execute("slow", wait=None))["runId"])
            await home.hands.taken.get()
            await home.node.router.send(run_key(stuck), Strand("KeyError: 'x'"))
            await home.execute("slow", wait=None)
            told = (await home.ask("GET", OVERVIEW)).json
            assert len(told["minutes"]) == 60
            sums = {
                name: sum(minute[name] for minute in told["minutes"])
                for name in ("started", "succeeded", "failed", "other")
            }
            assert sums == {"started": 5, "succeeded": 2, "failed": 1, "other": 0}
            assert told["latency"]["runs"] == 3
            assert 0 <= told["latency"]["p50Seconds"] <= told["latency"]["p95Seconds"] < 60
            assert [run["id"] for run in told["failed"]] == [failed]
            assert [(run["id"], run["error"]["message"]) for run in told["stuck"]] == [
                (stuck, "KeyError: 'x'")
            ]
            assert told["openRuns"] == 2
            assert told["nodes"] == {"up": 1, "leaving": 0}
            assert told["silent"] == []

    asyncio.run(play())


@pytest.mark.parametrize(("began_days", "ended_days", "listed"), [(3, 0, True), (3, 2, False)])
def test_a_run_that_took_days_and_failed_today_is_named(
    monkeypatch: pytest.MonkeyPatch, began_days: int, ended_days: int, listed: bool
) -> None:
    async def play() -> None:
        async with house(work=work) as home:
            await home.save(BROKEN)
            await home.execute("broken")
            kept = home.node.store.runs

            async def runs(query: RunQuery) -> list[RunRow]:
                rows = [
                    msgspec.structs.replace(
                        row,
                        started_at=row.started_at - began_days * DAY_S,
                        ended_at=None if row.ended_at is None else row.ended_at - ended_days * DAY_S,
                    )
                    for row in await kept(msgspec.structs.replace(query, started_after=None))
                ]
                return [row for row in rows if row.started_at >= (query.started_after or 0)]

            monkeypatch.setattr(home.node.store, "runs", runs)
            told = (await home.ask("GET", OVERVIEW)).json
            assert bool(told["failed"]) is listed

    asyncio.run(play())


def test_any_node_tells_how_runs_go_in_the_whole_cluster() -> None:
    async def play() -> None:
        async with town("a", "b") as here:
            await here.homes["a"].save(ONE_STEP)
            for number in range(12):
                await here.homes["a"].execute("one", {"runId": f"r{number}"})
            assert all(home.node.stats.runs_started for home in here.homes.values()), "both had some"
            for told in (await here.ask(OVERVIEW)).values():
                assert sum(minute["succeeded"] for minute in told["minutes"]) == 12
                assert (told["latency"]["runs"], told["silent"]) == (12, [])

    asyncio.run(play())


def test_another_namespace_is_told_nothing_of_it() -> None:
    async def play() -> None:
        async with house() as home:
            await home.save(ONE_STEP)
            await home.execute("one")
            told = (await home.ask("GET", OVERVIEW, headers={"X-Windlass-Namespace": "other"})).json
            assert all(minute["started"] == 0 for minute in told["minutes"])
            assert told["latency"] == {"runs": 0, "p50Seconds": None, "p95Seconds": None}
            assert (told["openRuns"], told["failed"], told["stuck"], told["waiting"]) == (0, [], [], [])

    asyncio.run(play())


def test_it_names_runs_that_wait_for_somebody() -> None:
    async def play() -> None:
        async with house() as home:
            await home.save({"id": "asks", "steps": {"ask": {"kind": "approval"}}})
            run = (await home.execute("asks", wait=None))["runId"]
            (told,) = (await home.ask("GET", OVERVIEW)).json["waiting"]
            assert (told["id"], told["waitingFor"]) == (run, "approval")
            await home.ask("POST", f"/api/v1/runs/{run}/steps/ask/approve")
            assert (await home.ask("GET", OVERVIEW)).json["waiting"] == []

    asyncio.run(play())
