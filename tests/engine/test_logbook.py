"""What steps print is kept in order and numbered without gaps, whatever happens, and never delays a run."""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import pytest

from tests.engine.rig import EPOCH_S, Rig, play
from windlass.alone import lone_node
from windlass.core.log import Bounds, Line, Printed
from windlass.core.names import Attempt, Key, RunId, StepId, run_key
from windlass.core.task import Task
from windlass.engine import logbook
from windlass.engine.drawer import PACE_S
from windlass.engine.node import NodeSettings
from windlass.journal import Group, LogLine, LogSize, StoreBusy, StoreRefused, StoreUnknown
from windlass.journal.memory import MemoryStore
from windlass.sim.faults import Faults
from windlass.sim.loop import SimLoop, run
from windlass.sim.store import FaultyStore

ONE = {"a": {"kind": "noop"}}
TWO = {"a": {"kind": "noop"}, "b": {"kind": "noop"}}


class Watched(MemoryStore):
    """Remembers every commit and what was asked of logs; does with a commit of lines as it is told."""

    def __init__(self, *plan: str) -> None:
        super().__init__()
        self.plan = list(plan)
        self.groups: list[Group] = []
        self.sizes_read = 0
        self.flying: Counter[int] = Counter()
        self.most_flying = 0

    async def commit(self, groups: Sequence[Group]) -> list[bool]:
        with_lines = [group.shard for group in groups if group.logs]
        self.flying.update(with_lines)
        self.most_flying = max([self.most_flying, *self.flying.values()])
        await asyncio.sleep(0.001)
        try:
            step = self.plan.pop(0) if with_lines and self.plan else ""
            if step == "refused":
                raise StoreRefused("by the test")
            if step == "lost":
                raise StoreUnknown("by the test, and nothing was kept")
            outcomes = await super().commit(groups)
            self.groups += groups
            if step == "kept":
                raise StoreUnknown("by the test, but it was kept")
            return outcomes
        finally:
            self.flying.subtract(with_lines)

    async def log_size(self, shard: int, key: Key) -> LogSize:
        self.sizes_read += 1
        return await super().log_size(shard, key)


class Stalled(MemoryStore):
    """Cannot take lines while it is full."""

    full = False

    async def commit(self, groups: Sequence[Group]) -> list[bool]:
        if self.full and any(group.logs for group in groups):
            raise StoreBusy("no room")
        return await super().commit(groups)


def printed(*texts: str, **more: bool) -> Printed:
    return Printed([Line(EPOCH_S, "stdout", text) for text in texts], **more)


async def begin(rig: Rig, run_id: str = "r", steps: Mapping[str, object] = ONE) -> dict[str, Task]:
    """A run whose steps are held by the worker."""
    await rig.define(dict(steps))
    await rig.start(run_id)
    await rig.settle(0.1)
    return {task.step: task for task in rig.hand.holding.values() if task.run == run_id}


async def kept(rig: Rig, run_id: str = "r") -> list[LogLine]:
    key = run_key(run_id)
    return await rig.store.logs(rig.shard_of(key), key, after=0, limit=1_000_000)


def texts(lines: list[LogLine]) -> list[str]:
    assert [line.n for line in lines] == list(range(1, len(lines) + 1))
    return [line.text for line in lines]


def test_lines_are_numbered_in_their_order_through_all_steps_of_a_run() -> None:
    async def story(rig: Rig) -> None:
        node = await rig.up()
        tasks = await begin(rig, steps=TWO)
        node.log(tasks["a"], printed("a1", "a2"))
        node.log(tasks["b"], printed("b1"))
        await rig.settle()
        node.log(tasks["a"], printed("a3"))
        await rig.settle()
        lines = await kept(rig)
        assert texts(lines) == ["a1", "a2", "b1", "a3"]
        assert [line.step for line in lines] == ["a", "a", "b", "a"]
        assert lines[0] == LogLine(run_key("r"), 1, EPOCH_S, "a", 1, "stdout", "a1")

    play(story)


def test_the_lines_of_a_step_are_there_when_its_end_is() -> None:
    async def story(rig: Rig) -> None:
        node = await rig.up()
        tasks = await begin(rig, steps=TWO)
        node.log(tasks["a"], printed("before"))
        await rig.settle(PACE_S / 5)  # less than the time between two appends
        node.log(tasks["a"], printed("at the end", last=True))
        await rig.hand.end(tasks["a"])
        assert isinstance(rig.store, Watched)
        places = {
            what: n
            for n, group in enumerate(rig.store.groups)
            for what in [*(fact.type for fact in group.facts), *(line.text for line in group.logs)]
        }
        assert places["before"] < places["at the end"] <= places["StepSucceeded"]

    play(story, store=Watched())


