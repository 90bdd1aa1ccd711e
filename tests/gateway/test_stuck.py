"""What was set aside can be seen, and freed once its cause is mended."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.gateway.house import ONE_STEP, House, house
from windlass.core import workflow as workflow_core
from windlass.core.names import run_key, workflow_key
from windlass.core.orders import Free, Sleep, Strand
from windlass.core.task import Success, Task

RUNS = "/api/v1/runs"
WORKFLOWS = "/api/v1/workflows"
SLOW = {"id": "slow", "steps": {"a": {"kind": "shell", "with": {"command": "x"}}}}


def play(scene: Callable[[House], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with house() as home:
            await scene(home)

    asyncio.run(whole())


async def stranded(home: House) -> tuple[str, Task]:
    await home.save(SLOW)
    run = str((await home.execute("slow", wait=None))["runId"])
    task = await home.hands.taken.get()
    await home.node.router.send(run_key(run), Strand("KeyError: 'x'"))
    return run, task


def test_what_is_stuck_is_listed_with_its_error() -> None:
    async def scene(home: House) -> None:
        assert (await home.ask("GET", "/api/v1/stuck")).json == {"items": [], "next": None}
        run, _ = await stranded(home)
        await home.node.router.send(workflow_key("slow"), Strand("TypeError: y"))
        first, second = (await home.ask("GET", "/api/v1/stuck")).json["items"]
        assert (first["kind"], first["id"], first["error"]) == ("run", run, "KeyError: 'x'")
        assert (second["kind"], second["id"]) == ("workflow", "slow")
        assert first["since"].endswith("Z")

    play(scene)


def test_a_run_in_memory_that_is_set_aside_goes_no_further() -> None:
    async def scene(home: House) -> None:
        run, _ = await stranded(home)
        assert (await home.ask("GET", f"{RUNS}/{run}")).json["status"] == "stuck"
        answer = await home.ask("POST", f"{RUNS}/{run}/cancel")
        assert (answer.status, answer.json["error"]) == (409, "Stuck")

    play(scene)


def test_a_freed_run_goes_on_where_it_was() -> None:
    async def scene(home: House) -> None:
        run, task = await stranded(home)
        freed = await home.ask("POST", f"{RUNS}/{run}/retry-stuck")
        assert (freed.status, freed.json) == (200, {"id": run, "status": "running"})
        assert (await home.ask("GET", "/api/v1/stuck")).json["items"] == []
        home.hands.finish(task, Success("done"))
        assert "event: end" in (await home.ask("GET", f"{RUNS}/{run}/stream")).text
        view = (await home.ask("GET", f"{RUNS}/{run}")).json
        assert (view["status"], view["output"]) == ("succeeded", {"a": "done"})

    play(scene)


def test_a_paused_run_is_still_paused_when_it_is_freed() -> None:
    async def scene(home: House) -> None:
        await home.save(SLOW)
        run = (await home.execute("slow", wait=None))["runId"]
        await home.ask("POST", f"{RUNS}/{run}/pause")
        await home.node.router.send(run_key(run), Strand("KeyError: 'x'"))
        freed = await home.ask("POST", f"{RUNS}/{run}/retry-stuck")
        assert (freed.status, freed.json["status"]) == (200, "paused")

    play(scene)


def test_a_run_that_is_not_stuck_cannot_be_freed_and_stays_what_it_is() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        await home.save(SLOW)
        ended = (await home.execute("one"))["runId"]
        running = (await home.execute("slow", wait=None))["runId"]
        for run, status in [(ended, "succeeded"), (running, "running")]:
            answer = await home.ask("POST", f"{RUNS}/{run}/retry-stuck")
            assert (answer.status, answer.json["message"]) == (409, f"run {run} is not stuck")
            assert (await home.ask("GET", f"{RUNS}/{run}")).json["status"] == status
        for path in (f"{RUNS}/nobody/retry-stuck", f"{WORKFLOWS}/nobody/retry-stuck"):
            assert (await home.ask("POST", path)).status == 404

    play(scene)


def test_two_who_free_it_at_once_do_no_harm() -> None:
    async def scene(home: House) -> None:
        run, _ = await stranded(home)
        answers = await asyncio.gather(
            *(home.ask("POST", f"{RUNS}/{run}/retry-stuck") for _ in range(4)),
        )
        assert sorted({answer.status for answer in answers}) in ([200], [200, 409])
        assert (await home.ask("GET", f"{RUNS}/{run}")).json["status"] == "running"

    play(scene)


def test_freeing_a_workflow_does_not_touch_a_run_of_the_same_name() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        await home.execute("one", {"runId": "one"})
        await home.node.router.send(workflow_key("one"), Strand("TypeError: y"))
        assert (await home.ask("GET", f"{RUNS}/one")).json["status"] == "succeeded"
        stuck = await home.ask("PUT", f"{WORKFLOWS}/one", SLOW | {"id": "one"})
        assert (stuck.status, stuck.json["error"]) == (409, "Stuck")
        freed = await home.ask("POST", f"{WORKFLOWS}/one/retry-stuck")
        assert (freed.status, freed.json) == (200, {"id": "one", "status": "freed"})
        assert (await home.ask("PUT", f"{WORKFLOWS}/one", SLOW | {"id": "one"})).status == 200
        assert (await home.ask("GET", f"{RUNS}/one")).json["status"] == "succeeded"

    play(scene)


def test_what_breaks_again_says_so_and_is_restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(home: House) -> None:
        def broken(*_: Any) -> Any:
            raise ZeroDivisionError("still a bug")

        await home.save(ONE_STEP)
        await home.node.router.send(workflow_key("one"), Strand("TypeError: y"))
        with monkeypatch.context() as patched:
            patched.setattr(workflow_core, "perform", broken)
            await home.node.router.send(workflow_key("one"), Free())
            answer = await home.ask("PUT", f"{WORKFLOWS}/one", SLOW | {"id": "one"})
            assert answer.status == 503
            assert "being restarted after ZeroDivisionError: still a bug" in answer.json["message"]
            assert int(answer.headers["Retry-After"]) >= 2

    play(scene)


def test_a_workflow_that_failed_once_is_not_woken_into_failing_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(home: House) -> None:
        def broken(*_: Any) -> Any:
            raise ZeroDivisionError("a bug that strikes once")

        await home.save(ONE_STEP)
        with monkeypatch.context() as patched:
            patched.setattr(workflow_core, "perform", broken)
            assert (await home.ask("PUT", f"{WORKFLOWS}/one", SLOW | {"id": "one"})).status == 503
        assert len(home.node.timers) == 0
        assert home.node.stats.restarts == 1

    play(scene)


def test_a_workflow_that_was_only_asked_leaves_memory() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        assert (await home.ask("POST", WORKFLOWS, SLOW | {"id": "one"})).status == 409
        await home.node.router.send(workflow_key("one"), Sleep())
        assert sum(shard.live_count for shard in home.node.router.shards()) == 0

    play(scene)


def test_a_result_for_a_stuck_run_is_not_waited_for() -> None:
    async def scene(home: House) -> None:
        run, task = await stranded(home)
        await home.node.report(home.hands.id, task, Success(), home.node.clock.now())
        assert (await home.ask("GET", f"{RUNS}/{run}")).json["status"] == "stuck"

    play(scene)
