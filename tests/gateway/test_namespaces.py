"""Which namespaces there are, over HTTP."""

import asyncio

from tests.gateway.access import locked
from tests.gateway.house import ONE_STEP, house
from tests.gateway.test_fleet import ok
from windlass.core.task import Json

NAMESPACES = "/api/v1/namespaces"
WAITS = {"id": "waits", "steps": {"a": {"kind": "signal", "with": {"name": "go"}}}}


def item(name: str, workflows: int = 0, open_runs: int = 0) -> Json:
    return {"name": name, "workflows": workflows, "openRuns": open_runs}


def test_a_namespace_is_there_with_the_first_thing_in_it() -> None:
    async def scene() -> None:
        async with house() as home:
            assert await ok(home.ask("GET", NAMESPACES)) == {"items": []}
            await home.save(ONE_STEP)
            await home.save(WAITS)
            await home.execute("waits", wait=None)
            await home.execute("one")
            team = f"{NAMESPACES}?namespace=team"  # whichever it is asked from
            for namespace in ("default", "team"):
                saved = await home.ask("POST", f"/api/v1/workflows?namespace={namespace}-b", ONE_STEP)
                assert saved.status == 201
            assert (await ok(home.ask("GET", team)))["items"] == [
                item("default", 2, 1),
                item("default-b", 1),
                item("team-b", 1),
            ]
            assert (await home.ask("DELETE", "/api/v1/workflows/one?namespace=team-b")).status == 200
            assert [each["name"] for each in (await ok(home.ask("GET", NAMESPACES)))["items"]] == [
                "default",
                "default-b",
            ]

    asyncio.run(scene())


def test_a_token_of_one_namespace_sees_that_one_though_nothing_is_in_it() -> None:
    async def scene() -> None:
        async with locked() as here:
            admin = await here.token("admin")
            mine = await here.token("read", "mine")
            await here.token("read", "theirs")
            assert (await ok(here.ask(mine, "GET", NAMESPACES)))["items"] == [item("mine")]
            every = (await ok(here.ask(admin, "GET", NAMESPACES)))["items"]
            assert every == [item("mine"), item("theirs")]

    asyncio.run(scene())


def test_who_is_of_one_namespace_is_told_how_much_is_in_it() -> None:
    async def scene() -> None:
        async with locked() as here:
            other = await here.token("operator", "other")
            assert (await here.ask(other, "POST", "/api/v1/workflows", ONE_STEP)).status == 201
            assert (await ok(here.ask(other, "GET", NAMESPACES)))["items"] == [item("other", 1)]

    asyncio.run(scene())
