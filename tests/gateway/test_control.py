"""Steering runs over HTTP: signals, approvals, reruns, and what is seen of steps made on the way."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from tests.gateway.access import Locked, locked
from tests.gateway.house import Answer, House, Work, finish, house
from tests.waiting import until_asked
from windlass.core.cluster import Plan
from windlass.core.task import Failure, Json, Outcome, Success, Task
from windlass.gateway.callers import ANYONE, Caller

RUNS = "/api/v1/runs"


def play(scene: Callable[[House], Awaitable[None]], work: Work = finish) -> None:
    async def whole() -> None:
        async with house(work) as home:
            await scene(home)

    asyncio.run(whole())


async def begin(home: House, steps: Json, input: Json = None, **more: Any) -> str:
    await home.save({"id": "w", "steps": steps, **more})
    return str((await home.execute("w", {"input": input}, wait=None))["runId"])


async def read(home: House, run: str) -> Json:
    return (await home.ask("GET", f"{RUNS}/{run}")).json


async def step_of(home: House, run: str, name: str) -> Json:
    return next(step for step in (await read(home, run))["steps"] if step["id"] == name)


async def ended(home: House, run: str) -> Json:
    async def over() -> bool:
        return bool((await read(home, run))["endedAt"])

    await until_asked(over)
    return await read(home, run)


def noop(value: Json = None, **more: Json) -> Json:
    return {"kind": "noop", "with": {"value": value}, **more}


ASK = {"kind": "approval", "with": {"prompt": "Ship it?", "timeout": "1d", "on_timeout": "reject"}}


def test_an_approval_is_shown_explained_and_given() -> None:
    async def scene(home: House) -> None:
        run = await begin(home, {"ask": ASK, "ship": noop(needs="ask")})
        step = await step_of(home, run, "ask")
        assert (step["status"], step["attempts"]) == ("running", 1)
        awaits = step["awaits"]
        assert (awaits["what"], awaits["prompt"], awaits["who"]) == ("approval", "Ship it?", [])
        assert (awaits["then"], awaits["until"] is None) == ("reject", False)
        why = (await home.ask("GET", f"{RUNS}/{run}/explain")).json["reasons"][0]
        assert (why["kind"], why["next"]) == ("approval", f"windlass approve {run} ask")
        answer = await home.ask("POST", f"{RUNS}/{run}/steps/ask/approve", {"comment": "good"})
        assert (answer.status, answer.json["status"], answer.json["awaits"]) == (200, "succeeded", None)
        output = answer.json["output"]
        assert (output["approved"], output["comment"]) == (True, "good")
        assert (await home.ask("POST", f"{RUNS}/{run}/steps/ask/reject")).status == 409
        assert (await ended(home, run))["status"] == "succeeded"

    play(scene)


def test_while_a_run_is_paused_nobody_says_until_when_it_waits_for_somebody() -> None:
    async def scene(home: House) -> None:
        run = await begin(home, {"ask": ASK})
        await home.ask("POST", f"{RUNS}/{run}/pause")
        awaits = (await step_of(home, run, "ask"))["awaits"]
        assert (awaits["until"], awaits["then"]) == (None, "reject")
        await home.ask("POST", f"{RUNS}/{run}/resume")
        assert (await step_of(home, run, "ask"))["awaits"]["until"] is not None

    play(scene)


def test_a_new_document_is_held_to_newer_rules() -> None:
    async def scene(home: House) -> None:
        step = {"kind": "python", "with": {"call": "m:f", "arg": "${{ inputs.x }}"}}
        answer = await home.ask("POST", "/api/v1/workflows", {"id": "w", "steps": {"a": step}})
        (fault,) = answer.json["details"]
        assert (answer.status, fault["pointer"]) == (422, "/steps/a/with/arg")
        assert "did you mean `args`?" in fault["message"]

    play(scene)


def test_a_no_fails_the_step_and_the_same_key_says_it_once() -> None:
    async def scene(home: House) -> None:
        run = await begin(home, {"ask": ASK, "ship": noop(needs="ask")})
        path, key = f"{RUNS}/{run}/steps/ask/reject", {"Idempotency-Key": "k"}
        for _ in range(2):
            answer = await home.ask("POST", path, {"comment": "not today"}, headers=key)
            assert (answer.status, answer.json["status"]) == (200, "failed")
        assert answer.json["error"]["type"] == "Rejected"
        assert "not today" in answer.json["error"]["message"]
        assert (await read(home, run))["status"] == "failed"

    play(scene)


def test_what_cannot_be_decided_is_refused() -> None:
    async def scene(home: House) -> None:
        run = await begin(home, {"ask": ASK, "hold": {"kind": "shell", "with": {"command": "x"}}})

        async def say(step: str, body: Json = None, of: str = run) -> Answer:
            return await home.ask("POST", f"{RUNS}/{of}/steps/{step}/approve", body)

        assert (await say("hold")).status == 409
        assert (await say("nobody")).status == 404
        assert (await say("ask", of="nobody")).status == 404
        assert (await say("ask", {"comment": 3})).status == 422
        assert (await say("ask", {"reason": "x"})).status == 422
        assert (await step_of(home, run, "ask"))["awaits"] is not None

    play(scene)


def test_only_those_who_are_named_may_say_yes() -> None:
    async def play_locked() -> None:
        async with locked() as here:
            await only_alice(here)

    asyncio.run(play_locked())


async def only_alice(here: Locked) -> None:
    admin = await here.token("admin")
    alice = await here.token("operator", "default", name="alice")
    bob = await here.token("operator", "default", name="bob")
    reader = await here.token("read", "default", name="alice")
    document = {"id": "w", "steps": {"ask": {"kind": "approval", "with": {"who": ["alice", "ops"]}}}}
    assert (await here.ask(admin, "POST", "/api/v1/workflows", document)).status == 201
    run = (await here.ask(bob, "POST", "/api/v1/workflows/w/execute")).json["runId"]
    path = f"{RUNS}/{run}/steps/ask/approve"
    assert (await here.ask(reader, "POST", path)).status == 403
    refused = await here.ask(bob, "POST", path)
    assert (refused.status, "alice, ops and not by bob" in refused.json["message"]) == (409, True)
    given = await here.ask(alice, "POST", path)
    assert (given.status, given.json["output"]["by"]) == (200, "alice")


def test_a_caller_is_known_by_the_names_that_it_was_given() -> None:
    assert ANYONE.names == ()
    assert Caller("t_1 alice", "operator", token="t_1").names == ("alice", "t_1")
    assert Caller("t_1", "operator", token="t_1").names == ("t_1",)
    assert Caller("jwt:alice", "operator").names == ("alice", "jwt:alice")


SIGNAL = {"kind": "signal", "with": {"name": "payment"}}


def test_a_signal_reaches_the_step_that_waits_for_it() -> None:
    async def scene(home: House) -> None:
        run = await begin(
            home, {"paid": SIGNAL, "after": noop("${{ steps.paid.output.amount }}", needs="paid")}
        )
        awaits = (await step_of(home, run, "paid"))["awaits"]
        assert (awaits["what"], awaits["signal"], awaits["until"], awaits["then"]) == (
            "signal",
            "payment",
            None,
            None,
        )
        why = (await home.ask("GET", f"{RUNS}/{run}/explain")).json
        assert why["reasons"][0]["next"] == f"windlass signal {run} payment DATA"
        answer = await home.ask("POST", f"{RUNS}/{run}/signal", {"name": "payment", "data": {"amount": 42}})
        assert (answer.status, answer.json["id"]) == (200, run)
        seen = await ended(home, run)
        assert (seen["status"], seen["output"]) == ("succeeded", {"after": 42})
        assert (await home.ask("POST", f"{RUNS}/{run}/signal", {"name": "payment"})).status == 409

    play(scene)


def test_runs_that_wait_are_listed_by_what_they_wait_for() -> None:
    async def scene(home: House) -> None:
        paid = {"kind": "signal", "needs": "ask"}
        run = await begin(home, {"ask": ASK, "paid": paid, "last": {"kind": "approval", "needs": "paid"}})
        await home.save({"id": "v", "steps": {"paid": {"kind": "signal"}}})
        other = str((await home.execute("v", wait=None))["runId"])

        async def waiting(what: str) -> list[tuple[str, str]]:
            page = await home.ask("GET", f"{RUNS}?waitingFor={what}")
            assert page.status == 200
            return [(item["id"], item["waitingFor"]) for item in page.json["items"]]

        # It is so with the answer that began the run.
        assert await waiting("approval") == [(run, "approval")]
        assert await waiting("any") == [(other, "signal"), (run, "approval")]
        await home.ask("POST", f"{RUNS}/{run}/steps/ask/approve")
        assert await waiting("approval") == []
        assert await waiting("signal") == [(other, "signal"), (run, "signal")]
        assert (await read(home, run))["waitingFor"] == "signal"
        await home.ask("POST", f"{RUNS}/{run}/signal", {"name": "paid"})
        assert await waiting("any") == [(other, "signal"), (run, "approval")]
        await home.ask("POST", f"{RUNS}/{run}/steps/last/reject")
        await home.ask("POST", f"{RUNS}/{other}/cancel")
        assert await waiting("any") == []
        assert (await read(home, run))["waitingFor"] is None
        bad = await home.ask("GET", f"{RUNS}?waitingFor=godot")
        assert (bad.status, "expected one of approval, release, signal, any" in bad.json["message"]) == (
            422,
            True,
        )

    play(scene)


def test_a_signal_may_come_first_and_the_same_key_sends_it_once() -> None:
    async def scene(home: House) -> None:
        two = {"kind": "signal", "with": {"name": "go"}}
        run = await begin(home, {"ask": ASK, "one": {**two, "needs": "ask"}, "two": {**two, "needs": "one"}})
        for _ in range(2):
            key = {"Idempotency-Key": "k"}
            assert (await home.ask("POST", f"{RUNS}/{run}/signal", {"name": "go"}, headers=key)).status == 200
        await home.ask("POST", f"{RUNS}/{run}/steps/ask/approve")
        assert (await step_of(home, run, "one"))["status"] == "succeeded"
        assert (await step_of(home, run, "two"))["awaits"]["signal"] == "go"

    play(scene)


@pytest.mark.parametrize(
    ("body", "status", "place"),
    [
        ({}, 422, ""),
        ({"name": "a b"}, 422, "/name"),
        ({"name": "a\n"}, 422, "/name"),
        ({"name": "go", "dat": 1}, 422, ""),
        ({"name": "go", "data": "a\0"}, 422, "/data"),
        ({"name": "go", "data": 2**70}, 422, "/data"),
        ([], 422, ""),
    ],
)
def test_a_signal_that_makes_no_sense_is_refused_with_its_place(body: Json, status: int, place: str) -> None:
    async def scene(home: House) -> None:
        run = await begin(home, {"paid": SIGNAL})
        answer = await home.ask("POST", f"{RUNS}/{run}/signal", body)
        assert answer.status == status
        assert [fault["pointer"] for fault in answer.json["details"]] == [place]
        assert (await home.ask("POST", f"{RUNS}/{run}/signal", data="{")).status in (400, 415)

    play(scene)


# Steps that are made on the way.


def test_the_items_of_a_map_are_shown_with_it_and_page_by_page() -> None:
    def work(task: Task) -> Outcome | None:
        return Failure("Odd", "no") if task.with_.get("value") == 3 else finish(task)

    async def scene(home: House) -> None:
        body = noop("${{ item }}", on_failure="skip")
        steps = {
            "each": {"kind": "map", "with": {"over": "${{ inputs.n }}", "step": body, "max_parallel": 2}}
        }
        run = await begin(home, steps, {"n": [1, 2, 3, 4, 5]})
        seen = await ended(home, run)
        assert seen["status"] == "partial_success"
        assert seen["output"] == {"each": [1, 2, None, 4, 5]}
        each, *items = seen["steps"]
        assert each["items"] == {"total": 5, "ended": 5, "failed": 1}
        assert each["output"] == [1, 2, None, 4, 5]
        assert [item["id"] for item in items] == [f"each[{n}]" for n in range(5)]
        assert [(item["of"], item["item"]) for item in items] == [("each", n) for n in range(5)]
        assert items[3]["input"] == {"value": 4}
        assert seen["counts"] == {"succeeded": 5, "failed": 1}

        async def page(query: str) -> Json:
            return (await home.ask("GET", f"{RUNS}/{run}/steps?{query}")).json

        first = await page("of=each&limit=2")
        assert [step["id"] for step in first["items"]] == ["each[0]", "each[1]"]
        second = await page(f"of=each&limit=2&after={first['next']}")
        assert [step["id"] for step in second["items"]] == ["each[2]", "each[3]"]
        assert [step["id"] for step in (await page("status=failed"))["items"]] == ["each[2]"]
        assert (await page("of=nobody"))["items"] == []
        assert (await home.ask("GET", f"{RUNS}/{run}/steps?status=odd")).status == 422
        assert (await home.ask("GET", f"{RUNS}/{run}/steps/each[2]/placement")).status == 200

    play(scene, work)


def test_one_step_is_read_by_its_name_also_an_item() -> None:
    async def scene(home: House) -> None:
        inner = {"kind": "noop", "with": {"value": "${{ item }}"}}
        run = await begin(home, {"each": {"kind": "map", "with": {"over": [7, 8], "step": inner}}})
        view = await ended(home, run)
        for name in ("each", "each[1]"):
            step = await home.ask("GET", f"{RUNS}/{run}/steps/{quote(name)}")
            assert step.status == 200
            assert step.json == next(step for step in view["steps"] if step["id"] == name)
        assert (await home.ask("GET", f"{RUNS}/{run}/steps/nobody")).status == 404

    play(scene)


def test_of_very_many_items_those_are_shown_that_tell_something() -> None:
    def work(task: Task) -> Outcome | None:
        return Failure("Odd", "no") if task.with_.get("value") == 1_500 else finish(task)

    async def scene(home: House) -> None:
        body = noop("${{ item }}", on_failure="skip")
        over = {"over": list(range(1_600)), "step": body, "max_parallel": 1_000}
        run = await begin(home, {"each": {"kind": "map", "with": over}})
        seen = await ended(home, run)
        assert (len(seen["steps"]), seen["stepsLeftOut"]) == (1_001, 600)
        assert seen["steps"][-1]["id"] == "each[1500]"
        assert seen["counts"] == {"succeeded": 1_600, "failed": 1}

    play(scene, work)


def test_an_undo_is_shown_and_the_run_says_that_it_is_at_it() -> None:
    def work(task: Task) -> Outcome | None:
        if task.step == "ship":
            return Failure("Lost", "no ship")
        return None if task.step == "undo:pay" else finish(task)

    async def scene(home: House) -> None:
        pay = noop({"id": 7}, undo=noop("${{ steps.pay.output.id }}"))
        run = await begin(home, {"pay": pay, "ship": noop(needs="pay")})
        task = await asyncio.wait_for(home.hands.taken.get(), 10)
        assert (task.step, task.with_) == ("undo:pay", {"value": 7})
        seen = await read(home, run)
        assert (seen["undoing"]["status"], seen["endedAt"]) == ("failed", None)
        step = await step_of(home, run, "undo:pay")
        assert (step["of"], step["item"], step["input"]) == ("pay", None, {"value": 7})
        why = (await home.ask("GET", f"{RUNS}/{run}/explain")).json
        assert "0 of 1 steps are undone; then it ends as failed" in why["sentence"]
        home.hands.finish(task, Success(None))
        seen = await ended(home, run)
        assert (seen["status"], seen["undoing"], seen["error"]["step"]) == ("failed", None, "ship")

    play(scene, work)


def test_what_is_being_taken_back_is_given_up_and_the_run_says_how() -> None:
    async def scene(home: House) -> None:
        pay = noop({"id": 7}, undo=noop())
        run = await begin(home, {"pay": pay, "ship": noop(needs="pay")})
        task = await asyncio.wait_for(home.hands.taken.get(), 10)
        assert task.step == "undo:pay"
        why = (await home.ask("GET", f"{RUNS}/{run}/explain")).json
        (undo,) = [reason for reason in why["reasons"] if reason["kind"] == "undo"]
        assert undo["next"] == f"windlass cancel {run} --no-undo"
        wrong = await home.ask("POST", f"{RUNS}/{run}/cancel", {"undo": "no"})
        assert (wrong.status, wrong.json["details"][0]["pointer"]) == (422, "/undo")
        answer = await home.ask("POST", f"{RUNS}/{run}/cancel", {"undo": False})
        assert (answer.status, answer.json["status"]) == (200, "failed")
        seen = await ended(home, run)
        assert (seen["undoing"], seen["error"]["step"]) == (None, "ship")

    def work(task: Task) -> Outcome | None:
        if task.step == "ship":
            return Failure("Lost", "no ship")
        return None if task.step == "undo:pay" else finish(task)

    play(scene, work)


def test_a_step_that_was_skipped_says_why_also_as_data() -> None:
    async def scene(home: House) -> None:
        run = await begin(home, {"a": noop(1), "b": noop(2, when="inputs.wanted")}, {"wanted": False})
        a, b = (await ended(home, run))["steps"]
        assert (a["skipped"], a["skip"]) == (None, None)
        assert b["skipped"] == "not so: inputs.wanted"
        assert b["skip"] == {"cause": "when", "step": None, "when": "inputs.wanted"}

    play(scene)


def test_a_child_is_named_by_its_step_and_knows_its_parent() -> None:
    async def scene(home: House) -> None:
        await home.save({"id": "other", "steps": {"ask": ASK}})
        run = await begin(home, {"child": {"kind": "workflow", "with": {"workflow": "other"}}})

        async def begun() -> bool:
            child = (await step_of(home, run, "child"))["childRun"]
            return child is not None and (await home.ask("GET", f"{RUNS}/{child}")).status == 200

        await until_asked(begun)
        child = (await step_of(home, run, "child"))["childRun"]
        assert (await read(home, child))["parent"] == {"kind": "run", "id": run}
        why = (await home.ask("GET", f"{RUNS}/{run}/explain")).json["reasons"][0]
        assert (why["kind"], why["next"]) == ("child", f"windlass explain {child}")
        await home.ask("POST", f"{RUNS}/{child}/steps/ask/approve")
        seen = await ended(home, run)
        assert (seen["status"], seen["parent"]) == ("succeeded", None)
        assert seen["output"]["child"]["ask"]["approved"] is True

    play(scene)


# Reruns.

THREE = {
    "a": noop("a"),
    "b": noop("b", needs="a"),
    "c": noop("${{ steps.b.output }}", needs="b"),
}


class Flaky:
    """A worker that fails step b until it is mended, and counts what it was given."""

    def __init__(self) -> None:
        self.broken = True
        self.begun: list[str] = []

    def __call__(self, task: Task) -> Outcome | None:
        self.begun.append(task.step)
        if task.step == "b" and self.broken:
            return Failure("Broken", "not yet")
        return Success(task.with_.get("value"), context={task.step: len(self.begun)})


def test_a_rerun_shares_what_came_before() -> None:
    work = Flaky()

    async def scene(home: House) -> None:
        old = await begin(home, THREE, {"day": 1}, output="${{ steps.c.output }}")
        assert (await ended(home, old))["status"] == "failed"
        work.broken = False
        answer = await home.ask("POST", f"{RUNS}/{old}/rerun")
        assert answer.status == 200
        assert (answer.json["rerunOf"], answer.json["kept"], answer.json["workflowId"]) == (old, ["a"], "w")
        new = await ended(home, answer.json["runId"])
        assert (new["status"], new["rerunOf"], new["output"]) == ("succeeded", old, "b")
        assert (new["input"], new["context"]) == ({"day": 1}, {"a": 1, "b": 3, "c": 4})
        first, second, _ = new["steps"]
        assert (first["kept"], first["attempts"], first["output"]) == ("run", 0, "a")
        assert (second["kept"], second["attempts"]) == (None, 1)
        assert work.begun == ["a", "b", "b", "c"]
        events = (await home.ask("GET", f"{RUNS}/{new['id']}/events")).json["items"]
        assert events[0]["kept"] == {"a": {"status": "succeeded", "by": "run"}}

    play(scene, work)


def test_a_rerun_may_take_results_from_a_person_and_another_input() -> None:
    work = Flaky()

    async def scene(home: House) -> None:
        old = await begin(home, {**THREE, "d": noop("${{ inputs.day }}")}, {"day": 1})
        await ended(home, old)

        async def again(**asked: Json) -> Json:
            answer = await home.ask("POST", f"{RUNS}/{old}/rerun", asked)
            assert answer.status == 200, answer.text
            return await ended(home, answer.json["runId"])

        patched = await again(patch={"b": 42})
        assert patched["output"] == {"c": 42, "d": 1}
        assert patched["steps"][1]["kept"] == "person"
        skipped = await again(skip=["b"])
        assert [step["status"] for step in skipped["steps"]] == [
            "succeeded",
            "skipped",
            "skipped",
            "succeeded",
        ]
        assert skipped["steps"][2]["skipped"] == "all the steps it needs were skipped"
        edited = await again(**{"from": ["d"]}, patch={"b": 0}, input={"day": 2})
        assert (edited["input"], edited["output"]["d"]) == ({"day": 2}, 2)
        assert edited["steps"][0]["kept"] == "run"
        work.broken = False
        whole = await again(input={"day": 3})
        assert [step["kept"] for step in whole["steps"]] == [None] * 4

    play(scene, work)


def test_a_rerun_of_another_version_keeps_what_did_not_change() -> None:
    work = Flaky()

    async def scene(home: House) -> None:
        old = await begin(home, THREE)
        await ended(home, old)
        mended = {"id": "w", "steps": {**THREE, "b": noop("mended", needs="a", priority=1)}}
        assert (await home.ask("PUT", "/api/v1/workflows/w", mended)).json["version"] == 2
        work.broken = False
        answer = await home.ask("POST", f"{RUNS}/{old}/rerun", {"version": 2})
        assert (answer.json["version"], answer.json["kept"]) == (2, ["a"])
        assert (await ended(home, answer.json["runId"]))["output"] == {"c": "mended"}
        gone = await home.ask("POST", f"{RUNS}/{old}/rerun", {"version": 3})
        assert gone.status == 404

    play(scene, work)


def test_the_same_rerun_again_starts_once() -> None:
    async def scene(home: House) -> None:
        old = await begin(home, THREE)
        await ended(home, old)
        path, key = f"{RUNS}/{old}/rerun", {"Idempotency-Key": "k"}
        first = await home.ask("POST", path, {"from": ["b"]}, headers=key)
        again = await home.ask("POST", path, {"from": ["b"]}, headers=key)
        assert first.json == again.json
        other = await home.ask("POST", path, {"from": ["c"]}, headers=key)
        assert other.status == 409
        named = await home.ask("POST", path, {"from": ["b"], "runId": "mine"})
        assert named.json["runId"] == "mine"

    play(scene)


def test_reruns_that_make_no_sense_are_refused() -> None:
    async def scene(home: House) -> None:
        run = await begin(home, {"ask": ASK, "last": noop(needs="ask")})
        path = f"{RUNS}/{run}/rerun"
        early = await home.ask("POST", path)
        assert (early.status, "has not ended" in early.json["message"]) == (409, True)
        await home.ask("POST", f"{RUNS}/{run}/steps/ask/approve")
        await ended(home, run)

        async def places(body: Json) -> list[str]:
            answer = await home.ask("POST", path, body)
            assert answer.status == 422
            return [fault["pointer"] for fault in answer.json["details"]]

        assert await places({}) == ["/from"]
        assert await places({"from": ["nobody"], "skip": ["none"]}) == ["/from/0", "/skip/0"]
        assert await places({"patch": {"ask": "a\0"}}) == ["/patch/ask"]
        assert await places({"form": ["ask"]}) == [""]
        assert await places({"runId": "a b"}) == ["/runId"]
        assert (await home.ask("POST", f"{RUNS}/nobody/rerun")).status == 404
        await home.ask("DELETE", "/api/v1/workflows/w")
        assert (await home.ask("POST", path, {"from": ["ask"]})).status == 404

    play(scene)


def test_the_input_of_a_rerun_is_checked_as_that_of_a_start() -> None:
    async def scene(home: House) -> None:
        inputs = {"day": {"type": "integer", "default": 1}}
        run = await begin(home, {"a": noop("${{ inputs.day }}")}, inputs=inputs)
        await ended(home, run)
        wrong = await home.ask("POST", f"{RUNS}/{run}/rerun", {"input": {"day": "x"}})
        assert (wrong.status, [fault["pointer"] for fault in wrong.json["details"]]) == (422, ["/input/day"])
        right = await home.ask("POST", f"{RUNS}/{run}/rerun", {"input": {}})
        assert (await ended(home, right.json["runId"]))["output"] == {"a": 1}

    play(scene)


# A cluster with an older node.


def test_an_older_node_keeps_all_of_it_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(home: House) -> None:
        run = await begin(home, {"ask": ASK})
        nodes = home.node.membership
        monkeypatch.setattr(nodes, "me", msgspec.structs.replace(nodes.me, level=3))
        documents: list[dict[str, Json]] = [
            {"steps": {"ask": ASK}},
            {"steps": {"a": noop("${{ run.id }}")}},
            {"steps": {"a": noop(when="true")}},
            {"steps": {"a": noop(undo=noop())}},
            {"steps": {"a": noop(concurrency=1)}},
            {"steps": {"a": noop()}, "inputs": {"n": "integer"}},
            {"steps": {"a": noop()}, "output": 1},
            {"steps": {"a": noop()}, "rate": "1/1s"},
            {"steps": {"a": noop()}, "schedule": "1h"},
        ]
        for i, document in enumerate(documents):
            answer = await home.ask("POST", "/api/v1/workflows", {"id": f"d{i}", **document})
            assert (answer.status, "too old" in answer.json["message"]) == (503, True), document
        for path, body in (
            ("signal", {"name": "go"}),
            ("steps/ask/approve", None),
            ("steps/ask/reject", None),
            ("rerun", None),
        ):
            answer = await home.ask("POST", f"{RUNS}/{run}/{path}", body)
            assert (answer.status, "too old" in answer.json["message"]) == (503, True), path
        await home.save({"id": "plain", "steps": {"a": noop(1)}})

    play(scene)


def test_nodes_that_have_not_agreed_yet_say_so_and_that_it_takes_but_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(home: House) -> None:
        monkeypatch.setattr(home.node.membership, "plan", Plan())
        answer = await home.ask("POST", "/api/v1/workflows", {"id": "d", "steps": {"ask": ASK}})
        assert (answer.status, "about to agree" in answer.json["message"]) == (503, True)
        assert int(answer.headers["Retry-After"]) <= 1

    play(scene)
