"""What users see, from what is kept: pure, so without any engine."""

import pytest

from windlass.core import document
from windlass.core.commands import CancelRun, FinishStep, GrantStep, LoseStep, PauseRun, RunCommand, StartRun
from windlass.core.definition import Definition
from windlass.core.events import AttemptFailed, RunStarted
from windlass.core.names import Attempt, SessionId, StepId, WorkerId, WorkflowId, run_key
from windlass.core.run import perform
from windlass.core.run_model import Run
from windlass.core.run_state import image
from windlass.core.task import Failure, Json, Outcome, Success
from windlass.gateway import views
from windlass.journal import Document, Fact, RunRow
from windlass.wire import codec

AT = 1_767_225_600.0  # 2026-01-01


def start(definition: Definition, *commands: RunCommand) -> Run:
    run = Run(definition)
    started = StartRun(
        workflow=WorkflowId("w"), version=3, document_hash="d", request_hash="r", input=[1], at=AT
    )
    for command in (started, *commands):
        perform(run, command)
    return run


def shown(run: Run, row: RunRow | None = None) -> Json:
    row = row or RunRow(key=run_key("r"), workflow="w", version=3, status=run.status, started_at=AT)
    return views.run("r", row, 7, image(run), run.definition)


def define(steps: Json, **more: Json) -> Definition:
    return document.read({"id": "w", "steps": steps, **more})


def granted(step: str, after_s: float, attempt: int = 1) -> GrantStep:
    worker, session = WorkerId("w1"), SessionId("s1")
    return GrantStep(
        step=StepId(step), attempt=Attempt(attempt), worker=worker, session=session, at=AT + after_s
    )


def finished(step: str, outcome: Outcome, after_s: float, attempt: int = 1) -> FinishStep:
    return FinishStep(
        step=StepId(step),
        attempt=Attempt(attempt),
        outcome=outcome,
        worker=WorkerId("w1"),
        started_at=AT + after_s - 0.5,
        at=AT + after_s,
    )


def parking(after_s: float) -> LoseStep:
    return LoseStep(step=StepId("a"), attempt=Attempt(1), reason="x", failover=False, at=AT + after_s)


RETRIED = {"a": {"kind": "noop", "retry": {"attempts": 2, "backoff": "10s"}}}
NO = Failure("ValueError", "no", detail="Traceback …")


def test_times_are_utc_with_milliseconds() -> None:
    assert views.iso(AT) == "2026-01-01T00:00:00.000Z"
    assert views.iso(AT + 1.5) == "2026-01-01T00:00:01.500Z"


def test_a_run_that_ended_shows_how_long_it_took_and_what_came_out() -> None:
    definition = define({"a": {"kind": "noop"}, "b": {"kind": "noop", "needs": ["a"]}})
    run = start(definition, finished("a", Success(1), 1), finished("b", Success({"n": 2}, {"k": 1}), 2.25))
    view = shown(run)
    assert view["status"] == "succeeded"
    assert (view["startedAt"], view["endedAt"]) == ("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:02.250Z")
    assert view["durationSeconds"] == 2.25
    assert (view["output"], view["context"], view["input"]) == ({"b": {"n": 2}}, {"k": 1}, [1])
    assert (view["counts"], view["error"], view["seq"]) == ({"succeeded": 2}, None, 7)


def test_a_step_in_backoff_says_when_it_is_tried_again() -> None:
    (step,) = shown(start(define(RETRIED), granted("a", 0.5), finished("a", NO, 1)))["steps"]
    assert (step["status"], step["attempts"]) == ("waiting", 1)
    assert step["retryAt"] == "2026-01-01T00:00:11.000Z"
    assert step["error"] == {"type": "ValueError", "message": "no", "detail": "Traceback …"}


def test_a_step_that_waits_says_until_when() -> None:
    (step,) = shown(start(define({"a": {"kind": "wait", "with": {"for": "1m"}}})))["steps"]
    assert (step["status"], step["waitsUntil"]) == ("running", "2026-01-01T00:01:00.000Z")
    assert step["retryAt"] is None


def test_a_run_that_failed_names_the_step() -> None:
    view = shown(start(define({"a": {"kind": "noop"}}), granted("a", 0.5), finished("a", NO, 1)))
    assert view["error"] == {"type": "ValueError", "message": "no", "step": "a"}
    assert (view["steps"][0]["status"], view["steps"][0]["worker"]) == ("failed", "w1")


def test_a_run_past_its_deadline_blames_no_step() -> None:
    run = start(define({"a": {"kind": "noop"}}, deadline="1s"), granted("a", 5))
    assert shown(run)["error"] == {
        "type": "Deadline",
        "message": "the run did not end within its deadline of 1s",
    }


