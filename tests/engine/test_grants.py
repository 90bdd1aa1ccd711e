"""Who holds a task is recorded after a moment, whatever becomes of the other grants that wait."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from windlass.core.commands import GrantStep
from windlass.core.names import Attempt, SessionId, StepId, WorkerId, run_key
from windlass.engine.grants import Grants, Name
from windlass.engine.letters import Letter
from windlass.sim.loop import SimLoop, run

KEY = run_key("r")


def name(step: str) -> Name:
    return KEY, StepId(step), Attempt(1)


def letter(step: str) -> Letter:
    grant = GrantStep(
        step=StepId(step), attempt=Attempt(1), worker=WorkerId("w"), session=SessionId("s"), at=0.0
    )
    return Letter(KEY, grant)


class Desk:
    """Looks when it is woken whether something is due, as a shard does."""

    def __init__(self) -> None:
        self.grants = Grants(delay_s=0.02, wake=self._take)
        self.taken: list[tuple[float, str]] = []

    def _take(self) -> None:
        if not self.grants.due:
            return
        now = round(asyncio.get_running_loop().time() - self.began, 3)
        self.taken += [
            (now, one.order.step) for one in self.grants.take() if isinstance(one.order, GrantStep)
        ]

    async def play(self, story: Callable[["Desk"], Coroutine[Any, Any, None]]) -> None:
        self.began = asyncio.get_running_loop().time()
        await story(self)
        await asyncio.sleep(1)


def play(story: Callable[[Desk], Coroutine[Any, Any, None]]) -> list[tuple[float, str]]:
    async def main(_: SimLoop) -> list[tuple[float, str]]:
        desk = Desk()
        await desk.play(story)
        return desk.taken

    return run(main, seed=1)


def test_each_is_due_after_its_own_delay() -> None:
    async def story(desk: Desk) -> None:
        for step in "abc":
            desk.grants.add(name(step), letter(step))
            await asyncio.sleep(0.015)

    assert play(story) == [(0.02, "a"), (0.035, "b"), (0.05, "c")]


def test_one_that_waited_behind_another_that_has_ended_is_due_all_the_same() -> None:
    async def story(desk: Desk) -> None:
        desk.grants.add(name("a"), letter("a"))
        await asyncio.sleep(0.015)
        desk.grants.add(name("b"), letter("b"))
        assert desk.grants.drop(name("a")) is not None

    assert play(story) == [(0.035, "b")]


def test_one_that_comes_when_all_others_have_ended_is_due_too() -> None:
    async def story(desk: Desk) -> None:
        desk.grants.add(name("a"), letter("a"))
        desk.grants.drop(name("a"))
        await asyncio.sleep(0.015)
        desk.grants.add(name("b"), letter("b"))

    assert play(story) == [(0.035, "b")]
