"""Large values of tasks between nodes and workers: sent once over a connection, whole where they must be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from tests.engine.crew_rig import Mariner, Rig, greet, play, task
from tests.engine.many import Many
from tests.engine.many import play as play_many
from windlass.core.cluster import NodeId
from windlass.core.task import Failure, Json, Task
from windlass.engine import crew_mate
from windlass.engine.host import NodeHost
from windlass.wire import bulk, crew, versions
from windlass.wire.filling import Kept, filled, looked_into
from windlass.wire.messages import Answer, Offer, Request

ROWS = {"rows": ["x" * 100] * 100}
STEPS: dict[str, Json] = {
    "a": {"kind": "noop"},
    "b": {"kind": "noop", "needs": ["a"]},
    "c": {"kind": "noop", "needs": ["b"]},
}


def large(step: str, given: Json = ROWS) -> Task:
    return task(step, input=given)


async def hear(worker: Mariner, values: dict[str, msgspec.Raw]) -> tuple[crew.RunLight, Task]:
    run = await worker.hear(crew.RunLight)
    values.update({name: msgspec.Raw(body) for name, body in run.bodies.items()})
    whole = filled(crew.decode_task(run.task), run.places, values)
    return run, msgspec.structs.replace(whole, input=looked_into(whole.input))


async def newer(rig: Rig) -> Mariner:
    worker = rig.dial()
    await worker.say(greet(highest=crew.HIGHEST))
    assert (await worker.hear(crew.Welcome)).version == 2
    await asyncio.sleep(1)
    return worker


def test_a_worker_is_sent_a_value_with_the_first_task_that_has_it_and_again_over_another_connection() -> None:
    async def story(rig: Rig) -> None:
        worker, values = await newer(rig), dict[str, msgspec.Raw]()
        for step in "abc":
            rig.ledger.give("s1", large(step))
        heard = [await hear(worker, values) for _ in "abc"]
        assert [whole for _, whole in heard] == [large(step) for step in "abc"]
        assert [len(run.bodies) for run, _ in heard] == [1, 0, 0]
        rig.ledger.give("s1", task("small", input={"n": 1}))
        assert crew.decode_task((await worker.hear(crew.Run)).task) == task("small", input={"n": 1})
        again = await newer(rig)
        rig.ledger.give("s1", large("d"))
        run, whole = await hear(again, {})
        assert (len(run.bodies), whole) == (1, large("d"))

    play(story)


def test_a_worker_of_version_1_is_sent_whole_tasks() -> None:
    async def story(rig: Rig) -> None:
        worker = await rig.come()
        for step in "ab":
            rig.ledger.give("s1", large(step))
            assert crew.decode_task((await worker.hear(crew.Run)).task) == large(step)

    play(story)


def test_a_worker_is_told_to_forget_what_was_not_used_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "KEPT_MAX", 2)

    async def story(rig: Rig) -> None:
        worker, values, most = await newer(rig), dict[str, msgspec.Raw](), 0
        for n in (1, 2, 1, 3, 2, 1):
            rig.ledger.give("s1", large(f"s{n}-{len(values)}-{most}", [n, ROWS]))
            run, whole = await hear(worker, values)
            assert whole.input == [n, ROWS]
            for name in run.forget:
                del values[name]
            most = max(most + 1, len(values))
            assert len(values) <= 2

    play(story)


def test_a_task_that_is_too_large_leaves_the_ones_after_it_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "FRAME_BYTES_MAX", 100_000 + crew_mate.ENVELOPE_BYTES)

    async def story(rig: Rig) -> None:
        worker, values = await newer(rig), dict[str, msgspec.Raw]()
        both = msgspec.structs.replace(large("much", ["m" * 60_000]), parents={"a": ["n" * 60_000]})
        rig.ledger.give("s1", both)
        rig.ledger.give("s1", large("less", both.input))
        _, whole = await hear(worker, values)
        assert (whole.step, whole.input) == ("less", both.input)
        await asyncio.sleep(1)
        ((_, name, outcome, _),) = rig.home.kept
        assert isinstance(outcome, Failure)
        assert (name, outcome.type) == (both.name, "TooLarge")

    play(story)


@pytest.fixture
def offers(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    """Of each task that a node is offered: how many large values came along, and the answer."""
    heard: list[tuple[int, str]] = []
    answer = NodeHost.answer

    async def noted(self: NodeHost, sender: NodeId, request: Request) -> Answer:
        told = await answer(self, sender, request)
        if isinstance(request, Offer):
            heard.append((len(request.bodies), type(told).__name__))
        return told

    monkeypatch.setattr(NodeHost, "answer", noted)
    return heard


async def run_abroad(many: Many, run: str) -> None:
    """All its tasks go to the worker of the other node, one after the other."""
    await many.start("a", run, given=ROWS)
    for _ in STEPS:
        await many.settle(0.2)
        (task,) = many.hands["b"].holding.values()
        assert looked_into(task.input) == ROWS
        await many.hands["b"].end(task)
    await many.settle()
    assert await many.status("a", run) == "succeeded"


@pytest.mark.parametrize(
    ("level", "told"), [(versions.LEVEL, [1, 0, 0]), (5, [0, 0, 0])], ids=["new", "older"]
)
def test_a_node_is_sent_a_value_with_the_first_offer_and_older_nodes_whole_tasks(
    offers: list[tuple[int, str]], level: int, told: list[int]
) -> None:
    async def story(many: Many) -> None:
        await many.up("a", slots=0)
        await many.up("b", slots=1, level=level)
        await many.define("a", STEPS)
        await run_abroad(many, many.run_of("a"))
        assert offers == [(count, "Taken") for count in told]

    play_many(story)


def test_a_node_that_has_forgotten_a_value_says_so_and_is_offered_the_task_with_it(
    offers: list[tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Kept, "missing", forgets_once(Kept.missing))

    async def story(many: Many) -> None:
        await many.up("a", slots=0)
        await many.up("b", slots=1)
        await many.define("a", STEPS)
        await run_abroad(many, many.run_of("a"))
        assert offers == [(1, "Taken"), (0, "Missing"), (1, "Taken"), (0, "Taken")]

    play_many(story)


def forgets_once(missing: Callable[..., list[str]]) -> Callable[..., list[str]]:
    asked: list[int] = []

    def forgetful(self: Kept, places: dict[str, str], bodies: dict[str, bytes]) -> list[str]:
        asked.append(len(bodies))
        if asked == [1, 0]:
            self._values.clear()
        return missing(self, places, bodies)

    return forgetful