def test_a_run_that_prints_nothing_costs_nothing() -> None:
    async def story(rig: Rig) -> None:
        node = await rig.up(auto=True)
        await begin(rig)
        await rig.settle()
        assert isinstance(rig.store, Watched)
        assert rig.store.sizes_read == 0
        assert not any(group.logs for group in rig.store.groups)
        assert node.logbook.quiet(run_key("r"))
        assert not node.logbook._runs and not node.logbook._drawers

    play(story, store=Watched())


def test_appends_are_few_and_one_at_a_time() -> None:
    async def story(rig: Rig) -> None:
        node = await rig.up()
        task = (await begin(rig))["a"]
        assert isinstance(rig.store, Watched)
        for n in range(1000):
            node.log(task, printed(f"{n}"))
            await rig.settle(0.001)
        await rig.settle()
        appends = [group for group in rig.store.groups if group.logs]
        assert texts(await kept(rig)) == [f"{n}" for n in range(1000)]
        assert len(appends) <= 1.0 / PACE_S + 2
        assert rig.store.most_flying == 1

    play(story, store=Watched())


@pytest.mark.parametrize("bounds", [Bounds(lines=3), Bounds(bytes=6)])
def test_an_attempt_prints_so_much_and_then_one_line_says_so(bounds: Bounds) -> None:
    async def story(rig: Rig) -> None:
        node = await rig.up()
        task = (await begin(rig))["a"]
        for n in range(5):
            node.log(task, printed(f"{n}"))
        node.log(task, printed("5", dropped=True))
        node.log(task, printed("6", last=True))
        await rig.settle()
        *lines, last = texts(await kept(rig))
        assert lines == ["0", "1", "2"]
        assert "the rest is dropped" in last and "--log-lines" in last
        assert (await kept(rig))[-1].stream == "system"

    play(story, logs=bounds)


def test_what_the_worker_dropped_is_said_too() -> None:
    async def story(rig: Rig) -> None:
        node = await rig.up()
        task = (await begin(rig))["a"]
        node.log(task, printed("first", dropped=True))
        await rig.settle()
        first, last = texts(await kept(rig))
        assert first == "first" and "the rest is dropped" in last

    play(story)


def test_a_run_prints_so_much_and_then_one_line_says_so_also_after_a_restart() -> None:
    async def story(rig: Rig) -> None:
        node = await rig.up()
        tasks = await begin(rig, steps=TWO)
        for task in tasks.values():
            node.log(task, printed(*"123456"))
        node.log(tasks["a"], printed("7"))
        await rig.settle()
        full = texts(await kept(rig))
        assert full[:-1] == list("1234561234")
        assert "of a run are kept" in full[-1]
        await rig.kill()
        node = await rig.up()
        await rig.settle()
        node.log(next(iter(rig.hand.holding.values())), printed("again"))
        await rig.settle()
        assert texts(await kept(rig)) == full

    play(story, logs=Bounds(lines=10, attempts_per_run=1))


def test_numbers_go_on_after_a_crash() -> None:
    async def story(rig: Rig) -> None:
        node = await rig.up()
        node.log((await begin(rig))["a"], printed("before"))
        await rig.settle()
        await rig.kill()
        node = await rig.up()
        await rig.settle()
        (task,) = rig.hand.holding.values()
        assert task.attempt == 2
        node.log(task, printed("after"))
        await rig.settle()
        assert texts(await kept(rig)) == ["before", "after"]

    play(story)


@pytest.mark.parametrize("how", ["kept", "lost"])
def test_after_an_unknown_outcome_no_line_is_lost_or_there_twice(how: str) -> None:
    async def story(rig: Rig) -> None:
        node = await rig.up()
        task = (await begin(rig))["a"]
        node.log(task, printed("1", "2"))
        await rig.settle(0.01)
        node.log(task, printed("3"))
        await rig.settle(30)
        assert texts(await kept(rig)) == ["1", "2", "3"]

    play(story, store=Watched(how, how, how))


def test_lines_that_the_journal_refuses_leave_no_gap() -> None:
    async def story(rig: Rig) -> None:
        node = await rig.up()
        task = (await begin(rig))["a"]
        for text in ("refused", "1", "2"):
            node.log(task, printed(text))
            await rig.settle()
        assert texts(await kept(rig)) == ["1", "2"]

    play(story, store=Watched("refused"))


