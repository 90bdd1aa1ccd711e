"""The address that a task came with is told of its end: whatever the end, whoever dies, and by the rules."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from tests.engine import rig
from tests.engine.rig import EPOCH_S, Hand, Rig
from tests.engine.test_herald import BUSY, OK, hook, owed
from windlass.core import document, notices, signing
from windlass.core.commands import CancelRun, StartRun
from windlass.core.names import WorkerId, WorkflowId, run_key
from windlass.core.notices import Answer
from windlass.core.orders import Purge
from windlass.core.task import Failure, Json, Outcome, Success
from windlass.engine import herald
from windlass.engine.post import NoPost
from windlass.registry import HookRow
from windlass.vault import Keyring

URL = "https://example.org/in?key=1"
STEP: dict[str, Json] = {"kind": "code", "with": {"language": "python", "code": "print('hello')"}}
DONE: dict[str, Json] = {"stdout": "hello\n", "stderr": "", "exitCode": 0, "timeS": 0.5}
SECRET = signing.secret_of(b"s" * 32)


@dataclass(frozen=True)
class Call:
    url: str
    ident: str
    body: bytes
    at: float
    secret: str
    headers: Mapping[str, str]

    @property
    def said(self) -> Any:
        return msgspec.json.decode(self.body)


@dataclass
class Box(NoPost):
    """A receiver that answers as it was told to, and as slowly."""

    answer: Callable[[str], Answer] = lambda url: OK
    takes_s: float = 0.0
    calls: list[Call] = field(default_factory=list)
    hooks: list[float] = field(default_factory=list)  # when webhooks were told
    at_once: int = 0
    most: int = 0

    async def send(self, hook: HookRow, ident: str, body: bytes, at: float) -> Answer:
        self.hooks.append(at - EPOCH_S)
        return OK

    async def call(
        self, url: str, ident: str, body: bytes, at: float, *, secret: str, headers: Mapping[str, str]
    ) -> Answer:
        self.calls.append(Call(url, ident, body, at, secret, headers))
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            await asyncio.sleep(self.takes_s)
        finally:
            self.at_once -= 1
        return self.answer(url)


async def begin(rig: Rig, box: Box) -> Hand:
    """A node with a worker that runs Python."""
    rig.post = box
    await rig.up()
    return employ(rig)


def employ(rig: Rig) -> Hand:
    able = frozenset({"noop", "code", "code/python"})
    hand = Hand("coder", id=WorkerId("coder"), capabilities=able, node=rig.node)
    rig.node.dispatcher.employ(hand)
    return hand


async def submit(
    rig: Rig,
    run: str = "task_1",
    *,
    callback: str = URL,
    secret: str = "",
    namespace: str = "default",
    attempts: int = 1,
) -> None:
    step = {**STEP, "retry": {"attempts": attempts}}
    written = {"id": "windlass:task", "steps": {"code": step}}
    order = StartRun(
        workflow=WorkflowId("windlass:task"),
        version=0,
        document_hash=document.digest(written),
        request_hash="asked",
        document=written,
        callback=callback,
        callback_secret=secret,
        at=rig.node.clock.now(),
    )
    await rig.node.router.send(run_key(run, namespace), order)
    await rig.settle(0.1)


async def end(hand: Hand, outcome: Outcome | None = None) -> None:
    await hand.end(hand.held("code"), outcome or Success(DONE))


def test_who_gave_an_address_is_told_what_a_reader_of_the_task_is_shown() -> None:
    async def story(rig: Rig) -> None:
        box = Box()
        hand = await begin(rig, box)
        await submit(rig)
        await end(hand)
        await rig.settle()
        (call,) = box.calls
        assert call.url == URL
        assert call.headers == {"X-Request-ID": "task_1"}
        assert call.secret == "", "nobody named one"
        assert set(call.said) == {"type", "timestamp", "data"}
        assert call.said["type"] == "task.completed"
        data = call.said["data"]
        assert (data["taskId"], data["status"], data["language"]) == ("task_1", "completed", "python")
        assert (data["result"]["output"], data["result"]["exitCode"]) == ("hello\n", 0)
        assert data["assignedClient"] == "coder"
        assert data["timestamps"]["completedAt"] == call.said["timestamp"]
        assert await owed(rig) == []
        await rig.settle(10_000)
        assert len(box.calls) == 1
        assert rig.node.herald.tally == {"delivered": 1}

    rig.play(story)


def test_a_run_without_an_address_tells_nobody() -> None:
    async def story(rig: Rig) -> None:
        box = Box()
        hand = await begin(rig, box)
        await submit(rig, callback="")
        await end(hand)
        await rig.settle(10)
        assert box.calls == []
        assert await owed(rig) == []

    rig.play(story)


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (Failure("ExitCode", "it ended with 3", retryable=False), "task.failed"),
        (Failure("TimeLimit", "it ran for more than 10s", retryable=False), "task.timeout"),
    ],
)
def test_a_program_that_fails_is_told_as_well(failure: Failure, kind: str) -> None:
    async def story(rig: Rig) -> None:
        box = Box()
        hand = await begin(rig, box)
        await submit(rig)
        left = {**DONE, "stderr": "no", "exitCode": None}
        await end(hand, msgspec.structs.replace(failure, value=left))
        await rig.settle()
        (call,) = box.calls
        assert call.said["type"] == kind
        assert call.said["data"]["failure"]["message"] == failure.message
        assert call.said["data"]["result"]["error"] == "no"

    rig.play(story)


def test_a_task_that_is_cancelled_is_told_as_well() -> None:
    async def story(rig: Rig) -> None:
        box = Box()
        await begin(rig, box)
        await submit(rig)
        order = CancelRun(id="c", reason="not needed", at=rig.node.clock.now())
        await rig.node.router.send(run_key("task_1"), order)
        await rig.settle()
        (call,) = box.calls
        assert call.said["type"] == "task.cancelled"
        assert call.said["data"]["failure"]["message"] == "not needed"

    rig.play(story)


def test_who_does_not_answer_well_is_told_the_same_again() -> None:
    async def story(rig: Rig) -> None:
        left = [BUSY, Answer(0, "no connection"), Answer(302)]
        box = Box(answer=lambda url: left.pop(0) if left else OK)
        hand = await begin(rig, box)
        await submit(rig)
        await end(hand)
        await rig.settle(60)
        assert len(box.calls) == 4
        assert len({(call.ident, call.body) for call in box.calls}) == 1
        assert len({call.at for call in box.calls}) == 4, "each is stamped when it is sent"
        assert await owed(rig) == []

    rig.play(story)


def test_who_is_gone_is_told_nothing_more() -> None:
    async def story(rig: Rig) -> None:
        box = Box(answer=lambda url: Answer(410))
        hand = await begin(rig, box)
        await submit(rig)
        await end(hand)
        await rig.settle(3600)
        assert len(box.calls) == 1
        assert await owed(rig) == []

    rig.play(story)


def test_what_was_owed_when_the_node_died_is_told_by_the_next_one() -> None:
    async def story(rig: Rig) -> None:
        deaf = Box(answer=lambda url: BUSY)
        hand = await begin(rig, deaf)
        await submit(rig)
        await end(hand)
        await rig.settle(0.5)
        await rig.kill()
        rig.post = box = Box()
        await rig.up()
        await rig.settle()
        (call,) = box.calls
        assert (call.ident, call.body) == (deaf.calls[0].ident, deaf.calls[0].body)
        assert await owed(rig) == []

    rig.play(story)


def test_a_named_secret_signs_and_without_it_nothing_is_sent() -> None:
    async def story(rig: Rig) -> None:
        rig.keyring = Keyring([b"k" * 32])
        box = Box()
        hand = await begin(rig, box)
        await submit(rig, secret="proof")
        await end(hand)
        await rig.settle(5)
        assert box.calls == [], "rather not at all than unsigned"
        assert rig.node.herald.tally["failed"] > 1
        await rig.node.secrets.set("default", "proof", SECRET, by="me")
        await rig.settle(60)
        (call,) = box.calls
        assert call.secret == SECRET
        assert await owed(rig) == []

    rig.play(story)


def test_a_secret_of_another_namespace_signs_nothing() -> None:
    async def story(rig: Rig) -> None:
        rig.keyring = Keyring([b"k" * 32])
        box = Box()
        hand = await begin(rig, box)
        await rig.node.secrets.set("theirs", "proof", SECRET, by="them")
        await submit(rig, secret="proof")
        await end(hand)
        await rig.settle(5)
        assert box.calls == []

    rig.play(story)


def test_of_a_run_that_is_kept_no_longer_nothing_is_told() -> None:
    async def story(rig: Rig) -> None:
        answer = BUSY
        box = Box(answer=lambda url: answer)
        hand = await begin(rig, box)
        await submit(rig)
        await end(hand)
        await rig.settle()
        await rig.node.router.send(run_key("task_1"), Purge())
        answer = OK
        told = len(box.calls)
        await rig.settle(60)
        assert len(box.calls) == told
        assert await owed(rig) == []
        assert rig.node.herald.tally["deleted"] == 1

    rig.play(story)


def test_a_run_whose_first_events_were_deleted_is_told_all_the_same() -> None:
    async def story(rig: Rig) -> None:
        box = Box()
        hand = await begin(rig, box)
        await submit(rig, attempts=4)
        for n in range(3):
            left = {**DONE, "stdout": "x" * 1000 * (n + 1), "exitCode": 1}
            await end(hand, Failure("ExitCode", "no", value=left))
            await rig.settle(60)
        await end(hand)
        await rig.settle()
        facts = await rig.store.facts(rig.shard_of(run_key("task_1")), run_key("task_1"), after=0, limit=100)
        assert facts[0].seq > 1, "the story is about those that are gone"
        (call,) = box.calls
        assert call.said["type"] == "task.completed"
        assert call.said["data"]["language"] == "python"
        assert call.said["data"]["result"]["output"] == "hello\n"

    rig.play(story, snapshot_every=1, delete_on_snapshot=True)


def test_an_address_that_makes_no_sense_harms_nobody_but_its_task() -> None:
    async def story(rig: Rig) -> None:
        box = Box(answer=lambda url: OK if url == URL else Answer(0, "no address"))
        hand = await begin(rig, box)
        for n, address in enumerate(["nonsense", "https://", "//[", "\0", URL]):
            await submit(rig, f"task_{n}", callback=address)
            await end(hand)
        await rig.settle(60)
        assert (await rig.read("task_0")).status == "succeeded"
        assert [call.said["data"]["taskId"] for call in box.calls if call.url == URL] == ["task_4"]

    rig.play(story)


def test_a_failure_that_no_webhook_heard_of_is_not_recovered_from() -> None:
    async def story(rig: Rig) -> None:
        box = Box()
        await rig.registry.put_hook(hook(on=["recovered"], workflow="windlass:task"))
        hand = await begin(rig, box)
        await submit(rig, "task_1")
        await end(hand, Failure("ExitCode", "no", retryable=False))
        await submit(rig, "task_2")
        await end(hand)
        await rig.settle()
        assert len(box.calls) == 2
        assert box.hooks == []

    rig.play(story)


def test_dead_addresses_keep_no_webhook_and_no_other_namespace_waiting() -> None:
    async def story(rig: Rig) -> None:
        box = Box(answer=lambda url: OK if url == URL else BUSY, takes_s=9.0)
        await rig.registry.put_hook(hook(workflow="windlass:task"))
        hand = await begin(rig, box)
        for n in range(100):
            await submit(rig, f"task_{n}", callback=f"https://dead-{n}.example.org/")
            await end(hand)
        assert box.most == herald.PER_NAMESPACE, "of the namespace that has so many"
        before = rig.node.clock.now() - EPOCH_S
        await submit(rig, "theirs", namespace="theirs")
        await end(hand)
        await submit(rig, "failing", callback="")
        await end(hand, Failure("ExitCode", "no", retryable=False))
        await rig.settle(1.0)
        assert [call.at - EPOCH_S < before + 1 for call in box.calls if call.url == URL] == [True]
        (told,) = box.hooks
        assert told < before + 1
        assert herald.CALLBACKS_AT_ONCE < herald.AT_ONCE
        assert herald.CALLBACKS_MAX < herald.ERRANDS_MAX

    rig.play(story)


def test_callbacks_that_have_no_room_in_memory_wait_in_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(herald, "NAMESPACE_MAX", 5)
    monkeypatch.setattr(herald, "PAGE", 3)

    async def story(rig: Rig) -> None:
        answer = BUSY
        box = Box(answer=lambda url: answer if "dead" in url else OK)
        await rig.registry.put_hook(hook(workflow="windlass:task"))
        hand = await begin(rig, box)
        for n in range(20):
            await submit(rig, f"task_{n}", callback=f"https://dead-{n}.example.org/")
            await end(hand, Failure("ExitCode", "no", retryable=False))
        await submit(rig, "theirs", namespace="theirs")
        await end(hand)
        await rig.settle(30)
        assert len(box.hooks) == 20, "webhooks have room"
        assert [call.said["data"]["taskId"] for call in box.calls if call.url == URL] == ["theirs"]
        assert rig.node.herald.waiting == 5
        answer = OK
        await rig.settle(2 * notices.WAIT_MAX_S)
        assert len({call.ident for call in box.calls}) == 21
        assert await owed(rig) == []
        assert rig.node.herald.waiting == 0

    rig.play(story)
