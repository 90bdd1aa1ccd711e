"""The overview: how runs go, and what needs somebody."""

import asyncio

import msgspec
import pytest

from tests.gateway.clusters import town
from tests.gateway.house import ONE_STEP, Hands, house
from windlass.core.names import SessionId, WorkerId, run_key
from windlass.core.orders import Strand
from windlass.core.task import Failure, Outcome, Success, Task
from windlass.gateway import overview
from windlass.gateway.overview import DAY_S
from windlass.journal import RunQuery, RunRow

OVERVIEW = "/api/v1/overview"
SLOW = {"id": "slow", "steps": {"a": {"kind": "shell", "with": {"command": "x"}}}}
RARE = {"id": "rare", "steps": {"a": {"kind": "noop", "requires": ["gpu"]}}}
OTHER = {"X-Windlass-Namespace": "other"}
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
            told = (await home.ask("GET", OVERVIEW, headers=OTHER)).json
            assert all(minute["started"] == 0 for minute in told["minutes"])
            assert told["latency"] == {"runs": 0, "p50Seconds": None, "p95Seconds": None}
            assert (told["openRuns"], told["failed"], told["stuck"], told["waiting"]) == (0, [], [], [])

    asyncio.run(play())


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell at once of what waits in vain."""
    monkeypatch.setattr(overview, "COMING_S", 0.0)


@pytest.mark.usefixtures("at_once")
def test_it_names_what_no_worker_could_run_until_one_comes() -> None:
    async def play() -> None:
        async with house(work=work) as home:
            await home.save(RARE)
            first = (await home.execute("rare", wait=None))["runId"]
            await home.execute("rare", wait=None)
            await home.save(ONE_STEP)
            await home.execute("one")
            (told,) = (await home.ask("GET", OVERVIEW)).json["unserved"]
            began = (await home.ask("GET", f"/api/v1/runs/{first}")).json["startedAt"]
            assert told.pop("since") >= began
            assert told == {
                "requires": ["gpu", "noop"],
                "missing": ["gpu"],
                "tasks": 2,
                "run": first,
                "step": "a",
            }
            assert (await home.ask("GET", OVERVIEW, headers=OTHER)).json["unserved"] == []
            assert "windlass_tasks_unserved 2.0\n" in (await home.ask("GET", "/metrics")).text
            newcomer = Hands(home.node, work, frozenset({"gpu"}))
            newcomer.id, newcomer.session = WorkerId("newcomer"), SessionId("newcomer-1")
            serving = asyncio.create_task(newcomer.serve())
            assert (await home.ask("GET", f"/api/v1/runs/{first}?wait=10s")).json["status"] == "succeeded"
            assert (await home.ask("GET", OVERVIEW)).json["unserved"] == []
            serving.cancel()
            await asyncio.wait([serving])

    asyncio.run(play())


@pytest.mark.usefixtures("at_once")
def test_tasks_of_a_worker_that_is_paused_wait_in_vain_though_nothing_is_missing() -> None:
    async def play() -> None:
        async with house(work=work, offers=frozenset({"gpu"})) as home:
            await home.save(RARE)
            (worker,) = home.node.dispatcher.index.all()
            worker.halt = "paused"
            home.node.dispatcher.refresh(worker.session)
            await home.execute("rare", wait=None)
            (told,) = (await home.ask("GET", OVERVIEW)).json["unserved"]
            assert (told["requires"], told["missing"]) == (["gpu", "noop"], [])

    asyncio.run(play())


def test_a_step_that_has_only_just_begun_to_wait_is_not_told_of() -> None:
    async def play() -> None:
        async with house(work=work) as home:
            await home.save(RARE)
            await home.execute("rare", wait=None)
            assert (await home.ask("GET", OVERVIEW)).json["unserved"] == []

    asyncio.run(play())


@pytest.mark.usefixtures("at_once")
def test_any_node_tells_what_waits_in_vain_in_the_whole_cluster() -> None:
    async def play() -> None:
        async with town("a", "b") as here:
            await here.homes["a"].save(RARE)
            for number in range(12):
                await here.homes["a"].execute("rare", {"runId": f"r{number}"}, wait=None)
            assert all(home.node.dispatcher.waiting for home in here.homes.values()), "both had some"
            for told in (await here.ask(OVERVIEW)).values():
                assert [(one["tasks"], one["missing"]) for one in told["unserved"]] == [(12, ["gpu"])]

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
