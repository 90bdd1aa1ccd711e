"""Ready tasks meet free workers: by capability, priority and age."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from windlass.core.assign.index import Index
from windlass.core.assign.placed import Placed
from windlass.core.cluster import NodeId
from windlass.core.errors import Refused
from windlass.core.fleet import Rules
from windlass.core.names import Attempt, Key, RunId, SessionId, StepId, WorkerId, run_key
from windlass.core.task import Task, TaskName
from windlass.engine.choosing import Choosing
from windlass.engine.dispatcher import Dispatcher
from windlass.engine.fleet import no_custom
from windlass.engine.outlook import outlook
from windlass.engine.queues import Holder, Loss
from windlass.engine.slots import Slots
from windlass.engine.table import Table

FIRST = Attempt(1)


@dataclass
class Book:
    """An owner that writes down what it is told."""

    unwanted: set[StepId] = field(default_factory=set)
    grants: list[tuple[str, str]] = field(default_factory=list)
    losses: list[tuple[str, str]] = field(default_factory=list)
    number: int = 0
    epoch: int = 1

    def task(self, key: Key, step: StepId, attempt: Attempt) -> Task | None:
        if step in self.unwanted:
            return None
        return Task(run=RunId(key.id), step=step, attempt=attempt, kind="noop")

    def granted(
        self, key: Key, step: StepId, attempt: Attempt, holder: Holder, placed: Placed | None
    ) -> None:
        self.grants.append((step, holder.worker))

    def lost(self, key: Key, step: StepId, attempt: Attempt, loss: Loss) -> None:
        self.losses.append((step, loss.reason))


@dataclass
class Bench:
    """A worker with so many slots."""

    id: WorkerId
    slots: int = 1
    capabilities: frozenset[str] = frozenset({"noop"})
    holding: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    refuses: bool = False

    @property
    def session(self) -> SessionId:
        return SessionId(f"{self.id}'s")

    @property
    def free(self) -> int:
        return self.slots - len(self.holding)

    def start(self, task: Task) -> None:
        if self.refuses:
            raise Refused("not today")
        self.holding.append(task.step)

    def stop(self, name: TaskName) -> None:
        self.stopped.append(name[2])
        self.holding.remove(name[2])


def dispatching(bounds: Callable[[], tuple[int, int]] = lambda: (0, 0)) -> Dispatcher:
    index = Index(
        here=lambda: NodeId("n"),
        host="",
        host_group="",
        chance=random.Random(1),
        rules=Rules(),
        custom=no_custom,
    )
    slots = Slots(index, lambda: 1.0, lambda: NodeId("n"))
    return Dispatcher(slots, Choosing(index, lambda: 1.0), Table(bounds))


def offer(
    dispatcher: Dispatcher, book: Book, step: str, *, priority: int = 0, run: str = "r", needs: str = "noop"
) -> None:
    dispatcher.offer(book, run_key(run), StepId(step), FIRST, priority=priority, requires=needs.split())


def name(step: str, run: str = "r") -> TaskName:
    return ("default", RunId(run), StepId(step), FIRST)


def test_a_task_waits_until_a_slot_is_free() -> None:
    dispatcher, book, worker = dispatching(), Book(), Bench(WorkerId("w"))
    offer(dispatcher, book, "a")
    offer(dispatcher, book, "b")
    assert dispatcher.waiting == 2
    dispatcher.employ(worker)
    assert worker.holding == ["a"]
    worker.holding.clear()
    dispatcher.match()
    assert worker.holding == ["b"]
    assert book.grants == [("a", "w"), ("b", "w")]


def test_the_urgent_go_first_and_among_equals_the_oldest() -> None:
    dispatcher, book, worker = dispatching(), Book(), Bench(WorkerId("w"), slots=10)
    for step, priority in [("low", -5), ("first", 0), ("second", 0), ("high", 5)]:
        offer(dispatcher, book, step, priority=priority)
    dispatcher.employ(worker)
    assert worker.holding == ["high", "first", "second", "low"]


def test_a_task_nobody_can_run_blocks_no_other() -> None:
    dispatcher, book, worker = dispatching(), Book(), Bench(WorkerId("w"), slots=5)
    dispatcher.employ(worker)
    offer(dispatcher, book, "needs-gpu", priority=100, needs="noop gpu")
    offer(dispatcher, book, "plain")
    assert worker.holding == ["plain"]
    able = Bench(WorkerId("big"), capabilities=frozenset({"noop", "gpu"}))
    dispatcher.employ(able)
    assert able.holding == ["needs-gpu"]


def test_asking_twice_for_the_same_attempt_starts_it_once() -> None:
    dispatcher, book, worker = dispatching(), Book(), Bench(WorkerId("w"), slots=5)
    dispatcher.employ(worker)
    offer(dispatcher, book, "a")
    offer(dispatcher, book, "a")
    assert worker.holding == ["a"]
    assert book.grants == [("a", "w"), ("a", "w")]  # the owner had forgotten, so it is told again


def test_what_is_no_longer_wanted_is_not_started() -> None:
    dispatcher, book, worker = dispatching(), Book({StepId("a")}), Bench(WorkerId("w"))
    dispatcher.employ(worker)
    offer(dispatcher, book, "a")
    offer(dispatcher, book, "b")
    assert worker.holding == ["b"]
    assert dispatcher.waiting == 0


def test_a_run_is_recalled_though_its_worker_asks_for_more_as_soon_as_it_stops() -> None:
    class Eager(Bench):
        def stop(self, name: TaskName) -> None:
            super().stop(name)
            dispatcher.match()

    dispatcher, book, worker = dispatching(), Book(), Eager(WorkerId("w"))
    dispatcher.employ(worker)
    for step in "abc":
        offer(dispatcher, book, step)
    book.unwanted = {StepId(step) for step in "abc"}
    dispatcher.recall_all(run_key("r"))
    assert (worker.stopped, worker.holding, dispatcher.waiting) == (["a"], [], 0)


def test_recall_stops_what_runs_and_withdraw_only_what_waits() -> None:
    dispatcher, book, worker = dispatching(), Book(), Bench(WorkerId("w"))
    dispatcher.employ(worker)
    for step in "abc":
        offer(dispatcher, book, step)
    dispatcher.withdraw(run_key("r"))
    assert (worker.holding, dispatcher.waiting) == (["a"], 0)
    dispatcher.recall(run_key("r"), StepId("a"), FIRST)
    assert worker.stopped == ["a"]
    offer(dispatcher, book, "d", run="other")
    dispatcher.recall_all(run_key("r"))
    assert worker.holding == ["d"]


def test_when_a_worker_is_gone_its_owners_hear_of_what_it_held() -> None:
    dispatcher, book, worker = dispatching(), Book(), Bench(WorkerId("w"), slots=2)
    dispatcher.employ(worker)
    for step in "abc":
        offer(dispatcher, book, step)
    dispatcher.reported(name("a"))  # its result is on the way: not lost
    dispatcher.dismiss(worker.session, "the socket closed")
    assert book.losses == [("b", "the socket closed")]
    assert dispatcher.waiting == 1


def test_an_attempt_that_was_granted_before_a_crash_is_lost_if_nobody_here_holds_it() -> None:
    dispatcher, book, worker = dispatching(), Book(), Bench(WorkerId("w"))
    dispatcher.employ(worker)
    key, session = run_key("r"), SessionId("of the process before")
    dispatcher.watch(book, key, StepId("a"), FIRST, Holder(WorkerId("w"), session))
    assert [step for step, _ in book.losses] == ["a"]


def test_an_attempt_somebody_here_holds_is_watched_for_its_new_owner() -> None:
    dispatcher, before, after, worker = dispatching(), Book(), Book(), Bench(WorkerId("w"))
    dispatcher.employ(worker)
    offer(dispatcher, before, "a")
    dispatcher.release(before)
    dispatcher.expect(0, dispatcher.held_here.of_runs(lambda run: True))
    dispatcher.watch(after, run_key("r"), StepId("a"), FIRST, Holder(worker.id, worker.session))
    dispatcher.settle(after)
    assert worker.stopped == []
    dispatcher.dismiss(worker.session, "gone")
    assert (before.losses, after.losses) == ([], [("a", "gone")])


def test_a_later_life_of_a_worker_brings_what_its_earlier_one_held_and_nobody_else_does() -> None:
    dispatcher, book, worker = dispatching(), Book(), WorkerId("w")
    earlier = Holder(worker, SessionId("killed"), NodeId("dead"), survives=True)
    later = Holder(worker, SessionId("started again"), NodeId("n"), survives=True)
    dispatcher.expect(0, {})
    dispatcher.watch(book, run_key("r"), StepId("a"), FIRST, earlier)
    dispatcher.settle(book)
    assert not dispatcher.adopt(name("a"), later._replace(worker=WorkerId("another")))
    assert dispatcher.adopt(name("a"), later)
    assert book.grants == [("a", "w")]
    dispatcher.gone(name("a"), earlier, Loss("it did not come back"))
    assert book.losses == []


def test_a_life_that_is_still_here_has_what_it_has() -> None:
    dispatcher, book, worker = dispatching(), Book(), Bench(WorkerId("w"))
    dispatcher.employ(worker)
    offer(dispatcher, book, "a")
    assert not dispatcher.adopt(name("a"), Holder(worker.id, SessionId("late word"), NodeId("m"), True))
    assert book.grants == [("a", "w")]


def test_what_a_successor_does_not_ask_for_again_is_stopped() -> None:
    dispatcher, before, worker = dispatching(), Book(), Bench(WorkerId("w"))
    dispatcher.employ(worker)
    offer(dispatcher, before, "a")
    dispatcher.release(before)
    dispatcher.expect(0, dispatcher.held_here.of_runs(lambda run: True))
    assert worker.stopped == []
    dispatcher.settle(Book())
    assert worker.stopped == ["a"]


def test_a_worker_that_refuses_loses_the_attempt_and_harms_nobody() -> None:
    dispatcher, book = dispatching(), Book()
    dispatcher.employ(Bench(WorkerId("w"), refuses=True))
    offer(dispatcher, book, "a")
    assert book.losses == [("a", "refused by w: not today")]
    assert book.grants == []


def test_a_queue_nobody_serves_forgets_what_was_taken_back() -> None:
    dispatcher, book = dispatching(), Book()
    for n in range(10_000):
        offer(dispatcher, book, "a", run=f"r{n}", needs="gpu")
        dispatcher.recall_all(run_key(f"r{n}"))
    offer(dispatcher, book, "still-wanted", needs="gpu")
    assert dispatcher.waiting == 1
    assert len(dispatcher.table.queues) < 3_000
    worker = Bench(WorkerId("w"), capabilities=frozenset({"gpu"}))
    dispatcher.employ(worker)
    assert worker.holding == ["still-wanted"]


def test_an_acknowledged_task_is_forgotten() -> None:
    dispatcher, book, worker = dispatching(), Book(), Bench(WorkerId("w"))
    dispatcher.employ(worker)
    offer(dispatcher, book, "a")
    worker.holding.clear()
    dispatcher.reported(name("a"))
    dispatcher.acknowledged(name("a"))
    assert (len(dispatcher.held_here), dispatcher.waiting) == (0, 0)
    offer(dispatcher, book, "a")  # as after a result that was never kept
    assert worker.holding == ["a"]


def test_a_namespace_has_only_so_many_tasks_out_and_others_are_not_held_up() -> None:
    dispatcher, book, bench = dispatching(bounds=lambda: (2, 0)), Book(), Bench(WorkerId("w"), slots=10)
    dispatcher.employ(bench)
    for step, namespace in (("a1", "a"), ("a2", "a"), ("a3", "a"), ("a4", "a"), ("b1", "b")):
        key = run_key("r", namespace)
        dispatcher.offer(book, key, StepId(step), FIRST, priority=0, requires=["noop"])
    assert bench.holding == ["a1", "a2", "b1"]
    waiting = outlook(dispatcher, run_key("r", "a")).tasks[StepId("a3")]
    assert not waiting.held and waiting.bound == 2
    bench.holding.remove("a1")
    dispatcher.acknowledged(("a", RunId("r"), StepId("a1"), FIRST))
    assert bench.holding == ["a2", "b1", "a3"]
    dispatcher.recall(run_key("r", "a"), StepId("a2"), FIRST)
    assert bench.holding == ["b1", "a3", "a4"]
    dispatcher.dismiss(bench.session, "it is gone")
    assert dispatcher.table.idle


def test_the_runs_of_one_token_have_only_so_many_tasks_out() -> None:
    dispatcher, book, bench = dispatching(bounds=lambda: (0, 1)), Book(), Bench(WorkerId("w"), slots=10)
    dispatcher.employ(bench)
    for step, by in (("a1", "a"), ("a2", "a"), ("b1", "b"), ("free1", ""), ("free2", "")):
        dispatcher.offer(book, run_key("r"), StepId(step), FIRST, priority=0, requires=["noop"], by=by)
    assert bench.holding == ["a1", "b1", "free1", "free2"]
    assert outlook(dispatcher, run_key("r")).tasks[StepId("a2")].bound == 1
    bench.holding.remove("a1")
    dispatcher.acknowledged(name("a1"))
    assert bench.holding == ["b1", "free1", "free2", "a2"]
    dispatcher.dismiss(bench.session, "it is gone")
    assert dispatcher.table.idle


def test_a_worker_that_would_not_have_a_task_is_not_asked_for_it_again_at_once() -> None:
    dispatcher, book = dispatching(), Book()
    unwilling, willing = Bench(WorkerId("a"), refuses=True), Bench(WorkerId("b"))
    dispatcher.employ(unwilling)
    offer(dispatcher, book, "a")
    dispatcher.offer(book, run_key("r"), StepId("a"), Attempt(2), priority=0, requires=["noop"])
    assert [step for step, _ in book.losses] == ["a"], "its next attempt waits"
    dispatcher.employ(willing)
    assert willing.holding == ["a"]
