"""Why a run waits for somebody, another run, a limit or its own items: in words, with the command."""

from typing import Any

import msgspec

from windlass.core import document, explain
from windlass.core.errors import Invalid
from windlass.core.events import (
    ChildStarted,
    MapStarted,
    PermitAsked,
    PermitGranted,
    RunEvent,
    RunPaused,
    RunStarted,
    SignalReceived,
    StepAwaits,
    StepFailed,
    StepQueued,
    StepSkipped,
    StepSucceeded,
    TurnStarted,
    UndoStarted,
)
from windlass.core.explain import Explanation
from windlass.core.explain_workers import Outside
from windlass.core.names import Attempt, RunId, StepId, WorkflowId
from windlass.core.reasons import LimitSeen, Reason
from windlass.core.run_model import Run
from windlass.core.run_state import apply
from windlass.core.task import Failure, Json

AT = 1_767_268_800.0  # 2026-01-01 12:00 UTC
NOW = AT + 60
BODY = {"kind": "noop"}


def run_of(steps: Json, *events: RunEvent, **more: Json) -> Run:
    try:
        definition = document.read({"id": "w", "steps": steps, **more})
    except Invalid as invalid:
        raise AssertionError(invalid.faults) from None
    run = Run(definition)
    begun = RunStarted(workflow=WorkflowId("w"), version=1, document_hash="", request_hash="", at=AT)
    for event in (begun, *events):
        apply(run, event)
    run.dues.clear()
    return run


def told(run: Run, outside: Outside | None = None) -> Explanation:
    return explain.explain(run, outside or Outside(), run_id="r1", now=NOW)


def first(run: Run, outside: Outside | None = None) -> Reason:
    return told(run, outside).reasons[0]


def step(name: str) -> StepId:
    return StepId(name)


def approval(**with_: Json) -> Json:
    return {"ask": {"kind": "approval", "with": with_}}


def test_an_approval_names_who_may_what_is_asked_and_what_silence_means() -> None:
    ask = approval(prompt="Ship?", who=["alice", "ops"], timeout="1h", on_timeout="approve")
    reason = first(run_of(ask, StepAwaits(step=step("ask"), due=AT + 3600, at=AT)))
    assert (reason.kind, reason.until, reason.next) == ("approval", AT + 3600, "windlass approve r1 ask")
    assert (reason.why, reason.who, reason.then) == ("Ship?", ("alice", "ops"), "approve")
    assert reason.detail == (
        "Step ask waits since 12:00 UTC for alice or ops to say yes or no (Ship?), until 13:00 UTC (then it "
        "counts as approved); `windlass approve r1 ask`, or `windlass reject r1 ask`"
    )


def test_an_approval_of_anybody_without_an_end_says_so_and_the_prompt_is_as_it_came_out() -> None:
    awaits = StepAwaits(step=step("ask"), given={"prompt": "Ship boots?"}, at=AT)
    reason = first(run_of(approval(prompt="Ship ${{ inputs.what }}?"), awaits))
    assert "for somebody to say yes or no (Ship boots?); `windlass approve" in reason.detail
    assert reason.until is None


def test_a_signal_names_itself_and_the_command_that_sends_it() -> None:
    paid = {"paid": {"kind": "signal", "with": {"name": "payment", "timeout": "1h", "default": 0}}}
    reason = first(run_of(paid, StepAwaits(step=step("paid"), due=AT + 3600, at=AT)))
    assert (reason.kind, reason.next) == ("signal", "windlass signal r1 payment DATA")
    assert (reason.name, reason.then) == ("payment", "default")
    assert "for the signal payment, until 13:00 UTC (then it goes on with its default)" in reason.detail


