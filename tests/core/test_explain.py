"""Why a run is not moving: rules over values, so without any engine."""

from typing import Any

import pytest
from msgspec import structs

from tests.core.outside import ME, failed, finish, grant, lose, start
from windlass.core import document, explain, wording
from windlass.core.commands import CancelRun, PauseRun, RunCommand
from windlass.core.explain import Explanation
from windlass.core.explain_workers import Outside, TaskSeen, WorkerSeen
from windlass.core.names import StepId
from windlass.core.run import perform
from windlass.core.run_model import Run
from windlass.core.task import Failure

NOON = 1_767_268_800.0  # 2026-01-01T12:00:00Z
IDLE = WorkerSeen("w1", frozenset({"noop", "python", "shell", "http"}), free=4)
BUSY = WorkerSeen("w1", IDLE.capabilities, free=0, held=8)
CRUNCH = {"crunch": {"kind": "noop", "requires": ["gpu"]}}
RETRIED = {"fetch": {"kind": "noop", "retry": {"attempts": 5, "backoff": "20s"}}}
UNAVAILABLE = Failure("HttpStatus", "503")


def played(steps: dict[str, Any], *commands: RunCommand, **more: Any) -> Run:
    run = Run(document.read({"id": "w", "steps": steps, **more}))
    for command in (start(NOON), *commands):
        perform(run, command)
    return run


def told(run: Run, *workers: WorkerSeen, after_s: float = 60.0, **tasks: TaskSeen) -> Explanation:
    outside = Outside({StepId(step): seen for step, seen in tasks.items()}, workers)
    return explain.explain(run, outside, run_id="RUN", now=NOON + after_s)


def kinds(explanation: Explanation) -> list[str]:
    return [reason.kind for reason in explanation.reasons]


def test_a_capability_that_nobody_offers_is_named_with_the_command_that_brings_it() -> None:
    told_of = told(played(CRUNCH), IDLE)
    assert told_of.sentence == (
        "Step crunch waits for a worker that offers gpu: none of the 1 connected workers does; "
        "start one with `windlass worker --capabilities gpu` (or `windlass up --capability gpu`)."
    )
    (reason,) = told_of.reasons
    assert (reason.kind, reason.step, reason.requires) == ("capability", "crunch", ("gpu",))
    assert (reason.since, reason.next) == (NOON, "windlass worker --capabilities gpu")
    assert reason.workers == {"unfit": 1}


def test_without_any_worker_nothing_runs() -> None:
    assert told(played({"a": {"kind": "shell", "with": {"command": "x"}}})).sentence == (
        "Step a waits for a worker that offers shell: no worker is connected; "
        "start one with `windlass worker` (or `windlass up`)."
    )


def test_two_capabilities_that_nobody_offers_together_are_both_named() -> None:
    gpu = WorkerSeen("w2", frozenset({"gpu"}), free=1)
    told_of = told(played(CRUNCH), IDLE, gpu)
    assert "offers gpu and noop: none of the 2 connected workers does" in told_of.sentence


def test_a_step_that_waits_for_a_slot_says_who_is_before_it() -> None:
    told_of = told(played({"a": {"kind": "noop"}}), BUSY, a=TaskSeen(ahead=3))
    assert told_of.sentence == (
        "Step a waits for a free slot: the worker that can run it is busy with 8 tasks, "
        "and 3 tasks are before it."
    )
    (reason,) = told_of.reasons
    assert (reason.kind, reason.ahead, reason.held, reason.workers) == ("slots", 3, 8, {"busy": 1})


def test_a_step_that_a_worker_just_took_is_no_riddle() -> None:
    run = played({"a": {"kind": "noop"}})
    for told_of in (told(run, BUSY, a=TaskSeen(held=True, worker="w1")), told(run, IDLE)):
        assert kinds(told_of) == ["running"]
        assert "is being handed to" in told_of.sentence