@pytest.mark.parametrize(
    ("commands", "attempts"),
    [
        pytest.param([], 1, id="queued"),
        pytest.param([granted("a", 1)], 1, id="running"),
        pytest.param([granted("a", 1), finished("a", NO, 2)], 1, id="in backoff"),
        pytest.param([granted("a", 1), finished("a", NO, 2), granted("a", 13, 2)], 2, id="running again"),
        pytest.param([finished("a", NO, 2), finished("a", NO, 13, 2)], 2, id="failed"),
        pytest.param([finished("a", NO, 2), finished("a", Success(), 13, 2)], 2, id="succeeded"),
        pytest.param([LoseStep(step=StepId("a"), attempt=Attempt(1), reason="x", at=AT)], 2, id="lost"),
        pytest.param([granted("a", 1), parking(1)], 1, id="parked"),
        pytest.param(
            [granted("a", 1), parking(1), CancelRun(id="c", at=AT + 2)], 1, id="cancelled when parked"
        ),
        pytest.param([CancelRun(id="c", at=AT)], 0, id="cancelled before it began"),
        pytest.param([granted("a", 1), CancelRun(id="c", at=AT + 2)], 1, id="cancelled at work"),
        pytest.param(
            [granted("a", 1), finished("a", NO, 2), CancelRun(id="c", at=AT + 3)],
            1,
            id="cancelled in backoff",
        ),
        pytest.param([PauseRun(id="p", at=AT)], 0, id="taken back"),
    ],
)
def test_attempts_are_those_that_were_made(commands: list[RunCommand], attempts: int) -> None:
    run = Run(define(RETRIED))
    started = StartRun(workflow=WorkflowId("w"), version=1, document_hash="", request_hash="", at=AT)
    for command in (started, *commands):
        if getattr(command, "attempt", 1) == 2:  # first the backoff has to end
            perform(run, LoseStep(step=StepId("nobody"), attempt=Attempt(1), reason="", at=AT + 12.5))
        perform(run, command)
    assert shown(run)["steps"][0]["attempts"] == attempts


def test_a_stuck_run_shows_the_reason_of_its_row() -> None:
    row = RunRow(
        key=run_key("r"), workflow="w", version=3, status="stuck", started_at=AT, error="KeyError: 1"
    )
    view = shown(start(define({"a": {"kind": "noop"}})), row)
    assert (view["status"], view["error"]) == ("stuck", {"type": "Stuck", "message": "KeyError: 1"})
    assert views.run_stub(row)["error"] == view["error"]


def test_what_is_left_of_a_purged_run_has_the_same_fields() -> None:
    row = RunRow(
        key=run_key("r"),
        workflow="w",
        version=3,
        status="failed",
        started_at=AT,
        ended_at=AT + 2,
        error="step a failed: ValueError: no",
        purged=True,
    )
    stub = views.run_stub(row)
    assert stub.keys() == shown(start(define({"a": {"kind": "noop"}}))).keys()
    assert (stub["purged"], stub["durationSeconds"], stub["steps"]) == (True, 2.0, [])
    assert stub["error"] == {"type": "Failed", "message": "step a failed: ValueError: no"}


def test_an_event_is_shown_with_its_own_fields() -> None:
    event = AttemptFailed(
        step=StepId("a"), attempt=Attempt(2), failure=NO, worker=WorkerId("w1"), started_at=AT, at=AT + 1
    )
    fact = Fact(run_key("r"), 9, AT + 1, "AttemptFailed", 1, codec.encode_event(event))
    assert views.event(fact) == {
        "seq": 9,
        "at": "2026-01-01T00:00:01.000Z",
        "type": "AttemptFailed",
        "step": "a",
        "attempt": 2,
        "failure": {"type": "ValueError", "message": "no", "detail": "Traceback …"},
        "worker": "w1",
        "startedAt": "2026-01-01T00:00:00.000Z",
    }


def test_what_users_put_into_an_event_is_left_as_it_is() -> None:
    payload = {"started_at": 1, "at": "x", "failure": None, "snake_case": {"type": 1}}
    event = RunStarted(
        workflow=WorkflowId("w"),
        version=1,
        document_hash="d",
        request_hash="r",
        input=payload,
        context=payload,
        at=AT,
    )
    fact = Fact(run_key("r"), 1, AT, "RunStarted", 1, codec.encode_event(event))
    assert views.event(fact)["input"] == views.event(fact)["context"] == payload


def test_a_workflow_keeps_the_fields_of_its_document() -> None:
    body = codec.encode_json({"id": "w", "name": "Nightly", "steps": {"a": {"kind": "noop"}}})
    found = Document(key=run_key("w"), version=3, hash="h", body=body, at=AT + 60, created_at=AT)
    assert views.workflow(found) == {
        "id": "w",
        "name": "Nightly",
        "description": "",
        "steps": {"a": {"kind": "noop"}},
        "version": 3,
        "metadata": {"createdAt": "2026-01-01T00:00:00.000Z", "updatedAt": "2026-01-01T00:01:00.000Z"},
    }