def test_a_pause_stops_the_clock_of_whoever_waits_for_somebody() -> None:
    ask = approval(timeout="1h")
    paused = RunPaused(command="x", at=AT + 60)
    run = run_of(ask, StepAwaits(step=step("ask"), due=AT + 3600, at=AT), paused)
    (reason,) = [reason for reason in told(run).reasons if reason.kind == "approval"]
    assert (reason.until, reason.then, reason.left_s) == (None, None, 3540)
    assert "for another 59 min once the run is resumed (then it fails)" in reason.detail


PAID = {"paid": {"kind": "signal", "with": {"name": "payment"}}}


def test_a_signal_that_came_during_a_pause_is_not_asked_for_again() -> None:
    awaits, paused = StepAwaits(step=step("paid"), at=AT), RunPaused(command="x", at=AT)
    came = SignalReceived(name="payment", command="y", at=AT)
    assert [reason.kind for reason in told(run_of(PAID, awaits, paused)).reasons] == ["paused", "signal"]
    assert [reason.kind for reason in told(run_of(PAID, awaits, paused, came)).reasons] == ["paused"]


def test_a_signal_of_another_name_that_nobody_takes_is_told_of() -> None:
    came = SignalReceived(name="Payment", command="y", at=AT)
    reason = first(run_of(PAID, StepAwaits(step=step("paid"), at=AT), came))
    assert reason.detail.endswith("DATA` (no step waits for what came as Payment)")


def test_a_child_is_named_with_the_command_that_explains_it() -> None:
    child = {"child": {"kind": "workflow", "with": {"workflow": "other"}}}
    begun = ChildStarted(
        step=step("child"), attempt=Attempt(1), run=RunId("r9"), workflow=WorkflowId("other"), at=AT
    )
    reason = first(run_of(child, begun))
    assert (reason.kind, reason.next, reason.name) == ("child", "windlass explain r9", "r9")
    assert "waits for the run r9, which it began at 12:00 UTC" in reason.detail


def mapped(count: int, **more: Json) -> Json:
    with_ = {"over": list(range(count)), "max_parallel": 2, "step": {**BODY, **more}}
    return {"each": {"kind": "map", "with": with_}}


def done(name: str) -> StepSucceeded:
    return StepSucceeded(step=step(name), attempt=Attempt(1), at=AT)


def failed(name: str, policy: Any = "skip") -> StepFailed:
    return StepFailed(step=step(name), failure=Failure("Odd", "no"), policy=policy, at=AT)


def test_a_map_says_how_far_it_is() -> None:
    begun = MapStarted(step=step("each"), items=list(range(10_000)), at=AT)
    run = run_of(mapped(3, on_failure="skip"), begun, done("each[0]"), failed("each[1]"))
    (reason,) = [reason for reason in told(run).reasons if reason.kind == "items"]
    assert reason.detail == "Step each is at its items: 2 of 10,000 have ended, 1 of them badly"
    assert (reason.done, reason.total, reason.failed) == (2, 10_000, 1)


def test_what_items_wait_for_goes_before_how_many_have_ended() -> None:
    begun = MapStarted(step=step("each"), items=[1, 2, 3], at=AT)
    run = run_of(mapped(3), begun, StepQueued(step=step("each[0]"), attempt=Attempt(1), at=AT))
    assert [reason.kind for reason in told(run).reasons] == ["capability", "items"]


LOOP = {"poll": {"kind": "loop", "with": {"until": "item == 1", "max": 5, "delay": "1m", "step": BODY}}}


def test_a_loop_says_which_turn_it_takes_and_when_the_next_begins() -> None:
    turn = TurnStarted(step=step("poll"), turn=0, at=AT)
    run = run_of(LOOP, turn, done("poll[0]"), TurnStarted(step=step("poll"), turn=1, due=AT + 120, at=AT))
    kinds = {reason.kind: reason for reason in told(run).reasons}
    assert kinds["items"].detail == "Step poll is in turn 2 of at most 5"
    assert (kinds["items"].done, kinds["items"].most, kinds["items"].total) == (2, 5, None)
    assert (kinds["turn"].name, kinds["turn"].attempt) == ("poll", 2)
    assert (kinds["turn"].detail, kinds["turn"].until) == ("Step poll takes turn 2 in 60 s", AT + 120)
    apply(run, RunPaused(command="x", at=AT))
    kinds = {reason.kind: reason for reason in told(run).reasons}
    assert kinds["turn"].detail == "Step poll takes turn 2 when the run has been resumed for 2 min"
    assert (kinds["turn"].until, kinds["turn"].left_s) == (None, 120)


