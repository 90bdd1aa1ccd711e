"""To whom tasks were given lately, over HTTP: from all nodes, and for those whom it concerns."""

import asyncio

import pytest

from tests.gateway.access import locked
from tests.gateway.clusters import town
from tests.gateway.house import ONE_STEP, House, house
from tests.gateway.mates import mate
from tests.gateway.test_fleet import able, job, ok
from windlass.core.task import Json
from windlass.engine import asking
from windlass.wire import versions

CHOICES = "/api/v1/assignment/choices"


async def choices(home: House, query: str = "") -> Json:
    return await ok(home.ask("GET", CHOICES + query))


def test_a_choice_is_told_with_its_worker_strategy_and_reason() -> None:
    async def scene() -> None:
        async with house() as home, mate(home, "m1", **able("x")) as m1, mate(home, "m2", **able("x")):
            assert (await choices(home))["items"] == []
            await home.save(job(assign={"strategy": "load-balanced"}))
            await home.execute("job", {"runId": "r1"}, wait=None)
            await m1.given(1)
            (told,) = (await choices(home))["items"]
            assert told.pop("at")
            assert told == {
                "namespace": "default", "workflow": "job", "runId": "r1", "step": "only", "attempt": 1,
                "worker": "m1", "node": "local", "strategy": "load-balanced", "source": "step",
                "followed": "load-balanced", "key": [0.0], "known": 3, "count": 2,
                "top": [{"worker": "m1", "key": [0.0]}, {"worker": "m2", "key": [0.0]}],
                "why": "load-balanced, the step's own word: the best (key 0) of 2 that could have it, "
                "out of 3 workers; next best: m2 (key 0)",
            }  # fmt: skip

    asyncio.run(scene())


def test_choices_are_found_by_workflow_and_worker_and_the_newest_come_first() -> None:
    async def scene() -> None:
        async with house() as home:
            await home.save(ONE_STEP)
            await home.save({"id": "other", "steps": {"a": {"kind": "noop"}}})
            for run, workflow in (("r1", "one"), ("r2", "other"), ("r3", "one")):
                await home.execute(workflow, {"runId": run})

            async def runs(query: str) -> list[str]:
                return [item["runId"] for item in (await choices(home, query))["items"]]

            assert await runs("") == ["r3", "r2", "r1"]
            assert await runs("?workflow=one") == ["r3", "r1"]
            assert await runs("?worker=hands&limit=1") == ["r3"]
            assert await runs("?worker=nobody") == []
            assert (await home.ask("GET", f"{CHOICES}?limit=0")).status == 422

    asyncio.run(scene())


def test_a_token_of_one_namespace_sees_the_choices_of_its_own_runs() -> None:
    async def scene() -> None:
        async with locked() as here:
            admin = await here.token("admin")
            for space in ("team-a", "team-b"):
                token = await here.token("operator", space)
                assert (await here.ask(token, "POST", "/api/v1/workflows", ONE_STEP)).status == 201
                await ok(here.ask(token, "POST", "/api/v1/workflows/one/execute?wait=10s"))
            mine = await ok(here.ask(await here.token("read", "team-a"), "GET", CHOICES))
            assert {item["namespace"] for item in mine["items"]} == {"team-a"}
            every = await ok(here.ask(admin, "GET", CHOICES))
            assert [item["namespace"] for item in every["items"]] == ["team-b", "team-a"]

    asyncio.run(scene())


def test_any_node_tells_the_choices_and_figures_of_all() -> None:
    async def scene() -> None:
        async with town("a", "b") as here:
            home = here.homes["a"]
            await home.save(ONE_STEP)
            runs = [f"r{number}" for number in range(12)]
            for run in runs:
                await home.execute("one", {"runId": run})
            assert all(other.node.dispatcher.tally.granted for other in here.homes.values()), "both chose"
            for told in (await here.ask(f"{CHOICES}?limit=100")).values():
                assert {item["runId"] for item in told["items"]} == set(runs)
                times = [item["at"] for item in told["items"]]
                assert (times, told["silent"]) == (sorted(times, reverse=True), [])
            for told in (await here.ask("/api/v1/cluster/figures/all")).values():
                assert [item["node"] for item in told["items"]] == ["a", "b"]
                assert sum(item["runsEnded"] for item in told["items"]) == len(runs)
                assert all(item["leaseFresh"] and item["commits"]["count"] for item in told["items"])

    asyncio.run(scene())


@pytest.mark.parametrize("path", [CHOICES, "/api/v1/cluster/figures/all", "/api/v1/overview"])
def test_nodes_of_an_older_version_are_not_asked_and_named_as_silent(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "LEVEL", versions.LEVEL + 1)

    async def scene() -> None:
        async with town("a", "b") as here:
            assert (await ok(here.homes["a"].ask("GET", path)))["silent"] == ["b"]

    asyncio.run(scene())