def test_what_the_journal_cannot_keep_up_with_is_dropped_and_the_log_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logbook, "WAITING_BYTES_MAX", 10_000)

    async def story(rig: Rig) -> None:
        node = await rig.up()
        task = (await begin(rig))["a"]
        assert isinstance(rig.store, Stalled)
        rig.store.full = True
        for n in range(1000):
            node.log(task, printed(f"{n}"))
            await rig.settle(0.001)
        assert node.logbook.waiting_bytes < 11_000
        rig.store.full = False
        await rig.settle(10)
        node.log(task, printed("again", last=True))
        await rig.settle()
        *before, gap, last = texts(await kept(rig))
        assert before == [f"{n}" for n in range(len(before))]
        assert gap == f"{1000 - len(before)} lines are missing here: the journal could not keep up"
        assert last == "again"
        assert node.logbook.waiting_bytes == 0

    play(story, store=Stalled())


def test_a_result_does_not_wait_long_for_lines() -> None:
    async def story(rig: Rig) -> None:
        node = await rig.up()
        task = (await begin(rig))["a"]
        assert isinstance(rig.store, Stuck)
        node.log(task, printed("1"))
        await rig.settle()
        node.log(task, printed("2", last=True))
        began = rig.loop.time()
        await rig.hand.end(task)
        assert rig.loop.time() - began < 3.0
        assert "StepSucceeded" in await rig.events()

    class Stuck(MemoryStore):
        """Never says how big a log is."""

        async def log_size(self, shard: int, key: Key) -> LogSize:
            await asyncio.sleep(3600)
            raise AssertionError

    play(story, store=Stuck())


def test_followers_of_a_log_hear_that_there_is_more_and_that_all_is_said() -> None:
    async def story(rig: Rig) -> None:
        node = await rig.up()
        task, key = (await begin(rig))["a"], run_key("r")
        with node.log_followers.follow(key) as follower:
            node.log(task, printed("1"))
            assert not node.logbook.quiet(key)
            await follower.news.get()
            assert texts(await kept(rig)) == ["1"]
            assert not node.logbook.quiet(key)  # the attempt goes on
            node.log(task, printed(last=True))
            await follower.news.get()
            assert node.logbook.quiet(key)

    play(story)


def test_lines_go_when_the_run_is_purged() -> None:
    async def story(rig: Rig) -> None:
        node = await rig.up()
        task = (await begin(rig))["a"]
        node.log(task, printed("1", last=True))
        await rig.hand.end(task)
        assert texts(await kept(rig)) == ["1"]
        await rig.settle(100)
        await node.purge()
        assert await kept(rig) == []

    play(story, retention_s=50.0)


@pytest.mark.parametrize("seed", range(30))
def test_under_faults_and_crashes_numbers_have_no_gaps_and_no_line_comes_twice(seed: int) -> None:
    async def story(loop: SimLoop) -> None:
        disk, faults = MemoryStore(), Faults(loop.random)
        told = 0
        for _ in range(4):  # lives of a node
            crashed = asyncio.Event()
            store = FaultyStore(disk, faults, kept=lambda _: None, crash=crashed.set)
            settings = NodeSettings(shards=2, look_s=None)
            node = lone_node(store, settings, wall=lambda: EPOCH_S + loop.time(), chance=random.Random(seed))
            serving = asyncio.ensure_future(node.serve())
            for _ in range(loop.random.randrange(20, 80)):
                if crashed.is_set():
                    break
                told += 1
                node.log(_some_task(loop.random), printed(f"{told}"))
                await asyncio.sleep(loop.random.choice([0.0, 0.01, 0.2]))
            await asyncio.sleep(loop.random.choice([0.0, 20.0]))
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
        await asyncio.sleep(10.0)  # what was on its way arrives, and is fenced or was in time
        seen: dict[str, list[int]] = defaultdict(list)
        for key in (run_key(f"run-{n}") for n in range(4)):
            shard = node.shard_of(key.id)
            lines = await disk.logs(shard, key, after=0, limit=10_000)
            seen[key.id] = [int(text) for text in texts(lines)]
            assert seen[key.id] == sorted(set(seen[key.id]))
        assert sum(map(len, seen.values())) > told / 4

    run(story, seed)


def _some_task(chance: random.Random) -> Task:
    return Task(RunId(f"run-{chance.randrange(4)}"), StepId("a"), Attempt(1), "noop")