def asked(key: str, name: str = "", per_s: float | None = None) -> PermitAsked:
    return PermitAsked(number=1, key=key, most=10, step=step(name), per_s=per_s, at=AT)


def test_a_step_that_waits_for_a_limit_says_for_which_and_how_many_hold_it() -> None:
    run = run_of({"a": {**BODY, "rate": "10/1m"}}, asked("rate:api", "a", per_s=60.0))
    reason = first(run)
    assert (reason.kind, reason.step) == ("permit", "a")
    assert "for the limit api, which lets 10 begin in 60 s; `windlass limits show api" in reason.detail
    assert reason.next == "windlass limits show api --rate"
    seen = Outside(limits={"rate:api": LimitSeen(held=10, waiting=3)})
    assert "in 60 s; 10 permits of it are held, and 3 wait for one; `" in first(run, seen).detail
    told_of = first(run, seen)
    assert (told_of.name, told_of.most, told_of.per_s) == ("api", 10, 60.0)
    assert (told_of.held, told_of.waiting) == (10, 3)


def test_a_run_that_waits_for_a_limit_as_a_whole_says_so() -> None:
    run = run_of({"a": BODY, "b": BODY}, asked("concurrency:customer-5"), concurrency=10, max_parallel=1)
    explanation = told(run)
    assert [reason.kind for reason in explanation.reasons] == ["permit"]
    assert explanation.sentence == (
        "The run waits since 12:00 UTC for the limit customer-5, which lets 10 run at once; "
        "`windlass limits show customer-5` says who has it."
    )


def test_a_run_that_waits_for_what_it_holds_itself_is_told_so() -> None:
    held = msgspec.structs.replace(asked("concurrency:it's mine"), most=1)
    again = msgspec.structs.replace(held, number=2, step=step("a"))
    limit = {"key": "it's mine", "limit": 1}
    whole = PermitGranted(number=1, at=AT)
    run = run_of({"a": {**BODY, "concurrency": limit}}, held, whole, again, concurrency=limit)
    reason = first(run)
    assert "; this run itself holds all of it, so it may wait for itself; " in reason.detail
    assert reason.next == r"windlass limits show 'it'\''s mine'"


def test_a_run_that_takes_back_what_it_did_says_how_far_it_is() -> None:
    steps = {
        "a": {**BODY, "undo": BODY},
        "b": {**BODY, "needs": "a", "undo": BODY},
        "c": {**BODY, "needs": "b"},
    }
    why = Failure("Odd", "no ship")
    begun = UndoStarted(status="failed", failure=why, at=AT)
    run = run_of(steps, done("a"), done("b"), failed("c", "fail"), begun, done("undo:b"), deadline="1d")
    assert told(run).sentence == (
        "The run takes back what it did since 12:00 UTC: 1 of 2 steps are undone; then it ends as failed "
        "(no ship). `windlass cancel r1 --no-undo` gives that up."
    )
    reason = first(run)
    assert (reason.done, reason.total, reason.then, reason.why) == (1, 2, "failed", "no ship")
    apply(run, failed("undo:a", "member"))
    assert "2 of 2 steps are undone, but for 1 that failed; then" in first(run).detail


def test_what_was_skipped_holds_nothing_up() -> None:
    run = run_of({"a": {**BODY, "when": "false"}}, StepSkipped(step=step("a"), reason="no", at=AT))
    assert told(run).reasons == ()
