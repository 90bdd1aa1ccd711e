"""Code tasks in plain SQL: the view says what the core says, and older views show tasks, too."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.journal import Place
from tests.journal.test_views import DOCUMENT, Told, grant, iso, kept, lose, nodes, start, view
from tests.journal.test_views import finish as finish_step
from windlass.core import code_request, document, task_fold
from windlass.core.commands import CancelRun, PauseRun, ReleaseStep, ResumeRun, RunCommand, StartRun, Wake
from windlass.core.errors import Refused
from windlass.core.execution_task import MOVES, ExecutionTask
from windlass.core.faults import Faults
from windlass.core.names import StepId, WorkflowId, run_key
from windlass.core.run_model import Run
from windlass.core.task import Failure, Json, Outcome, Success
from windlass.engine.definitions import OWN
from windlass.engine.live import Live, row
from windlass.gateway.task_views import failure_of
from windlass.journal import Fact, Group, RunRow
from windlass.wire import codec, versions

REQUEST = {
    "language": "py",
    "version": "3.11",
    "code": "print(42)",
    "retries": 2,
    "priority": 7,
    "metadata": {"userId": "user_123", "n": [1, {"a": None}]},
}
VALUE: Json = {
    "stdout": "42\n", "stderr": "", "exitCode": 0, "timeS": 1.25, "cpuS": 0.5, "peakBytes": 2**33,
    "tier": "bubblewrap", "language": "python", "version": "3.11.2",
}  # fmt: skip
OLDER: Json = {"output": "from an older client\n", "error": "warned", "executionTime": "12ms"}
OUTCOMES: tuple[Outcome, ...] = (
    Success(VALUE),
    Success(OLDER),
    Success("no object"),
    Success(),
    Failure("ExitCode", "exited with 3", value={**VALUE, "stderr": "it's 工\n", "exitCode": 3}),
    Failure("ExitCode", "exited with 4", value={**VALUE, "exitCode": 4}),
    Failure("TimeLimit", "too slow", value={**VALUE, "exitCode": None, "exceeded": "timeout"}),
    Failure("TimeoutError", "its own word, and none of ours", value={"stdout": None}),
    Failure("CompileError", "2 errors", detail="line 1: no\nline 2: no", retryable=False),
    Failure("CompileError", "the compiler was killed"),
    Failure("NoSandbox", "it did not start", elsewhere=True),
)
STEPS_S = (0.25, 0.5, 1.0, 2.0, 30.0, 125.0, 700.0)  # past the limit of an attempt, and that of the queue


class OwnTold(Told):
    """A run that brings its document along, with its row as the engine writes it."""

    def __init__(self, definition: dict[str, Json], at: float = 1_000.0, **more: Any) -> None:
        super().__init__(definition)
        self.tell(
            StartRun(
                workflow=WorkflowId(task_fold.WORKFLOW),
                version=OWN,
                document_hash=document.digest(definition),
                request_hash="r",
                document=definition,
                at=at,
                **more,
            )
        )

    def row(self, ident: str) -> RunRow:
        return row(Live(run_key(ident), self.run))

    def group(self, ident: str, *, namespace: str = "default", **more: Any) -> Group:
        facts = [
            Fact(run_key(ident), seq, event.at, codec.name(event), *codec.write_event(event, versions.LEVEL))
            for seq, event in enumerate(self.events, start=1)
        ]
        return Group(shard=0, epoch=1, facts=facts, runs=[self.row(ident)], **more)

    def task(self, ident: str) -> ExecutionTask:
        return task_fold.fold(ident, self.events)


def submitted() -> OwnTold:
    faults = Faults()
    asked = code_request.read(REQUEST, faults)
    assert not faults.count
    return OwnTold(
        asked.document(), input={"metadata": asked.metadata}, priority=asked.priority, labels=asked.labels
    )


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(request.param, tmp_path)


def tasks(place: Place) -> dict[str, dict[str, Any]]:
    rows = view(place, "SELECT * FROM code_task")
    found = {str(one["task_id"]): one for one in rows}
    assert len(found) == len(rows), "one row per task"
    for one in rows:
        one["metadata"] = None if one["metadata"] is None else json.loads(one["metadata"])
        for number in ("exit_code", "time_s", "cpu_s", "peak_bytes"):  # PostgreSQL's have type numeric
            one[number] = None if one[number] is None else float(one[number])
    return found


def expected(told: OwnTold, ident: str) -> dict[str, Any]:
    """The row, by the core alone."""
    task, kept_row = told.task(ident), told.row(ident)
    if task.final and task.status != "COMPLETED":
        assert failure_of(kept_row) == (task.error_type, task.error), "the row of the run says the same"
    result = task.result
    facts: dict[str, Json] = {} if result is None else result.facts
    older = result is not None and result.output == OLDER["output"]
    return {
        "task_id": ident,
        "namespace": "default",
        "language": task.language.name,
        "version": task.language.version or None,
        "status": task.status,
        "created_at": iso(task.created_at),
        "submitted_at": moment(task.submitted_at),
        "started_at": moment(task.started_at),
        "completed_at": moment(task.completed_at),
        "client": task.assigned_client or None,
        "attempts": task.attempts,
        "exit_code": None if result is None else result.exit_code,
        "output": None if result is None else result.output,
        "error": None if result is None else result.error,
        "time_s": None if result is None or older else result.execution_time_s,
        "cpu_s": facts.get("cpuS"),
        "peak_bytes": facts.get("peakBytes"),
        "exceeded": facts.get("exceeded"),
        "priority": task.priority,
        "metadata": task.metadata,
        "reason": kept_row.error or None,
    }


def moment(at: float | None) -> str | None:
    return None if at is None else iso(at)


def random_command(chance: random.Random, run: Run, at: float) -> RunCommand:
    (state,) = run.steps
    worker, ident = chance.choice(["", "w1", "w2"]), str(at)
    match chance.choice(["grant", "grant", "finish", "lose", "wake", "wake", "rare"]):
        case "grant":
            return grant("code", state.attempt, at, worker or "w3")
        case "finish":
            outcome = chance.choice(OUTCOMES)
            return finish_step("code", outcome, attempt=state.attempt, at=at, worker=worker)
        case "lose":
            seen = chance.random() < 0.5
            more = {"witnessed": seen, "deaths_max": 1} if seen else {"worker": worker}
            return lose("code", state.attempt, at, **more)
        case "wake":
            return Wake(at=at)
    rare: list[RunCommand] = [
        PauseRun(id=ident, at=at),
        ResumeRun(id=ident, at=at),
        ResumeRun(id=ident, at=at),
        ReleaseStep(id=ident, step=StepId("code"), at=at),
        CancelRun(id=ident, reason="enough", at=at),
    ]
    return chance.choice(rare)


@pytest.mark.accepts("S3.63")
def test_the_view_says_of_every_task_what_the_core_says(place: Place) -> None:
    """Random lives of tasks, looked at after each command; each look is kept as a task of its own."""
    chance = random.Random(63)
    groups: list[Group] = []
    wanted: dict[str, dict[str, Any]] = {}
    kinds: Counter[str] = Counter()
    for number in range(120):
        told, at = submitted(), 1_000.0
        for look in range(14):
            at += chance.choice(STEPS_S)
            try:
                told.tell(random_command(chance, told.run, at))
            except Refused:
                continue
            ident = f"task_{number}_{look}"
            groups.append(told.group(ident))
            wanted[ident] = expected(told, ident)
            kinds.update({type(event).__name__ for event in told.events})
            if told.run.ended is not None:
                break
    kept(place, groups)
    found = tasks(place)
    for ident, one in wanted.items():
        assert found[ident] == one, ident
    assert found.keys() == wanted.keys()
    assert {one["status"] for one in found.values()} == MOVES.keys() - {"PENDING"}, "every status came up"
    assert {"StepParked", "StepReleased", "AttemptLost", "RunPaused"} <= kinds.keys()
    assert {4} <= {one["attempts"] for one in found.values()}


def test_what_is_a_timeout_is_decided_by_the_same_words_as_in_the_core(place: Place) -> None:
    wanted: dict[str, dict[str, Any]] = {}
    groups: list[Group] = []
    for kind in (*task_fold.TIMEOUTS, "TimeoutError", "Time", "Lost"):
        told, at = submitted(), 1_000.0
        while told.run.ended is None:
            at += 100.0
            (state,) = told.run.steps
            no = Failure(kind, "step code failed: Timeout: x", retryable=False)
            told.tell(Wake(at=at), finish_step("code", no, attempt=state.attempt, at=at, worker="w1"))
        groups.append(told.group(kind))
        wanted[kind] = expected(told, kind)
    kept(place, groups)
    assert tasks(place) == wanted
    assert {kind for kind, one in wanted.items() if one["status"] == "TIMEOUT"} == task_fold.TIMEOUTS


def test_a_task_that_was_purged_is_known_by_the_row_of_its_run(place: Place) -> None:
    slow = Failure("TimeLimit", "too slow", retryable=False)
    told = submitted().tell(grant("code", at=1_001.0), finish_step("code", slow, at=1_002.0))
    kept(place, [told.group("task_1", purged=[run_key("task_1")])])
    one = tasks(place)["task_1"]
    shown = {name: value for name, value in one.items() if value is not None}
    assert shown == {
        "task_id": "task_1",
        "namespace": "default",
        "language": "python",
        "status": "TIMEOUT",
        "created_at": iso(1_000.0),
        "completed_at": iso(1_002.0),
        "attempts": 0,
        "priority": 7,
        "reason": "step code failed: TimeLimit: too slow",
    }


def test_runs_of_workflows_are_no_tasks_and_an_event_that_is_no_json_hides_no_other(place: Place) -> None:
    told = submitted()
    told.tell(finish_step("code", Success(VALUE), at=1_001.0, worker="w1"))
    bad = submitted().group("bad")
    broken = [msgspec.structs.replace(fact, body=b"{") for fact in bad.facts]
    groups = [
        told.group("task_1"),
        Group(shard=0, epoch=1, facts=broken, runs=bad.runs),
        Told().tell(start()).group("r1"),
    ]
    kept(place, groups)
    found = tasks(place)
    assert found.keys() == {"task_1", "bad"}
    assert found["task_1"] == expected(told, "task_1")
    assert (found["bad"]["language"], found["bad"]["metadata"]) == ("python", None)
    assert nodes(place, "bad") == {}


def test_one_task_is_found_by_the_key_of_its_events(place: Place) -> None:
    kept(place, [])
    question = "SELECT * FROM code_task WHERE task_id = 'task_1'"
    if place.adapter == "sqlite":
        lines = [str(found["detail"]) for found in view(place, f"EXPLAIN QUERY PLAN {question}")]
        assert not [line for line in lines if line.startswith(("SCAN e", "SCAN s", "SCAN t"))], lines
        assert sum("USING PRIMARY KEY (shard=? AND entity=?" in line for line in lines) == 4, lines
        return
    lines = [str(found["QUERY PLAN"]) for found in view(place, f"EXPLAIN {question}", by_index=True)]
    assert not [line for line in lines if "Seq Scan on events" in line], lines
    assert sum("Index Scan using events_pkey" in line for line in lines) == 4, lines


def test_the_other_views_show_tasks_with_what_their_document_says(place: Place) -> None:
    no = Failure("ExitCode", "exited with 3")
    told = submitted().tell(
        grant("code", at=1_001.0, worker="w1"),
        finish_step("code", no, at=1_002.0, worker="w1"),
        Wake(at=1_010.0),
        finish_step("code", Success(VALUE), attempt=2, at=1_011.0, worker="w2"),
    )
    kept(place, [told.group("task_1")])
    (run,) = view(place, "SELECT * FROM workflow_build_history")
    assert (run["id"], run["work_flow_id"], run["last_ver"]) == ("task_1", "windlass:task", 0)
    assert (run["instance_status"], run["wf_context"]) == ("SUCCEED", "{}")
    step = nodes(place, "task_1")["code"]
    assert (step["task_name"], step["node_type"], step["status"]) == ("code", "TASK", "SUCCEED")
    assert (step["worker_address"], step["retry_times"]) == ("w2", 1)
    assert json.loads(step["result"]) == VALUE
    attempts = view(place, "SELECT * FROM dag_node_attempt ORDER BY attempt")
    assert [(one["attempt"], one["worker_address"], one["status"], one["reason"]) for one in attempts] == [
        (1, "w1", "FAILED", "exited with 3"),
        (2, "w2", "SUCCEED", None),
    ]


@pytest.mark.parametrize("shape", ["object", "list"])
def test_steps_are_found_in_the_document_that_a_run_brought_along(shape: str, place: Place) -> None:
    steps: Any = DOCUMENT["steps"]
    as_list = {**DOCUMENT, "steps": [{"id": name, **step} for name, step in steps.items()]}
    told = OwnTold(as_list if shape == "list" else DOCUMENT).tell(finish_step("fetch", at=1_002.0))
    kept(place, [told.group("r1")], None)
    found = nodes(place, "r1")
    assert {step: one["task_name"] for step, one in found.items()} == {
        step: steps[step]["kind"] for step in found
    }
    assert {step for step, one in found.items() if one["skip_when_failed"]} == {"crunch"}
