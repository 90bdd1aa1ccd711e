"""Limits across runs, as users meet them: runs that wait for each other, and who is asked about it."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.gateway.house import House, house
from tests.waiting import until_asked
from windlass.core.task import Success
from windlass.journal.memory import MemoryStore

ALL = "/api/v1/limits"
AT_ONCE = f"{ALL}/concurrency"


def busy(ident: str = "orders", **limits: Any) -> dict[str, Any]:
    """A workflow whose one step goes on for as long as the test likes."""
    return {"id": ident, "steps": {"work": {"kind": "shell", "with": {"command": "true"}}}, **limits}


async def started(home: House, run: str, workflow: str = "orders", **body: Any) -> None:
    await home.execute(workflow, {"runId": run, **body}, wait=None)


async def view(home: House, key: str = "orders", path: str = AT_ONCE) -> Any:
    answer = await home.ask("GET", f"{path}?key={key}")
    assert answer.status in (200, 404), answer.text
    return answer.json if answer.status == 200 else {"holders": [], "queue": []}


async def holding(home: House, *runs: str, waiting: int = 0, key: str = "orders") -> Any:
    """Until these hold it, and so many wait."""

    async def look() -> bool:
        seen = await view(home, key)
        return [who["run"] for who in seen["holders"]] == [*runs] and len(seen["queue"]) == waiting

    await until_asked(look)
    return await view(home, key)


async def status(home: House, run: str) -> str:
    answer = await home.ask("GET", f"/api/v1/runs/{run}")
    return str(answer.json["status"])


async def ended(home: House, run: str, how: str) -> None:
    async def look() -> bool:
        return await status(home, run) == how

    await until_asked(look)


def test_runs_of_one_key_go_one_after_the_other() -> None:
    async def story() -> None:
        async with house() as home:
            await home.save(busy(concurrency={"key": "orders", "limit": 1}))
            for run in ("r1", "r2", "r3"):
                await started(home, run)
                await holding(home, "r1", waiting=int(run[1]) - 1)
            task = await home.hands.taken.get()
            assert (task.run, home.hands.taken.qsize()) == ("r1", 0)
            listed = await home.ask("GET", ALL)
            (item,) = listed.json["items"]
            assert (item["key"], item["type"], item["limit"], item["per"]) == (
                "orders",
                "concurrency",
                1,
                None,
            )
            assert (item["held"], item["waiting"]) == (1, 2)
            assert item["waitingSince"] is not None
            home.hands.finish(task, Success(1))
            await ended(home, "r1", "succeeded")
            await holding(home, "r2", waiting=1)
            assert (await home.ask("POST", "/api/v1/runs/r2/cancel", {})).status == 200
            await holding(home, "r3")
            await home.ask("POST", "/api/v1/runs/r3/cancel", {})
            await holding(home)

    asyncio.run(story())


def test_who_skips_does_not_run_and_who_replaces_ends_the_one_before() -> None:
    async def story() -> None:
        async with house() as home:
            await home.save(busy("skips", concurrency={"key": "orders", "limit": 1, "on_conflict": "skip"}))
            await home.save(
                busy("newest", concurrency={"key": "orders", "limit": 1, "on_conflict": "replace"})
            )
            await started(home, "r1", "skips")
            await holding(home, "r1")
            await started(home, "r2", "skips")
            await ended(home, "r2", "cancelled")
            await started(home, "r3", "newest")
            await ended(home, "r1", "cancelled")
            await holding(home, "r3")

    asyncio.run(story())


def test_a_rate_lets_so_many_begin_and_tells_what_it_spent() -> None:
    async def story() -> None:
        async with house() as home:
            await home.save(
                {
                    "id": "calls",
                    "steps": {"work": {"kind": "noop"}},
                    "rate": {"key": "api", "limit": 2, "per": "1h"},
                }
            )
            for run in ("r1", "r2"):
                await started(home, run, "calls")
                await ended(home, run, "succeeded")
            await started(home, "r3", "calls")

            async def look() -> bool:
                return bool((await view(home, "api", f"{ALL}/rate"))["queue"])

            await until_asked(look)
            seen = await view(home, "api", f"{ALL}/rate")
            assert (seen["spent"], seen["per"], [who["run"] for who in seen["queue"]]) == (2, "1h", ["r3"])
            assert (await home.ask("GET", f"{AT_ONCE}?key=api")).status == 404

    asyncio.run(story())


def test_limits_survive_the_end_of_the_engine() -> None:
    async def story() -> None:
        store = MemoryStore()
        async with house(store=store) as home:
            await home.save(busy(concurrency=1))
            await started(home, "r1")
            await holding(home, "r1")
            await started(home, "r2", labels={"share": "a"})
            before = await holding(home, "r1", waiting=1)
            assert [who["share"] for who in before["queue"]] == ["a"]
        async with house(store=store) as home:
            after = await view(home)
            assert after == before
            task = await home.hands.taken.get()
            assert task.run == "r1"
            home.hands.finish(task, Success(1))
            await holding(home, "r2")
            assert (await home.hands.taken.get()).run == "r2"

    asyncio.run(story())


def test_a_step_waits_for_the_same_step_of_other_runs() -> None:
    async def story() -> None:
        async with house() as home:
            document = busy()
            document["steps"]["work"]["concurrency"] = 1
            await home.save(document)
            await started(home, "r1")
            await holding(home, "r1", key="orders/work")
            await started(home, "r2")
            await holding(home, "r1", waiting=1, key="orders/work")
            task = await home.hands.taken.get()
            home.hands.finish(task, Success(1))
            await holding(home, "r2", key="orders/work")

    asyncio.run(story())


def test_a_permit_can_be_taken_away_from_a_run_that_will_not_give_it_back() -> None:
    async def story() -> None:
        async with house() as home:
            await home.save(busy(concurrency={"key": "a/b c", "limit": 1}))
            await started(home, "r1")
            await started(home, "r2")
            seen = await holding(home, "r1", waiting=1, key="a/b%20c")
            permit = {"key": "a/b c", "run": "r1", "number": seen["holders"][0]["number"]}
            for _ in range(2):  # asked again, it is as it was
                answer = await home.ask("POST", f"{AT_ONCE}/release", permit)
                assert answer.json == {**permit, "status": "returned"}
            await holding(home, "r2", key="a/b%20c")
            await started(home, "r3")
            seen = await holding(home, "r2", waiting=1, key="a/b%20c")
            place = {"key": "a/b c", "run": "r3", "number": seen["queue"][0]["number"]}
            assert (await home.ask("POST", f"{AT_ONCE}/release", place)).status == 200
            await home.ask("POST", "/api/v1/runs/r2/cancel", {})
            await ended(home, "r3", "cancelled")
            seen = (await home.ask("GET", "/api/v1/runs/r3")).json
            assert "its permit was taken away" in seen["error"]["message"], seen
            stranger = await home.ask("POST", f"{AT_ONCE}/release", {**permit, "number": 77})
            assert stranger.status == 404

    asyncio.run(story())


BAD: list[tuple[str, str, Any, int]] = [
    ("GET", f"{AT_ONCE}", None, 422),
    ("GET", f"{AT_ONCE}?key=", None, 422),
    ("GET", f"{AT_ONCE}?key={'x' * 401}", None, 422),
    ("GET", f"{AT_ONCE}?key=a%0Ab", None, 422),
    ("GET", f"{AT_ONCE}?key=nobody", None, 404),
    ("GET", f"{ALL}/rate?key=nobody", None, 404),
    ("GET", f"{ALL}?limit=0", None, 422),
    ("GET", f"{ALL}?limit=many", None, 422),
    ("GET", f"{ALL}/other?key=a", None, 404),
    ("POST", f"{AT_ONCE}/release", {}, 422),
    ("POST", f"{AT_ONCE}/release", [], 422),
    ("POST", f"{AT_ONCE}/release", {"key": "", "run": "r", "number": 1}, 422),
    ("POST", f"{AT_ONCE}/release", {"key": "k", "run": "r/r", "number": 1}, 422),
    ("POST", f"{AT_ONCE}/release", {"key": "k", "run": "r", "number": 0}, 422),
    ("POST", f"{AT_ONCE}/release", {"key": "k", "run": "r", "number": "1"}, 422),
    ("POST", f"{AT_ONCE}/release", {"key": "k", "run": "r", "number": 1, "by": "me"}, 422),
    ("POST", f"{AT_ONCE}/release", {"key": "k", "run": "r", "number": 1}, 404),
]


def test_a_bad_request_about_limits_is_refused() -> None:
    async def story() -> None:
        async with house() as home:
            for method, path, body, status in BAD:
                answer = await home.ask(method, path, body)
                assert answer.status == status, (method, path, body, answer.text)

    asyncio.run(story())
