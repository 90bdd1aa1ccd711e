"""Webhooks are told of what happened: again and again until they heard it, and never lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from tests.engine import many, rig
from tests.engine.many import Many
from tests.engine.rig import EPOCH_S, Rig
from windlass.core.names import run_key
from windlass.core.notices import EXPIRY_S, Answer
from windlass.core.orders import Free
from windlass.core.task import Failure, Json
from windlass.engine import herald
from windlass.engine.post import NoPost
from windlass.journal import Group, StoreUnknown
from windlass.journal.memory import MemoryStore
from windlass.registry import HookRow
from windlass.registry.memory import MemoryRegistry

STEPS: dict[str, Json] = {"a": {"kind": "noop"}}
OK, BUSY = Answer(200), Answer(503)


@dataclass
class Box(NoPost):
    """A receiver that answers as it was told to."""

    answer: Callable[[HookRow, str], Answer] = lambda hook, ident: OK
    got: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    takes_s: float = 0.0
    at_once: int = 0
    most: int = 0

    async def send(self, hook: HookRow, ident: str, body: bytes, at: float) -> Answer:
        self.got.append(ident)
        self.times.append(at - EPOCH_S)
        self.bodies.append(msgspec.json.decode(body))
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            await asyncio.sleep(self.takes_s)
        finally:
            self.at_once -= 1
        return self.answer(hook, ident)


def answering(*answers: Answer) -> Callable[[HookRow, str], Answer]:
    """These in turn; the last one for ever."""
    left = list(answers)
    return lambda hook, ident: left.pop(0) if len(left) > 1 else left[0]


def hook(ident: str = "h", *, on: Sequence[str] = ("failed",), workflow: str = "", **more: Any) -> HookRow:
    return HookRow(
        **{
            "id": ident,
            "namespace": "default",
            "workflow": workflow,
            "url": "https://example.org/",
            "on": tuple(on),
            "key": "k",
            "sealed": b"",
            "created_at": EPOCH_S - 100,
            **more,
        }
    )


async def begin(rig: Rig, box: Box, *hooks: HookRow) -> None:
    rig.post = box
    for each in hooks or (hook(),):
        await rig.registry.put_hook(each)
    await rig.up()
    await rig.define(STEPS)


async def fail(rig: Rig, run: str = "r", workflow: str = "w") -> None:
    await rig.start(run, workflow)
    await rig.hand.end(rig.hand.held("a"), Failure("Broken", "the machine is broken"))


async def succeed(rig: Rig, run: str, workflow: str = "w") -> None:
    await rig.start(run, workflow)
    await rig.hand.end(rig.hand.held("a"))


async def owed(rig: Rig) -> list[str]:
    found = [await rig.store.notices(shard, limit=10_000) for shard in range(4)]
    return [notice.id for page in found for notice in page]


def test_a_run_that_failed_is_told_once() -> None:
    async def story(rig: Rig) -> None:
        box = Box()
        await begin(rig, box)
        await fail(rig)
        await rig.settle()
        (ident,) = box.got
        assert ident.startswith("h.failed.r.")
        (body,) = box.bodies
        assert body["id"] == ident
        assert (body["event"], body["runId"], body["workflow"]) == ("run.failed", "r", "w")
        assert (body["namespace"], body["status"]) == ("default", "failed")
        assert "the machine is broken" in body["error"]
        assert await owed(rig) == []
        await rig.settle(10_000)
        assert len(box.got) == 1
        assert rig.node.herald.tally == {"delivered": 1}

    rig.play(story)


def test_nobody_is_told_what_they_did_not_ask_for() -> None:
    async def story(rig: Rig) -> None:
        box = Box()
        await begin(
            rig,
            box,
            hook("stuck", on=["stuck"]),
            hook("other", workflow="another"),
            hook("elsewhere", namespace="theirs"),
            hook("later", created_at=EPOCH_S + 50),
            hook("this", workflow="w"),
        )
        await fail(rig)
        await succeed(rig, "fine")
        await rig.start("stopped")
        await rig.cancel("stopped")
        await rig.settle()
        assert [ident.split(".")[0] for ident in box.got] == ["this"]
        await rig.settle(60)
        await fail(rig, "again")
        await rig.settle()
        assert {ident.split(".")[0] for ident in box.got[1:]} == {"this", "later"}

    rig.play(story)


def test_a_hook_that_is_made_while_the_node_runs_is_heard_of_within_a_second() -> None:
    async def story(rig: Rig) -> None:
        box = Box()
        await begin(rig, box, hook("none", workflow="nothing"))
        await rig.registry.put_hook(hook("new", created_at=rig.node.clock.now()))
        await rig.settle(1.01)
        await fail(rig)
        await rig.settle()
        assert len(box.got) == 1

    rig.play(story)


def test_who_does_not_answer_well_is_told_again_later_and_later() -> None:
    async def story(rig: Rig) -> None:
        box = Box(answer=answering(BUSY, Answer(0, "no connection"), Answer(302), Answer(404), OK))
        await begin(rig, box)
        await fail(rig)
        await rig.settle(60)
        assert len(box.got) == 5
        assert len(set(box.got)) == 1, "the same id each time"
        pauses = [later - earlier for earlier, later in zip(box.times, box.times[1:], strict=False)]
        for pause, usual in zip(pauses, [1, 2, 4, 8], strict=True):
            assert 0.79 * usual <= pause <= 1.21 * usual
        assert rig.node.herald.tally == {"failed": 4, "delivered": 1}
        assert await owed(rig) == []

    rig.play(story)


def test_after_a_day_nobody_is_told_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    assert EXPIRY_S == 86_400
    monkeypatch.setattr(herald, "EXPIRY_S", 10_000.0)

    async def story(rig: Rig) -> None:
        box = Box(answer=answering(BUSY))
        await begin(rig, box)
        await fail(rig)
        await rig.settle(10_000 - 60)
        assert len(await owed(rig)) == 1
        last = [later - earlier for earlier, later in zip(box.times, box.times[1:], strict=False)][-3:]
        assert all(479 <= pause <= 721 for pause in last), "at most about ten minutes between two"
        await rig.settle(120)
        assert await owed(rig) == []
        assert rig.node.herald.tally["expired"] == 1
        assert box.times[-1] < 10_001

    rig.play(story)


def test_who_is_gone_is_told_nothing_more_of_it() -> None:
    async def story(rig: Rig) -> None:
        box = Box(answer=answering(Answer(410)))
        await begin(rig, box)
        await fail(rig)
        await rig.settle(3600)
        assert len(box.got) == 1
        assert rig.node.herald.tally == {"gone": 1}
        assert await owed(rig) == []

    rig.play(story)


def test_a_receiver_that_never_answers_is_given_up_and_tried_again() -> None:
    async def story(rig: Rig) -> None:
        box = Box(takes_s=10_000)
        await begin(rig, box)
        await fail(rig)
        await rig.settle(9.5)
        assert (len(box.got), box.at_once) == (1, 1)
        await rig.settle(2.0)
        assert len(box.got) == 2

    rig.play(story)


def test_a_hook_that_was_deleted_is_told_nothing() -> None:
    async def story(rig: Rig) -> None:
        box = Box(answer=answering(BUSY))
        await begin(rig, box)
        await fail(rig)
        await rig.settle(2)
        told = len(box.got)
        await rig.registry.delete_hook("h")
        await rig.settle(3600)
        assert len(box.got) == told
        assert await owed(rig) == []
        assert rig.node.herald.tally["deleted"] == 1

    rig.play(story)


def test_what_was_owed_when_the_node_died_is_told_by_the_next_one() -> None:
    async def story(rig: Rig) -> None:
        deaf = Box(answer=answering(BUSY))
        await begin(rig, deaf)
        await fail(rig)
        await rig.settle(0.5)
        await rig.kill()
        rig.post = box = Box()
        await rig.up()
        await rig.settle()
        assert box.got == deaf.got[:1]
        assert await owed(rig) == []

    rig.play(story)


class Deaf(MemoryStore):
    """Keeps everything but that something was delivered."""

    deaf = True

    async def commit(self, groups: Sequence[Group]) -> list[bool]:
        if self.deaf and any(group.delivered for group in groups):
            raise StoreUnknown("no answer")
        return await super().commit(groups)


def test_a_crash_between_the_delivery_and_its_record_tells_it_twice_under_one_id() -> None:
    async def story(rig: Rig) -> None:
        rig.store = store = Deaf()
        first = Box()
        await begin(rig, first)
        await fail(rig)
        await rig.settle(3)
        assert len(first.got) == 1, "told, and only the record is tried again"
        await rig.kill()
        store.deaf = False
        rig.post = second = Box()
        await rig.up()
        await rig.settle()
        assert second.got == first.got
        assert await owed(rig) == []

    rig.play(story)


def test_a_record_whose_outcome_is_unknown_is_made_again_without_telling_again() -> None:
    async def story(rig: Rig) -> None:
        rig.store = store = Deaf()
        box = Box()
        await begin(rig, box)
        await fail(rig)
        await rig.settle(3)
        store.deaf = False
        await rig.settle(10)
        assert len(box.got) == 1
        assert await owed(rig) == []

    rig.play(story)


def test_a_dead_hook_keeps_nobody_else_waiting() -> None:
    async def story(rig: Rig) -> None:
        box = Box(answer=lambda hook, ident: BUSY if hook.id == "dead" else OK, takes_s=1.0)
        await begin(rig, box, hook("dead"), hook("well"))
        for n in range(20):
            await fail(rig, f"r{n}")
        await rig.settle(12)
        assert sum(ident.startswith("well") for ident in box.got) == 20
        assert box.most == 2 * herald.PER_HOOK

    rig.play(story)


def test_what_has_no_room_in_memory_waits_in_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(herald, "HOOK_MAX", 5)
    monkeypatch.setattr(herald, "PAGE", 3)

    async def story(rig: Rig) -> None:
        answer = BUSY
        box = Box(answer=lambda hook, ident: answer if hook.id == "dead" else OK)
        await begin(rig, box, hook("dead"), hook("well"))
        for n in range(30):
            await fail(rig, f"r{n}")
        await rig.settle(30)
        assert rig.node.herald.waiting == 5, "those of the dead one"
        assert len({ident for ident in box.got if ident.startswith("well")}) == 30
        answer = OK
        await rig.settle(1000)
        assert len({ident for ident in box.got if ident.startswith("dead")}) == 30
        assert await owed(rig) == []
        assert rig.node.herald.waiting == 0
        well = [ident for ident in box.got if ident.startswith("well")]
        assert len(well) == 30, "none of them twice"

    rig.play(story)


def test_a_stuck_run_is_told_and_so_is_that_it_was_freed() -> None:
    async def story(rig: Rig) -> None:
        box = Box()
        await begin(rig, box, hook(on=["stuck", "recovered"]))
        await rig.start()
        assert isinstance(rig.store, MemoryStore)
        here = rig.store._shards[rig.shard_of(run_key("r"))]
        await rig.kill()
        kept = here.facts[run_key("r")][1]
        here.facts[run_key("r")][1] = msgspec.structs.replace(kept, body=b'{"type":"?"}')
        await rig.up()
        await rig.settle(200)
        (body,) = box.bodies
        assert (body["event"], body["workflow"], body["runId"]) == ("run.stuck", "w", "r")
        assert body["status"] == "stuck"
        assert body["error"]
        here.facts[run_key("r")][1] = kept
        await rig.node.router.send(run_key("r"), Free())
        await rig.settle(5)
        assert [each["event"] for each in box.bodies] == ["run.stuck", "run.recovered"]
        assert box.got[0].split(".")[-1] == box.got[1].split(".")[-1], "they belong together"

    rig.play(story)


def test_the_first_success_after_a_failure_that_was_told_is_told() -> None:
    async def story(rig: Rig) -> None:
        box = Box()
        await begin(rig, box, hook(on=["failed", "recovered"]))
        await rig.define(STEPS, "v")
        await succeed(rig, "r1")
        await fail(rig, "r2")
        await succeed(rig, "r3", "v")
        await rig.settle()
        assert [body["event"] for body in box.bodies] == ["run.failed"]
        await succeed(rig, "r4")
        await succeed(rig, "r5")
        await rig.settle()
        assert [body["event"] for body in box.bodies] == ["run.failed", "run.recovered"]
        assert (box.bodies[1]["runId"], box.bodies[1]["status"]) == ("r4", "succeeded")

    rig.play(story)


def test_of_many_that_succeed_at_the_same_time_one_is_told() -> None:
    async def story(rig: Rig) -> None:
        box = Box()
        await begin(rig, box, hook(on=["recovered", "failed"]))
        await fail(rig)
        await rig.settle()
        for n in range(20):
            await rig.start(f"r{n}")
        held = list(rig.hand.holding.values())
        await asyncio.gather(*(rig.hand.end(task) for task in held))
        await rig.settle()
        assert [body["event"] for body in box.bodies] == ["run.failed", "run.recovered"]

    rig.play(story)


class Away(MemoryRegistry):
    """Does not answer at first."""

    times = 3

    async def hooks(self, namespace: str | None = None) -> list[HookRow]:
        if self.times:
            self.times -= 1
            raise StoreUnknown("no answer")
        return await super().hooks(namespace)


def test_no_run_ends_before_it_is_known_who_wants_to_hear_of_it() -> None:
    async def story(rig: Rig) -> None:
        box = Box()
        await begin(rig, box)
        await rig.start()
        registry, rig.registry = rig.registry, Away()
        for each in await registry.hooks():
            await rig.registry.put_hook(each)
        await rig.kill()
        await rig.up()
        await rig.hand.end(rig.hand.held("a"), Failure("Broken", "no"))
        await rig.settle()
        assert len(box.got) == 1

    rig.play(story)


def test_a_registry_that_goes_away_leaves_the_hooks_that_are_known() -> None:
    async def story(rig: Rig) -> None:
        box = Box()
        rig.registry = registry = Away()
        registry.times = 0
        await begin(rig, box)
        registry.times = 1_000
        await rig.settle(5)
        await fail(rig)
        await rig.settle()
        assert len(box.got) == 1

    rig.play(story)


def test_only_the_owner_tells_and_its_heir_tells_what_it_owed() -> None:
    async def story(all: Many) -> None:
        boxes = {name: Box(answer=answering(BUSY)) for name in ("a", "b", "c")}
        all.posts = dict(boxes)
        await all.registry.put_hook(hook())
        await all.up("a", "b", "c")
        await all.define("a", STEPS)
        run = all.run_of("b")
        await all.start("a", run)
        await all.settle()
        (hand,) = [hand for hand in all.hands.values() if hand.holding]
        await hand.end(hand.held("a"), Failure("Broken", "no"))
        await all.settle(5)
        assert len(boxes["b"].got) > 1
        assert boxes["a"].got == boxes["c"].got == []
        told = len(boxes["b"].got)
        for box in boxes.values():
            box.answer = answering(OK)
        await all.kill("b")
        await all.settle(30)
        heir = all.owner(run)
        assert boxes[heir].got == boxes["b"].got[:1]
        others = [name for name in boxes if name not in (heir, "b")]
        assert boxes[others[0]].got == []
        assert len(boxes["b"].got) == told
        assert await all.store.notices(all.nodes[heir].shard_of(run), limit=10) == []

    many.play(story)


def test_a_shard_that_moves_takes_what_it_owes_with_it() -> None:
    async def story(all: Many) -> None:
        boxes = {name: Box(answer=answering(BUSY)) for name in ("a", "b")}
        all.posts = dict(boxes)
        await all.registry.put_hook(hook())
        await all.up("a", "b")
        await all.define("a", STEPS)
        run = all.run_of("a")
        await all.start("a", run)
        await all.settle()
        (hand,) = [hand for hand in all.hands.values() if hand.holding]
        await hand.end(hand.held("a"), Failure("Broken", "no"))
        await all.settle(3)
        await all.nodes["a"].drain()
        told = len(boxes["a"].got)
        await all.settle(30)
        assert len(boxes["a"].got) == told
        assert boxes["b"].got
        assert all.nodes["a"].herald.waiting == 0

    many.play(story)
