"""Beating from a thread: what the two loops owe each other."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from tests.waiting import until, wait_until
from windlass.core.cluster import Load, View
from windlass.leases import Buried, LeasesAway
from windlass.leases.heart import GRACE_S, beat_in_thread

EVERY_S = 0.02
NOTHING = View(members={}, shards={})


class Database:
    """What a heart beats against; it counts, and does what the test wants."""

    def __init__(self, answer: Callable[[int], Awaitable[None]] | None = None) -> None:
        self.beats = 0
        self.beaten_at = 0.0
        self.loads: list[Load] = []
        self.entered = self.left = False
        self._answer = answer

    @asynccontextmanager
    async def pulse(self) -> AsyncIterator[Callable[[Load], Awaitable[View]]]:
        self.entered = True
        try:
            yield self.beat
        finally:
            self.left = True

    async def beat(self, load: Load) -> View:
        self.beats += 1
        self.beaten_at = time.monotonic()
        self.loads.append(load)
        if self._answer is not None:
            await self._answer(self.beats)
        return NOTHING


class Caller:
    """A loop's side of the beating."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.heard: list[float] = []

    def hear(self, asked_at: float, view: View) -> None:
        self.heard.append(asked_at)

    def load(self) -> Load:
        return Load(live=len(self.heard))

    @asynccontextmanager
    async def beating(self, silent_s: float = 60.0) -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.create_task(
            beat_in_thread(self.database.pulse, EVERY_S, self.load, self.hear, silent_s=silent_s)
        )
        yield task
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


def story(play: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    async def bounded() -> None:
        async with asyncio.timeout(30):
            await play()

    def test() -> None:
        asyncio.run(bounded())

    test.__name__ = play.__name__
    return test


@story
async def test_what_a_beat_saw_is_heard_in_the_callers_loop() -> None:
    caller = Caller(Database())
    async with caller.beating():
        await until(lambda: len(caller.heard) >= 3)
    assert caller.heard == sorted(caller.heard)
    assert caller.database.loads[0] == Load(live=0)
    assert caller.database.loads[-1].live > 0, "the load comes from the caller, again and again"
    assert caller.database.left
    beats = caller.database.beats
    assert len(caller.heard) <= beats


@story
async def test_beats_go_on_while_the_loop_is_busy() -> None:
    caller = Caller(Database())
    async with caller.beating():
        await until(lambda: caller.heard)
        before, heard = caller.database.beats, len(caller.heard)
        wait_until(lambda: caller.database.beats >= before + 5)  # the loop stands still meanwhile
        assert len(caller.heard) == heard
        newest = caller.database.beaten_at
        await until(lambda: len(caller.heard) > heard)
        assert caller.heard[heard] >= newest - 0.5, "of all that was seen meanwhile, the newest is heard"


@story
async def test_beats_stop_when_the_loop_is_silent_for_too_long_and_go_on_when_it_is_back() -> None:
    caller = Caller(Database())
    database = caller.database
    async with caller.beating(silent_s=0.3):
        await until(lambda: caller.heard)
        before = time.monotonic()
        wait_until(lambda: time.monotonic() - max(database.beaten_at, before) > 1.0)
        stopped_after_s = database.beaten_at - before
        # On a busy machine the last beat before it may come late, and be left out.
        assert stopped_after_s >= 0.1, "it was not silent for so long yet"
        beats = database.beats
        await until(lambda: database.beats > beats + 3)
        assert caller.heard


@story
async def test_a_cancelled_heart_ends_even_when_nothing_ever_answers() -> None:
    async def never(n: int) -> None:
        await asyncio.Event().wait()

    caller = Caller(Database(never))
    began = time.monotonic()
    async with caller.beating():
        await until(lambda: caller.database.beats)
        began = time.monotonic()
    assert time.monotonic() - began < GRACE_S
    assert caller.database.left
    assert caller.heard == []


@story
async def test_a_cancelled_heart_ends_even_when_the_system_holds_its_thread() -> None:
    release, held = threading.Event(), threading.Event()

    async def hang(n: int) -> None:
        held.set()
        release.wait(30)

    caller = Caller(Database(hang))
    async with caller.beating():
        await until(held.is_set)
        began = time.monotonic()
    assert time.monotonic() - began < GRACE_S + 1
    release.set()
    await until(lambda: caller.database.left)
    await until(lambda: "heart" not in {thread.name for thread in threading.enumerate()})
    assert caller.heard == [], "after its end nothing is heard any more"


@story
async def test_a_heart_that_is_cancelled_at_once_never_beats_on() -> None:
    caller = Caller(Database())
    async with caller.beating() as task:
        await asyncio.sleep(0)
        assert not task.done()
    await until(lambda: "heart" not in {thread.name for thread in threading.enumerate()})


@story
async def test_a_heart_goes_on_whatever_fails() -> None:
    async def away(n: int) -> None:
        if n % 2:
            raise LeasesAway("the database did not answer")

    caller = Caller(Database(away))
    async with caller.beating():
        await until(lambda: len(caller.heard) >= 3)
    assert caller.database.beats >= 6


@story
async def test_the_buried_hear_of_it_in_their_own_loop() -> None:
    async def bury(n: int) -> None:
        if n == 3:
            raise Buried("dead")

    caller = Caller(Database(bury))
    with pytest.raises(Buried):
        await beat_in_thread(caller.database.pulse, EVERY_S, caller.load, caller.hear)
    assert caller.database.beats == 3
    assert caller.database.left


@story
async def test_a_mistake_in_the_thread_or_in_the_loop_ends_the_beating() -> None:
    async def stumble(n: int) -> None:
        raise ZeroDivisionError

    def hear(asked_at: float, view: View) -> None:
        raise KeyError

    with pytest.raises(ZeroDivisionError):
        await beat_in_thread(Database(stumble).pulse, EVERY_S, Load, lambda *_: None)
    with pytest.raises(KeyError):
        await beat_in_thread(Database().pulse, EVERY_S, Load, hear)


@story
async def test_a_pulse_that_cannot_be_entered_ends_the_beating() -> None:
    def pulse() -> AbstractAsyncContextManager[Callable[[Load], Awaitable[View]]]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await beat_in_thread(pulse, EVERY_S, Load, lambda *_: None)
