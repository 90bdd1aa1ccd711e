"""`explain` over HTTP: what the engine knows, in one sentence."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.gateway.house import ONE_STEP, Hands, House, Work, finish, house
from tests.waiting import until
from windlass.core.names import SessionId, run_key
from windlass.core.orders import Purge, Strand
from windlass.core.task import Failure, Json

RUNS = "/api/v1/runs"
SLOW = {"id": "slow", "steps": {"a": {"kind": "shell", "with": {"command": "x"}}}}
CRUNCH = {"id": "crunch", "steps": {"crunch": {"kind": "noop", "requires": ["gpu"]}}}


def play(scene: Callable[[House], Awaitable[None]], work: Work = finish) -> None:
    async def whole() -> None:
        async with house(work) as home:
            await scene(home)

    asyncio.run(whole())


async def start(home: House, document: Json) -> str:
    await home.save(document)
    return str((await home.execute(document["id"], wait=None))["runId"])


async def explained(home: House, run: str) -> Json:
    answer = await home.ask("GET", f"{RUNS}/{run}/explain")
    assert answer.status == 200, answer.text
    return answer.json


def test_a_step_that_nobody_can_run_says_what_to_start() -> None:
    async def scene(home: House) -> None:
        run = await start(home, CRUNCH)
        told = await explained(home, run)
        assert (told["runId"], told["status"], told["counts"]) == (run, "running", {"capability": 1})
        assert told["sentence"] == (
            "Step crunch waits for a worker that offers gpu: none of the 1 connected workers does; "
            "start one with `windlass worker --capabilities gpu` (or `windlass up --capability gpu`)."
        )
        (reason,) = told["reasons"]
        assert (reason["kind"], reason["step"], reason["requires"]) == ("capability", "crunch", ["gpu"])
        assert reason["since"].endswith("Z")

    play(scene)


def test_a_worker_that_comes_ends_the_riddle() -> None:
    class Gpu(Hands):
        session = SessionId("gpu-1")
        capabilities = frozenset({"noop", "gpu"})

    async def scene(home: House) -> None:
        run = await start(home, CRUNCH)
        assert (await explained(home, run))["reasons"][0]["kind"] == "capability"
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(Gpu(home.node, finish).serve())
            while (await explained(home, run))["status"] != "succeeded":
                pass
            serving.cancel()
        assert (await explained(home, run))["reasons"][0]["kind"] == "ended"

    play(scene)


def test_a_full_worker_says_how_many_are_before_it() -> None:
    async def scene(home: House) -> None:
        home.hands.free = 0
        await start(home, SLOW)
        await home.execute("slow", wait=None)
        run = (await home.execute("slow", wait=None))["runId"]
        first = (await home.execute("slow", {"priority": 9}, wait=None))["runId"]
        told = await explained(home, run)
        assert (told["reasons"][0]["kind"], told["reasons"][0]["ahead"]) == ("slots", 3)
        assert "and 3 tasks are before it" in told["sentence"]
        assert (await explained(home, first))["reasons"][0]["ahead"] == 0

    play(scene)


def test_what_runs_is_told_with_its_worker() -> None:
    async def scene(home: House) -> None:
        run = await start(home, SLOW)
        await home.hands.taken.get()
        told = await explained(home, run)
        assert (told["reasons"][0]["kind"], told["reasons"][0]["worker"]) == ("running", "hands")
        assert "worker hands" in told["sentence"]

    play(scene)


def test_a_retry_a_pause_and_a_wait_are_told_together() -> None:
    async def scene(home: House) -> None:
        steps = {
            "fetch": {"kind": "noop", "retry": {"attempts": 5, "backoff": "1h", "max": "1h"}},
            "nap": {"kind": "wait", "with": {"for": "2h"}},
        }
        run = await start(home, {"id": "mixed", "steps": steps})
        while (await explained(home, run))["reasons"][0]["kind"] != "retry":
            pass
        told = await explained(home, run)
        assert told["sentence"] == (
            "Step fetch failed (HttpStatus: 503) and is tried again in 60 min (attempt 2 of 5) "
            "(besides: 1 waiting for a time)."
        )
        assert [reason["kind"] for reason in told["reasons"]] == ["retry", "wait"]
        assert told["reasons"][0]["until"] > told["reasons"][0]["since"]
        await home.ask("POST", f"{RUNS}/{run}/pause")
        told = await explained(home, run)
        assert (told["status"], told["reasons"][0]["kind"]) == ("paused", "paused")
        assert f"resume it with `windlass resume {run}`" in told["sentence"]

    play(scene, lambda task: Failure("HttpStatus", "503"))


def test_an_ended_and_a_purged_run_have_nothing_left_to_do() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        run = (await home.execute("one"))["runId"]
        for _ in range(2):
            told = await explained(home, run)
            assert told["status"] == "succeeded"
            assert told["sentence"].startswith("The run succeeded at ")
            assert [reason["kind"] for reason in told["reasons"]] == ["ended"]
            await home.node.router.send(run_key(run), Purge())

    play(scene)


def test_a_stuck_run_says_how_to_free_it() -> None:
    async def scene(home: House) -> None:
        run = await start(home, SLOW)
        await home.node.router.send(run_key(run), Strand("KeyError: 'x'"))
        told = await explained(home, run)
        assert (told["status"], told["reasons"][0]["kind"]) == ("stuck", "stuck")
        assert "KeyError: 'x'" in told["sentence"]
        assert told["reasons"][0]["next"] == f"windlass retry-stuck {run}"
        assert told["reasons"][0]["since"] is not None

    play(scene)


def test_explaining_changes_nothing() -> None:
    async def scene(home: House) -> None:
        home.hands.free = 0
        run = await start(home, SLOW)
        for _ in range(3):
            await explained(home, run)
        home.hands.free = 1
        home.node.dispatcher.match()
        await until(lambda: home.hands.taken.qsize() == 1)
        types = [event["type"] for event in (await home.ask("GET", f"{RUNS}/{run}/events")).json["items"]]
        assert types[:2] == ["RunStarted", "StepQueued"]

    play(scene)


@pytest.mark.parametrize("run", ["nobody", "a%20b"])
def test_nobody_can_explain_a_run_that_nobody_started(run: str) -> None:
    async def scene(home: House) -> None:
        assert (await home.ask("GET", f"{RUNS}/{run}/explain")).status == 404

    play(scene)