def test_code_waits_for_a_worker_that_runs_its_language() -> None:
    run = played({"a": {"kind": "code", "with": {"language": "go", "code": "x"}}})
    told_of = told(run, WorkerSeen("w1", frozenset({"code", "code/python"}), free=1))
    assert "a worker that offers code/golang:" in told_of.sentence
    assert "start one with `windlass worker` on a machine with golang and a sandbox" in told_of.sentence
    assert told_of.reasons[0].next == "windlass worker"


def test_code_says_what_else_its_worker_has_to_be_told() -> None:
    with_ = {"language": "py", "version": "3.11", "code": "x", "limits": {"network": True}}
    run = played({"a": {"kind": "code", "with": with_, "requires": ["gpu", "sandbox:seccomp"]}})
    told_of = told(run, WorkerSeen("w1", frozenset({"code", "code/python"}), free=1))
    assert "`windlass worker --capabilities gpu` on a machine with python 3.11" in told_of.sentence
    assert "network = true under [limits]" in told_of.sentence


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ({"halt": "paused"}, "is paused"),
        ({"halt": "draining"}, "is draining"),
        ({"healthy": False}, "does not answer"),
        ({"namespace_ok": False}, "is not for this namespace"),
        ({"namespace_ok": False, "halt": "paused", "free": 0}, "is not for this namespace"),
        ({"degraded": True}, "failed so often that it gets only a task now and then"),
    ],
)
def test_a_worker_that_has_all_it_takes_and_may_not_have_it_says_why(why: dict[str, Any], said: str) -> None:
    told_of = told(played({"a": {"kind": "noop"}}), structs.replace(IDLE, **why))
    assert told_of.sentence == (
        f"Step a waits for a worker: worker w1, the only one that can run it, {said}; see `windlass workers`."
    )
    (reason,) = told_of.reasons
    assert (reason.kind, reason.worker, reason.next) == ("worker", "w1", "windlass workers")


def test_several_workers_that_may_not_have_it_are_counted_by_what_keeps_them() -> None:
    workers = (
        structs.replace(IDLE, id="w1", halt="paused"),
        structs.replace(IDLE, id="w2", healthy=False),
        structs.replace(IDLE, id="w3", healthy=False),
        structs.replace(IDLE, id="w4", degraded=True),
        WorkerSeen("w5", frozenset({"gpu"}), free=1),
    )
    told_of = told(played({"a": {"kind": "noop"}}), *workers)
    assert told_of.reasons[0].workers == {"paused": 1, "silent": 2, "degraded": 1}
    assert told_of.sentence == (
        "Step a waits for a worker: of the 4 workers that can run it, 1 is paused, 2 do not answer and "
        "1 failed so often that it gets only a task now and then; see `windlass workers`."
    )


def test_the_busy_are_told_of_before_those_that_may_not_have_it() -> None:
    told_of = told(played({"a": {"kind": "noop"}}), BUSY, structs.replace(IDLE, id="w2", halt="draining"))
    assert told_of.sentence == (
        "Step a waits for a free slot: the worker that can run it is busy with 8 tasks; "
        "besides, 1 is draining."
    )
    assert kinds(told_of) == ["slots"]


def test_a_well_worker_with_a_slot_outweighs_all_that_are_not() -> None:
    assert kinds(told(played({"a": {"kind": "noop"}}), BUSY, structs.replace(IDLE, healthy=False), IDLE)) == [
        "running"
    ]


def test_a_parked_step_says_why_and_how_to_release_it() -> None:
    steps = {"a": {"kind": "noop"}, "b": {"kind": "noop"}, "c": {"kind": "noop", "needs": ["a"]}}
    died = [lose("a", n, NOON + n, witnessed=True, worker="w7", reason="exit 9") for n in (1, 2, 3)]
    told_of = told(played(steps, *died), IDLE)
    assert told_of.sentence == (
        "Step a is parked since 12:00 UTC: its worker died with it 3 times, the last time: exit 9; "
        "release it with `windlass release RUN a` (besides: 1 running, 1 waiting for other steps)."
    )
    reason = told_of.reasons[0]
    assert (reason.kind, reason.step, reason.next) == ("parked", "a", "windlass release RUN a")
    assert (reason.since, reason.worker, reason.attempt) == (NOON + 3, "w7", 4)
    assert reason.evidence[0] == "Worker w7 died at 2026-01-01 12:00:01 UTC with attempt 1: exit 9"


