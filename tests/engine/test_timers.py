"""Who wants to be woken is woken, once, in time, and not before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from windlass.core.names import Key, run_key
from windlass.engine.clock import Clock
from windlass.engine.timers import Timers
from windlass.sim.loop import SimLoop, run

A, B = run_key("a"), run_key("b")


class Bells:
    """Timers whose wall clock the test can move, and what has rung when."""

    def __init__(self, loop: SimLoop, *, look_s: float | None = None) -> None:
        self._loop = loop
        self.ahead_s = 0.0
        self.rung: list[tuple[float, str]] = []
        self.timers = Timers(Clock(lambda: loop.time() + self.ahead_s), look_s=look_s)

    def arm(self, key: Key, due: float) -> None:
        self.timers.arm(key, due, lambda: self.rung.append((self._loop.time(), key.id)))


def play(story: Callable[[Bells], Coroutine[Any, Any, None]], *, look_s: float | None = None) -> None:
    async def main(loop: SimLoop) -> None:
        bells = Bells(loop, look_s=look_s)
        await story(bells)
        bells.timers.close()

    run(main, 0)


def test_alarms_ring_in_their_order_and_each_once() -> None:
    async def story(bells: Bells) -> None:
        bells.arm(A, 20.0)
        bells.arm(B, 10.0)
        await asyncio.sleep(100.0)
        assert bells.rung == [(10.0, "b"), (20.0, "a")]
        assert len(bells.timers) == 0

    play(story)


def test_arming_again_replaces_the_alarm() -> None:
    async def story(bells: Bells) -> None:
        bells.arm(A, 20.0)
        bells.arm(A, 5.0)
        bells.arm(B, 5.0)
        bells.arm(B, 30.0)
        await asyncio.sleep(100.0)
        assert bells.rung == [(5.0, "a"), (30.0, "b")]

    play(story)


def test_arming_for_the_same_time_again_changes_who_is_told() -> None:
    async def story(bells: Bells) -> None:
        told: list[str] = []
        bells.timers.arm(A, 5.0, lambda: told.append("the owner before"))
        bells.timers.arm(A, 5.0, lambda: told.append("the owner now"))
        await asyncio.sleep(10.0)
        assert told == ["the owner now"]

    play(story)


def test_a_disarmed_alarm_does_not_ring() -> None:
    async def story(bells: Bells) -> None:
        bells.arm(A, 5.0)
        bells.timers.disarm(A)
        bells.timers.disarm(B)
        await asyncio.sleep(10.0)
        assert bells.rung == []

    play(story)


def test_what_was_due_in_the_past_rings_at_once() -> None:
    async def story(bells: Bells) -> None:
        bells.arm(A, -1_000.0)
        await asyncio.sleep(0.001)
        assert [who for _, who in bells.rung] == ["a"]

    play(story)


def test_when_the_wall_clock_jumps_as_after_a_laptop_slept_what_is_due_rings_within_a_second() -> None:
    async def story(bells: Bells) -> None:
        bells.arm(A, 3_600.0)
        await asyncio.sleep(10.0)
        bells.ahead_s = 7_200.0
        await asyncio.sleep(1.1)
        assert [who for _, who in bells.rung] == ["a"]

    play(story, look_s=1.0)


def test_alarms_that_were_replaced_do_not_pile_up() -> None:
    async def story(bells: Bells) -> None:
        for n in range(50_000):
            bells.arm(A, 3_600.0 + n)
            bells.arm(B, 7_200.0 + n)
            bells.timers.disarm(B)
        assert len(bells.timers._heap) < 3_000
        await asyncio.sleep(100_000.0)
        assert bells.rung == [(3_600.0 + 49_999, "a")]

    play(story)
