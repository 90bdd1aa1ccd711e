"""What a node remembers of the workers it chose."""

from dataclasses import dataclass

from tests.engine.test_dispatcher import FIRST, Bench, Book, dispatching
from windlass.core.assign.chosen import Chosen, Sought
from windlass.core.assign.policy import Assign, Policy
from windlass.core.names import Attempt, Key, RunId, StepId, WorkerId, WorkflowId, run_key
from windlass.core.task import Task
from windlass.engine.choices import KEPT, Choices
from windlass.engine.dispatcher import Dispatcher

ALL = Sought(1_000)


@dataclass
class Author(Book):
    """An owner whose tasks are of a workflow."""

    def task(self, key: Key, step: StepId, attempt: Attempt) -> Task | None:
        if step in self.unwanted:
            return None
        flow = WorkflowId("flow")
        return Task(run=RunId(key.id), step=step, attempt=attempt, kind="noop", workflow=flow)


def offering(
    dispatcher: Dispatcher, book: Book, step: str, assign: Assign | None = None, *, by_step: bool = False
) -> None:
    dispatcher.offer(
        book, run_key("r", "team"), StepId(step), FIRST,
        priority=0, requires=["noop"], assign=assign, by_step=by_step,
    )  # fmt: skip


def remembering(now: float = 7.0) -> Dispatcher:
    dispatcher = dispatching()
    dispatcher.choosing.choices = Choices(lambda: now)
    dispatcher.choosing.policy = lambda: Policy(strategy="load-balanced")
    return dispatcher


def test_a_choice_is_remembered_with_whom_it_fell_on_and_by_what() -> None:
    dispatcher, book = remembering(), Author()
    dispatcher.employ(Bench(WorkerId("busy"), slots=0))
    dispatcher.employ(Bench(WorkerId("one"), slots=2))
    dispatcher.employ(Bench(WorkerId("two"), slots=2))
    offering(dispatcher, book, "a")
    (chosen,) = dispatcher.choosing.choices.latest(ALL)
    assert chosen.placed is not None
    told = Chosen(7.0, "team", "flow", "r", "a", 1, "one", "n", "load-balanced", "cluster", 3, chosen.placed)
    assert chosen == told
    assert (chosen.placed.strategy, chosen.placed.count) == ("load-balanced", 2)
    assert [ranked.worker for ranked in chosen.placed.top] == ["one", "two"]


def test_who_named_the_strategy_is_remembered() -> None:
    dispatcher, book = remembering(), Author()
    dispatcher.employ(Bench(WorkerId("w"), slots=9))
    offering(dispatcher, book, "a", Assign(affinity="k"))
    offering(dispatcher, book, "b", Assign(strategy="random"))
    offering(dispatcher, book, "c", Assign(strategy="weighted"), by_step=True)
    found = {one.step: (one.strategy, one.source) for one in dispatcher.choosing.choices.latest(ALL)}
    assert found == {
        "a": ("load-balanced", "cluster"),
        "b": ("random", "workflow"),
        "c": ("weighted", "step"),
    }


def test_what_is_not_wanted_any_more_is_no_choice() -> None:
    dispatcher, book = remembering(), Author(unwanted={StepId("a")})
    dispatcher.employ(Bench(WorkerId("w"), slots=9))
    offering(dispatcher, book, "a")
    assert dispatcher.choosing.choices.latest(ALL) == []


def test_the_newest_come_first_as_many_as_are_asked_for_and_no_more_than_are_kept() -> None:
    dispatcher, book = remembering(), Author()
    dispatcher.employ(Bench(WorkerId("w"), slots=2 * KEPT))
    for number in range(KEPT + 5):
        offering(dispatcher, book, f"s{number}")
    kept = dispatcher.choosing.choices.latest(ALL)
    assert [one.step for one in kept] == [f"s{number}" for number in reversed(range(5, KEPT + 5))]
    assert dispatcher.choosing.choices.latest(Sought(2)) == kept[:2]
    assert dispatcher.choosing.choices.latest(Sought(2, worker="nobody")) == []