def test_without_failover_a_lost_attempt_says_that_this_is_why_it_waits() -> None:
    run = played({"a": {"kind": "noop"}}, lose("a", 1, NOON + 1, failover=False, reason="w1 is gone"))
    assert "failover is off, and its attempt was lost: w1 is gone; release it" in told(run, IDLE).sentence


def test_a_parked_step_of_a_run_that_is_failing_holds_nothing_up() -> None:
    steps = {"a": {"kind": "noop"}, "b": {"kind": "noop"}, "c": {"kind": "noop"}}
    run = played(
        steps,
        lose("a", 1, NOON + 1, failover=False),
        grant("c", at=NOON + 1),
        finish("b", 1, failed(), NOON + 2),
    )
    assert kinds(told(run, IDLE)) == ["running"]


def test_a_retry_says_why_when_and_how_often() -> None:
    told_of = told(played(RETRIED, finish("fetch", outcome=UNAVAILABLE, at=NOON + 1)), IDLE, after_s=9)
    assert told_of.sentence == (
        "Step fetch failed (HttpStatus: 503) and is tried again in 12 s (attempt 2 of 5)."
    )
    (reason,) = told_of.reasons
    assert (reason.kind, reason.attempt, reason.attempts) == ("retry", 2, 5)
    assert (reason.since, reason.until, reason.why) == (NOON + 1, NOON + 21, "HttpStatus: 503")


def test_a_pause_comes_first_and_holds_back_retries() -> None:
    told_of = told(
        played(RETRIED, finish("fetch", outcome=UNAVAILABLE, at=NOON + 1), PauseRun(id="p", at=NOON + 120)),
        IDLE,
        after_s=300,
    )
    assert told_of.sentence == (
        "The run is paused since 12:02 UTC; resume it with `windlass resume RUN` "
        "(besides: 1 to be tried again)."
    )
    assert kinds(told_of) == ["paused", "retry"]
    assert told_of.reasons[1].until is None
    assert "is tried again when the run has been resumed" in told_of.reasons[1].detail


def test_a_wait_says_until_when() -> None:
    told_of = told(played({"nap": {"kind": "wait", "with": {"for": "1h"}}}))
    assert told_of.sentence == "Step nap waits until 13:00 UTC, in 59 min."
    assert (kinds(told_of), told_of.reasons[0].until) == (["wait"], NOON + 3600)


def test_a_time_on_another_day_has_its_date() -> None:
    told_of = told(played({"nap": {"kind": "wait", "with": {"until": "2026-01-03T08:00:00Z"}}}))
    assert told_of.sentence == "Step nap waits until 2026-01-03 08:00 UTC, in 43 h 59 min."
    assert kinds(told_of) == ["timer"]


def test_a_pause_stops_a_relative_wait_but_no_date() -> None:
    steps = {
        "nap": {"kind": "wait", "with": {"for": "1h"}},
        "day": {"kind": "wait", "with": {"until": "2026-01-03T08:00:00Z"}},
    }
    told_of = told(played(steps, PauseRun(id="p", at=NOON + 600)), after_s=3000)
    by_kind = {reason.kind: reason for reason in told_of.reasons}
    assert (by_kind["wait"].until, by_kind["wait"].left_s) == (None, 3000.0)
    assert "another 50 min once the run is resumed" in by_kind["wait"].detail
    assert by_kind["timer"].until is not None


