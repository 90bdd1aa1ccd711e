"""A step that was parked is shown as such over HTTP, and is released there."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.gateway.house import House, house
from windlass.core.assign.placed import Placed, Ranked
from windlass.core.commands import FinishStep, LoseStep
from windlass.core.names import Attempt, StepId, WorkerId, run_key, workflow_key
from windlass.core.orders import Sleep
from windlass.core.task import Json, Success

RUNS = "/api/v1/runs"
STEPS = {"crunch": {"kind": "noop", "requires": ["gpu"]}, "after": {"kind": "noop", "needs": ["crunch"]}}
PLACED = Placed("locality", (0, 0.5), 2, (Ranked("w1", (0, 0.5)), Ranked("w2", (1, 0.0))))


def play(scene: Callable[[House], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with house() as home:
            await scene(home)

    asyncio.run(whole())


async def lose(home: House, run: str, attempt: int, **more: Any) -> None:
    command = LoseStep(
        step=StepId("crunch"),
        attempt=Attempt(attempt),
        reason="killed by signal 9",
        witnessed=True,
        worker=WorkerId("w7"),
        progress={"rows": attempt},
        at=home.node.clock.now(),
        **more,
    )
    await home.node.router.send(run_key(run), command)


async def parked(home: House) -> str:
    """A run with a step that killed two workers, which is as many as it may."""
    await home.save({"id": "poison", "steps": STEPS})
    run = str((await home.execute("poison", wait=None))["runId"])
    for attempt in (1, 2):
        await lose(home, run, attempt, deaths_max=2)
    return run


async def step_of(home: House, run: str, name: str = "crunch") -> Json:
    view = (await home.ask("GET", f"{RUNS}/{run}")).json
    return next(step for step in view["steps"] if step["id"] == name)


def test_a_parked_step_is_shown_with_the_evidence_and_released() -> None:
    async def scene(home: House) -> None:
        run = await parked(home)
        step = await step_of(home, run)
        assert (step["status"], step["attempts"], step["worker"]) == ("waiting", 2, "w7")
        assert step["progress"] == {"rows": 2}
        told = step["parked"]
        assert told["reason"] == "its worker died with it 2 times, the last time: killed by signal 9"
        assert (told["losses"], told["deaths"]) == (2, 2)
        assert [sentence.partition(" died at ")[0] for sentence in told["evidence"]] == ["Worker w7"] * 2
        assert (await step_of(home, run, "after"))["parked"] is None
        why = (await home.ask("GET", f"{RUNS}/{run}/explain")).json
        assert why["reasons"][0]["kind"] == "parked"
        assert why["reasons"][0]["next"] == f"windlass release {run} crunch"
        assert why["reasons"][0]["evidence"] == told["evidence"]
        answer = await home.ask("POST", f"{RUNS}/{run}/steps/crunch/release")
        assert (answer.status, answer.json["id"], answer.json["status"]) == (200, "crunch", "queued")
        assert (answer.json["parked"], answer.json["attempts"]) == (None, 3)
        events = (await home.ask("GET", f"{RUNS}/{run}/events")).json["items"]
        assert [event["type"] for event in events][-3:] == ["StepParked", "StepReleased", "StepQueued"]

    play(scene)


def test_a_release_with_the_same_key_releases_once() -> None:
    async def scene(home: House) -> None:
        run = await parked(home)
        path, key = f"{RUNS}/{run}/steps/crunch/release", {"Idempotency-Key": "k"}
        for _ in range(2):
            assert (await home.ask("POST", path, headers=key)).status == 200
        again = await home.ask("POST", path)
        assert (again.status, again.json["error"]) == (409, "Conflict")
        assert again.json["message"] == "step crunch is not parked: it is queued"

    play(scene)


def test_only_what_is_there_and_parked_can_be_released() -> None:
    async def scene(home: House) -> None:
        run = await parked(home)
        for status, path in (
            (409, f"{run}/steps/after/release"),
            (404, f"{run}/steps/nobody/release"),
            (404, f"{run}/steps/{'x' * 300}/release"),
            (404, f"{run}/steps/%20/release"),
            (404, "nobody/steps/crunch/release"),
            (405, f"{run}/steps/crunch/release"),
        ):
            answer = await home.ask("GET" if status == 405 else "POST", f"{RUNS}/{path}")
            assert answer.status == status, answer.text
        await home.ask("POST", f"{RUNS}/{run}/cancel")
        answer = await home.ask("POST", f"{RUNS}/{run}/steps/crunch/release")
        assert (answer.status, answer.json["message"]) == (409, "the run has already ended: cancelled")
        step = await step_of(home, run)
        assert (step["status"], step["attempts"], step["parked"]) == ("cancelled", 2, None)

    play(scene)


def test_how_the_worker_was_chosen_is_told_with_the_step() -> None:
    async def scene(home: House) -> None:
        await home.save({"id": "poison", "steps": STEPS})
        run = str((await home.execute("poison", wait=None))["runId"])
        now = home.node.clock.now()
        command = FinishStep(
            step=StepId("crunch"),
            attempt=Attempt(1),
            outcome=Success(),
            worker=WorkerId("w1"),
            started_at=now,
            placed=PLACED,
            at=now,
        )
        await home.node.router.send(run_key(run), command)
        step = await step_of(home, run)
        assert step["placed"] == {"strategy": "locality", "key": [0, 0.5], "count": 2}

    play(scene)


def test_a_run_with_a_parked_step_leaves_memory_and_is_released_from_the_journal() -> None:
    async def scene(home: House) -> None:
        run = await parked(home)
        told = (await step_of(home, run))["parked"]
        for key in (run_key(run), workflow_key("poison")):
            await home.node.router.send(key, Sleep())
        assert sum(shard.live_count for shard in home.node.router.shards()) == 0
        assert (await step_of(home, run))["parked"] == told
        answer = await home.ask("POST", f"{RUNS}/{run}/steps/crunch/release")
        assert (answer.status, answer.json["status"]) == (200, "queued")

    play(scene)
