"""The worker's own promises: slots, stopping, timeouts, and results that are kept until they are heard."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.waiting import until
from tests.worker.rig import a_task, on_both_loops, play
from windlass.core.errors import NotFound, Refused, Unavailable, Unknown
from windlass.core.names import SessionId, WorkerId
from windlass.core.task import Failure, Outcome, Success, Task
from windlass.worker import session
from windlass.worker.executors.noop import Noop
from windlass.worker.secrets import Opened
from windlass.worker.session import LocalWorker

Loop = Callable[[], asyncio.AbstractEventLoop]


class Scripted:
    """An executor that does what it is told, and knows what became of it."""

    def __init__(self, act: Callable[[], Awaitable[Outcome]]) -> None:
        self._act = act
        self.ended: list[str] = []

    async def run(self, task: Task, secrets: Opened) -> Outcome:
        try:
            return await self._act()
        finally:
            self.ended.append(task.step)


async def hang() -> Outcome:
    await asyncio.Event().wait()
    raise AssertionError


class Desk:
    """Hears reports; first says what it was told to say."""

    def __init__(self, *trouble: Exception) -> None:
        self.trouble = list(trouble)
        self.asked = 0
        self.heard: list[tuple[Task, Outcome, float]] = []
        self.free_when_heard: list[int] = []
        self.freed = 0
        self.worker: LocalWorker | None = None

    async def report(self, task: Task, outcome: Outcome, started_at: float) -> None:
        self.asked += 1
        assert self.worker is not None
        self.free_when_heard.append(self.worker.free)
        if self.trouble:
            raise self.trouble.pop(0)
        self.heard.append((task, outcome, started_at))

    def on_free(self) -> None:
        self.freed += 1

    def open(self, executor: Scripted | Noop, slots: int = 1) -> LocalWorker:
        self.worker = LocalWorker(
            id=WorkerId("w1"),
            session=SessionId("s1"),
            slots=slots,
            executors={"noop": executor},
            capabilities=frozenset({"gpu"}),
            report=self.report,
            on_free=self.on_free,
            clock=lambda: 1000.0,
        )
        return self.worker


@on_both_loops
def test_a_result_is_reported_with_its_start_after_the_slot_is_free(loop: Loop) -> None:
    async def story() -> None:
        desk = Desk()
        async with desk.open(Noop()) as worker:
            assert (worker.kinds, worker.capabilities) == (frozenset({"noop"}), frozenset({"gpu"}))
            task = a_task("noop", {"value": 7})
            worker.start(task)
            assert worker.held() == {task.name}
            await until(lambda: desk.heard)
            assert desk.heard == [(task, Success(7), 1000.0)]
            assert (desk.free_when_heard, desk.freed) == ([1], 1)
            await until(lambda: not worker.held())

    play(story(), loop)


def test_it_refuses_beyond_its_slots_twice_the_same_and_unknown_kinds() -> None:
    async def story() -> None:
        desk = Desk()
        worker = desk.open(Scripted(hang), slots=2)
        async with worker:
            task = a_task("noop")
            worker.start(task)
            with pytest.raises(Refused, match="already holds"):
                worker.start(task)
            with pytest.raises(Refused, match="does not run wait steps"):
                worker.start(a_task("wait"))
            worker.start(a_task("noop"))
            with pytest.raises(Refused, match="no free slot: all 2 are busy"):
                worker.start(a_task("noop"))
        with pytest.raises(Refused, match="closed"):
            worker.start(a_task("noop"))
        assert (worker.held(), worker.free, desk.freed) == (set(), 2, 2)

    play(story())


@pytest.mark.parametrize("begun", [True, False])
def test_a_stopped_task_ends_and_reports_nothing(begun: bool) -> None:
    async def story() -> None:
        desk, executor = Desk(), Scripted(hang)
        async with desk.open(executor) as worker:
            task = a_task("noop")
            worker.start(task)
            if begun:
                await asyncio.sleep(0)
            worker.stop(task.name)
            await until(lambda: not worker.held())
            assert executor.ended == ([task.step] if begun else [])
            assert (worker.free, desk.freed, desk.asked) == (1, 1, 0)
            worker.stop(task.name)

    play(story())


@pytest.mark.accepts("S2.15")
@on_both_loops
def test_a_task_over_its_time_is_ended_and_reported(loop: Loop) -> None:
    async def story() -> None:
        desk, executor = Desk(), Scripted(hang)
        async with desk.open(executor) as worker:
            task = a_task("noop", timeout_s=0.02)
            worker.start(task)
            await until(lambda: desk.heard)
            assert executor.ended == [task.step]
            (_, outcome, _), *_ = desk.heard
            assert isinstance(outcome, Failure)
            assert (outcome.type, outcome.message) == ("Timeout", "took longer than 0.02s")

    play(story(), loop)


@pytest.mark.accepts("S2.14")
@pytest.mark.parametrize(
    "error", [ZeroDivisionError("oops"), TimeoutError("not ours"), asyncio.CancelledError("of its own")]
)
def test_whatever_an_executor_raises_becomes_a_failure(error: BaseException) -> None:
    async def story() -> None:
        async def act() -> Outcome:
            raise error

        desk = Desk()
        async with desk.open(Scripted(act)) as worker:
            for _ in range(2):  # the worker goes on
                worker.start(a_task("noop", timeout_s=30))
                await until(lambda: worker.free == 1)
            await until(lambda: len(desk.heard) == 2)
            outcome = desk.heard[0][1]
            assert isinstance(outcome, Failure)
            assert (outcome.type, outcome.message) == (type(error).__name__, str(error))

    play(story())


def test_a_result_is_kept_until_it_is_acknowledged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "REPORT_AGAIN_S", 0.001)

    async def story() -> None:
        desk = Desk(Unavailable("moving"), Unknown("perhaps"), ValueError("a bug"), Unavailable("moving"))
        async with desk.open(Noop()) as worker:
            worker.start(a_task("noop", {"value": 1}))
            await until(lambda: desk.heard)
            assert desk.asked == 5
            assert desk.free_when_heard == [1, 1, 1, 1, 1]  # and the slot is free all the while
            await until(lambda: not worker.held())

    play(story())


def test_a_result_nobody_wants_is_dropped() -> None:
    async def story() -> None:
        desk = Desk(NotFound("no such run"))
        async with desk.open(Noop()) as worker:
            worker.start(a_task("noop"))
            await until(lambda: desk.asked and not worker.held())
            assert desk.heard == []

    play(story())


def test_an_unheard_result_is_dropped_when_stopped_or_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "REPORT_AGAIN_S", 1000.0)

    async def story() -> None:
        desk = Desk(Unavailable("away"), Unavailable("away"))
        async with desk.open(Noop()) as worker:
            stopped, closed = a_task("noop"), a_task("noop")
            worker.start(stopped)
            await until(lambda: desk.asked == 1)
            worker.start(closed)
            await until(lambda: desk.asked == 2)
            worker.stop(stopped.name)
            await until(lambda: worker.held() == {closed.name})
        assert worker.held() == set()
        assert desk.heard == []

    play(story())


def test_cancelling_the_owner_ends_the_tasks() -> None:
    async def story() -> None:
        executor = Scripted(hang)

        async def own() -> None:
            async with Desk().open(executor) as worker:
                worker.start(a_task("noop"))
                await asyncio.Event().wait()

        owner = asyncio.create_task(own())
        await asyncio.sleep(0.01)
        owner.cancel()
        with pytest.raises(asyncio.CancelledError):
            await owner
        assert len(executor.ended) == 1

    play(story())