def test_what_runs_says_where_and_how_long_it_may() -> None:
    run = played({"a": {"kind": "noop", "timeout": "1h"}}, grant("a", at=NOON + 1))
    told_of = told(run, IDLE)
    assert told_of.sentence == (
        "Step a runs on worker w1 since 12:00 UTC (attempt 1) and may do so until 13:00 UTC."
    )
    (reason,) = told_of.reasons
    assert (reason.kind, reason.worker, reason.until) == ("running", ME, NOON + 3601)


def test_a_run_that_will_fail_says_what_it_waits_for_and_why() -> None:
    steps = {"a": {"kind": "noop"}, "b": {"kind": "noop"}, "c": {"kind": "noop", "needs": ["a"]}}
    run = played(steps, grant("a", at=NOON), finish("b", outcome=UNAVAILABLE, at=NOON + 1))
    told_of = told(run, IDLE)
    assert told_of.sentence == (
        "Step a still runs on worker w1 since 12:00 UTC (attempt 1); "
        "then the run fails, because step b failed (HttpStatus: 503)."
    )
    assert (told_of.reasons[0].name, told_of.reasons[0].why) == ("b", "HttpStatus: 503")
    assert kinds(told_of) == ["running"]


def test_max_parallel_and_parents_are_counted_behind_what_runs() -> None:
    steps = {
        **{name: {"kind": "noop"} for name in "abc"},
        "z": {"kind": "noop", "needs": ["a", "b", "c"]},
    }
    told_of = told(played(steps, grant("a", at=NOON), max_parallel=1, deadline="1h"), IDLE)
    assert kinds(told_of) == ["running", "limit", "parents", "deadline"]
    assert told_of.sentence.endswith(
        "(besides: 2 held back by max_parallel, 1 waiting for other steps, a deadline)."
    )
    assert told_of.reasons[1].detail == "2 steps are held back by max_parallel: 1 at a time"
    assert (told_of.reasons[1].name, told_of.reasons[1].most) == ("max_parallel", 1)
    assert told_of.reasons[3].until == NOON + 3600
    assert told_of.counts == {"running": 1, "limit": 2, "parents": 1, "deadline": 1}


def test_many_reasons_are_all_counted_and_a_few_listed() -> None:
    steps = {f"s{i}": {"kind": "noop", "requires": ["gpu"]} for i in range(100)}
    told_of = told(played(steps), IDLE)
    assert len(told_of.reasons) == explain.REASONS_MAX
    assert told_of.counts == {"capability": 100}
    assert told_of.sentence.startswith("Step s0 waits for a worker that offers gpu")
    assert told_of.sentence.endswith("(besides: 99 waiting for a worker).")


def test_an_ended_run_has_one_reason() -> None:
    run = played({"a": {"kind": "noop"}}, CancelRun(id="c", reason="wrong day", at=NOON + 5))
    told_of = told(run, IDLE)
    assert told_of.sentence == "The run was cancelled at 12:00 UTC: wrong day; nothing is left to do."
    assert (told_of.reasons[0].then, told_of.reasons[0].why) == ("cancelled", "wrong day")
    assert kinds(told_of) == ["ended"]


def test_a_stuck_run_says_how_to_free_it() -> None:
    told_of = explain.stuck("KeyError: 'x'", since=NOON, run_id="RUN", now=NOON + 9)
    assert told_of.sentence == (
        "The run is stuck since 12:00 UTC (KeyError: 'x'); mend the cause, "
        "then free it with `windlass retry-stuck RUN`."
    )


def test_an_error_of_many_lines_stays_one_short_line() -> None:
    told_of = explain.stuck("x\n" * 1000, since=None, run_id="RUN", now=NOON)
    assert "\n" not in told_of.sentence
    assert len(told_of.sentence) < 300


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "less than 1 s"),
        (1, "1 s"),
        (119, "119 s"),
        (120, "2 min"),
        (7199, "2 h"),
        (7500, "2 h 5 min"),
        (86400 * 3, "3 d"),
    ],
)
def test_a_span_is_told_as_people_say_it(seconds: float, text: str) -> None:
    assert wording.span(seconds) == text
