"""History in plain SQL, in the words of the older system: it says what the core says."""

import asyncio
import json
import random
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest

from tests.journal import Place, row
from windlass.core import document
from windlass.core import run as core
from windlass.core.commands import (
    CancelRun,
    FinishStep,
    GrantStep,
    LoseStep,
    PauseRun,
    ReleaseStep,
    ResumeRun,
    RunCommand,
    StartRun,
    Wake,
)
from windlass.core.errors import Refused
from windlass.core.events import RunEvent
from windlass.core.names import Attempt, SessionId, StepId, WorkerId, WorkflowId, run_key, workflow_key
from windlass.core.run_model import Run
from windlass.core.step_state import SHOWN
from windlass.core.task import Failure, Json, Outcome, Success
from windlass.core.vocabulary import INSTANCE_STATUS, RunStatus
from windlass.journal import Document, Fact, Group
from windlass.postgres import Place as Database
from windlass.postgres import connect
from windlass.postgres.connection import BY_INDEX
from windlass.wire import codec, versions

NODE_STATUS = {
    "waiting": "WAITING",
    "queued": "QUEUED",
    "running": "RUNNING",
    "succeeded": "SUCCEED",
    "failed": "FAILED",
    "skipped": "CANCELED",
    "cancelled": "CANCELED",
}
DOCUMENT: dict[str, Json] = {
    "id": "nightly",
    "max_parallel": 2,
    "steps": {
        "fetch": {"kind": "noop", "retry": {"attempts": 3, "backoff": "1s"}},
        "rest": {"kind": "wait", "with": {"for": "5s"}},
        "crunch": {"kind": "noop", "needs": ["fetch"], "on_failure": "skip"},
        "try-it": {"kind": "noop", "needs": ["fetch"], "on_failure": {"fallback": "plan.b"}, "timeout": "4s"},
        "plan.b": {"kind": "noop"},
        "frail": {"kind": "noop", "on_lost": "fail"},
        "report": {"kind": "noop", "needs": ["crunch", "try-it", "rest", "frail"]},
    },
}


class Told:
    """A run and all its events so far."""

    def __init__(self, definition: dict[str, Json] = DOCUMENT) -> None:
        self.run = Run(document.read(definition))
        self.events: list[RunEvent] = []

    def tell(self, *commands: RunCommand) -> "Told":
        for command in commands:
            self.events += core.perform(self.run, command)
        return self

    def group(self, ident: str, *, namespace: str = "default", **more: Any) -> Group:
        key = run_key(ident, namespace)
        facts = [
            Fact(key, seq, event.at, codec.name(event), *codec.write_event(event, versions.LEVEL))
            for seq, event in enumerate(self.events, start=1)
        ]
        ended_at = None if self.run.ended is None else self.run.ended.at
        known = row(
            ident,
            self.events[0].at,
            namespace=namespace,
            status=self.run.status,
            ended_at=ended_at,
            settled=ended_at is not None,
        )
        return Group(shard=0, epoch=1, facts=facts, runs=[known], **more)


def start(at: float = 0.0, **more: Any) -> StartRun:
    return StartRun(
        workflow=WorkflowId("nightly"), version=1, document_hash="d", request_hash="r", at=at, **more
    )


def grant(step: str, attempt: int = 1, at: float = 1.0, worker: str = "10.0.0.7:4000") -> GrantStep:
    return GrantStep(
        step=StepId(step), attempt=Attempt(attempt), worker=WorkerId(worker), session=SessionId("s"), at=at
    )


def lose(step: str, attempt: int = 1, at: float = 2.0, **more: Any) -> LoseStep:
    return LoseStep(step=StepId(step), attempt=Attempt(attempt), reason="its worker died", at=at, **more)


def finish(
    step: str, outcome: Outcome | None = None, *, attempt: int = 1, at: float = 2.0, worker: str = ""
) -> FinishStep:
    return FinishStep(
        step=StepId(step),
        attempt=Attempt(attempt),
        outcome=outcome or Success(),
        worker=WorkerId(worker),
        started_at=at - 0.5 if worker else 0.0,
        at=at,
    )


def written(definition: dict[str, Json], namespace: str = "default") -> Document:
    return Document(
        key=workflow_key("nightly", namespace),
        version=1,
        hash="d",
        body=codec.encode_json(definition),
        at=0.0,
        created_at=0.0,
    )


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(request.param, tmp_path)


def kept(place: Place, groups: Iterable[Group], definition: dict[str, Json] | None = DOCUMENT) -> None:
    """Keep these groups in the journal, and the workflow's document in another shard."""

    async def keep() -> None:
        store = await place.open()
        await store.claim([0, 1])
        documents = [written(definition)] if definition else []
        outcomes = await store.commit([Group(shard=1, epoch=1, documents=documents), *groups])
        assert all(outcomes)
        await store.close()

    asyncio.run(keep())


def view(
    place: Place, sql: str, values: Sequence[object] = (), *, by_index: bool = False
) -> list[dict[str, Any]]:
    if place.database is not None:
        return asyncio.run(view_in_postgres(place.database, sql, values, by_index))
    with closing(sqlite3.connect(place.path)) as cx:
        cx.row_factory = sqlite3.Row
        return [dict(found) for found in cx.execute(sql, values)]


async def view_in_postgres(
    place: Database, sql: str, values: Sequence[object], by_index: bool
) -> list[dict[str, Any]]:
    cx = await connect(place, application="windlass test")
    try:
        if by_index:
            await cx.execute(BY_INDEX)
        return [dict(found) for found in await cx.fetch(sql.replace("?", "$1"), *values)]
    finally:
        cx.terminate()


def nodes(place: Place, run: str) -> dict[str, dict[str, Any]]:
    rows = view(place, "SELECT * FROM dag_node_execution WHERE workflow_instance_id = ?", (run,))
    found = {str(one["node_id"]): one for one in rows}
    assert len(found) == len(rows), "one row per step"
    return found


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_a_run_in_progress_is_shown_with_its_steps(place: Place) -> None:
    told = Told().tell(
        start(context={"rows": 1}),
        grant("fetch", at=1.25),
        finish("fetch", Success(value={"n": [1, 2]}, context={"rows": 3, "by": "fetch"}), at=2.5),
        grant("crunch", at=3.0, worker="10.0.0.8:4000"),
    )
    kept(place, [told.group("r1")])

    (run,) = view(place, "SELECT * FROM workflow_build_history")
    assert json.loads(run.pop("wf_context")) == {"rows": 3, "by": "fetch"}
    assert run == {
        "id": "r1",
        "namespace": "default",
        "work_flow_id": "nightly",
        "start_time": "1970-01-01T00:00:00.000Z",
        "end_time": None,
        "instance_status": "RUNNING",
        "state": 2,
        "trigger_type": "MANUAL",
        "last_ver": 1,
    }
    found = nodes(place, "r1")
    assert {step: one["status"] for step, one in found.items()} == {
        "fetch": "SUCCEED",
        "rest": "RUNNING",
        "frail": "QUEUED",
        "crunch": "RUNNING",
    }
    assert found["fetch"] == {
        "id": "r1/fetch",
        "workflow_instance_id": "r1",
        "namespace": "default",
        "node_id": "fetch",
        "node_name": "fetch",
        "node_type": "TASK",
        "task_name": "noop",
        "status": "SUCCEED",
        "result": '{"n":[1,2]}',
        "start_time": "1970-01-01T00:00:01.250Z",
        "finished_time": "1970-01-01T00:00:02.500Z",
        "skip_when_failed": 0,
        "enable": 1,
        "retry_times": 0,
        "worker_address": "10.0.0.7:4000",
    }
    assert (found["rest"]["node_type"], found["rest"]["task_name"]) == ("CONTROL", "wait")
    assert found["crunch"]["skip_when_failed"] == 1
    assert found["crunch"]["worker_address"] == "10.0.0.8:4000"
    assert found["crunch"]["finished_time"] is None
    assert (found["frail"]["start_time"], found["frail"]["worker_address"]) == (None, None)


def test_a_worker_that_was_never_granted_the_step_is_known_by_its_result(place: Place) -> None:
    kept(place, [Told().tell(start(), finish("fetch", at=3.0, worker="w9")).group("r1")])
    fetch = nodes(place, "r1")["fetch"]
    assert (fetch["worker_address"], fetch["result"]) == ("w9", "null")
    assert (fetch["start_time"], fetch["finished_time"]) == (iso(2.5), iso(3.0))


def test_retries_are_counted_and_the_last_failure_is_the_result(place: Place) -> None:
    told = Told().tell(start())
    for attempt, at in ((1, 1.0), (2, 5.0), (3, 15.0)):
        told.tell(
            grant("fetch", attempt, at), finish("fetch", Failure("E", "no"), attempt=attempt, at=at + 1)
        )
        told.tell(Wake(at=at + 3.5))
    kept(place, [told.group("r1")])
    fetch = nodes(place, "r1")["fetch"]
    assert (fetch["status"], fetch["retry_times"]) == ("FAILED", 2)
    assert json.loads(fetch["result"])["message"] == "no"
    (run,) = view(place, "SELECT instance_status, state, end_time FROM workflow_build_history")
    assert run == {"instance_status": "FAILED", "state": -1, "end_time": iso(16.0)}


def test_a_cancelled_run_has_cancelled_its_steps(place: Place) -> None:
    told = Told().tell(start(), grant("fetch"), CancelRun(id="c", reason="enough", at=7.0))
    kept(place, [told.group("r1")])
    (run,) = view(place, "SELECT instance_status, state, end_time FROM workflow_build_history")
    assert run == {"instance_status": "STOPPED", "state": 3, "end_time": iso(7.0)}
    found = nodes(place, "r1")
    assert {one["status"] for one in found.values()} == {"CANCELED"}
    assert found["fetch"]["finished_time"] == iso(7.0)
    assert found["frail"]["finished_time"] is None, "it never began"


@pytest.mark.accepts("S2.11")
def test_the_worker_of_every_attempt_is_told_lost_ones_included(place: Place) -> None:
    told = Told().tell(
        start(),
        grant("fetch", 1, 1.0, worker="w1"),
        lose("fetch", 1, 2.0),  # by whom, the grant has told
        lose("fetch", 2, 3.0, worker="w2", witnessed=True),  # so quick that no grant was recorded
        grant("fetch", 3, 4.0, worker="w3"),
        finish("fetch", Failure("E", "no"), attempt=3, at=5.0, worker="w3"),
        Wake(at=6.0),
        grant("fetch", 4, 6.0, worker="w4"),
    )
    kept(place, [told.group("r1")])

    question = "SELECT * FROM dag_node_attempt WHERE workflow_instance_id = 'r1' ORDER BY node_id, attempt"
    rows = view(place, question)
    assert [(row["node_id"], row["attempt"], row["worker_address"], row["status"]) for row in rows] == [
        ("fetch", 1, "w1", "LOST"),
        ("fetch", 2, "w2", "LOST"),
        ("fetch", 3, "w3", "FAILED"),
        ("fetch", 4, "w4", "RUNNING"),
    ]
    assert rows[0] == {
        "id": "r1/fetch/1",
        "workflow_instance_id": "r1",
        "namespace": "default",
        "node_id": "fetch",
        "attempt": 1,
        "status": "LOST",
        "worker_address": "w1",
        "start_time": iso(1.0),
        "finished_time": iso(2.0),
        "reason": "its worker died",
    }
    assert (rows[2]["start_time"], rows[2]["finished_time"], rows[2]["reason"]) == (iso(4.5), iso(5.0), "no")
    assert (rows[3]["start_time"], rows[3]["finished_time"], rows[3]["reason"]) == (iso(6.0), None, None)
    fetch = nodes(place, "r1")["fetch"]
    assert (fetch["worker_address"], fetch["retry_times"]) == ("w4", 3)


def test_the_worker_that_lost_the_last_attempt_is_the_one_of_the_step(place: Place) -> None:
    told = Told().tell(start(), lose("fetch", worker="w2", failover=False))
    kept(place, [told.group("r1")])
    fetch = nodes(place, "r1")["fetch"]
    assert (fetch["worker_address"], fetch["status"]) == ("w2", "WAITING")


def test_what_ran_when_its_run_was_cancelled_is_told_as_cancelled(place: Place) -> None:
    told = Told().tell(start(), grant("fetch"), CancelRun(id="c", at=7.0), finish("rest", at=8.0))
    kept(place, [told.group("r1")])
    (row,) = view(place, "SELECT * FROM dag_node_attempt")
    assert (row["node_id"], row["status"], row["finished_time"]) == ("fetch", "CANCELED", iso(7.0))


CONTEXT: dict[str, Json] = {
    "text": 'it\'s "so" \\ 工 \n',
    "float": 0.1 + 0.2,
    "large": 2**60 + 1,
    "larger than SQL": 10**30,
    "yes": True,
    "no": False,
    "nothing": None,
    "list": [1, [0.30000000000000004, "x"], {}],
    "object": {"a": {"b": None}},
    "9 digits": 1e-300,
    "a.b[0].$": 1,
    'quo"ted \\ key': [1],
    "": "empty",
}


def test_the_context_is_exact_whatever_it_holds(place: Place) -> None:
    kept(place, [Told().tell(start(context=CONTEXT)).group("r1")])
    (run,) = view(place, "SELECT wf_context FROM workflow_build_history")
    assert json.loads(run["wf_context"]) == CONTEXT


def test_a_run_without_context_has_an_empty_one_and_a_purged_run_none(place: Place) -> None:
    groups = [Told().tell(start()).group("r1"), Told().tell(start()).group("r2", purged=[run_key("r2")])]
    kept(place, groups)
    found = view(place, "SELECT id, wf_context FROM workflow_build_history ORDER BY id")
    assert found == [{"id": "r1", "wf_context": "{}"}, {"id": "r2", "wf_context": None}]
    assert nodes(place, "r2") == {}


def test_every_status_has_the_word_that_the_vocabulary_gives_it(place: Place) -> None:
    rows = [row(status, status=status) for status in get_args(RunStatus)]
    kept(place, [Group(shard=0, epoch=1, runs=rows)])
    found = view(place, "SELECT id, instance_status, state FROM workflow_build_history")
    assert {one["id"]: one["instance_status"] for one in found} == INSTANCE_STATUS
    states = {"SUCCEED": 1, "PARTIAL_SUCCESS": 1, "FAILED": -1, "RUNNING": 2, "WAITING": 2, "STOPPED": 3}
    assert all(one["state"] == states[one["instance_status"]] for one in found)


def test_namespaces_have_their_own_runs_and_documents(place: Place) -> None:
    told = Told().tell(start())
    kept(place, [told.group("r"), told.group("r", namespace="other")])
    found = view(place, "SELECT namespace, task_name FROM dag_node_execution WHERE node_id = 'fetch'")
    assert sorted((one["namespace"], one["task_name"]) for one in found) == [
        ("default", "noop"),
        ("other", None),  # where nobody defined it
    ]


@pytest.mark.parametrize("shape", ["object", "list", "absent"])
def test_steps_are_found_in_documents_of_either_shape(shape: str, place: Place) -> None:
    steps: Any = DOCUMENT["steps"]
    as_list = {**DOCUMENT, "steps": [{"id": name, **step} for name, step in steps.items()]}
    definition = {"object": DOCUMENT, "list": as_list, "absent": None}[shape]
    kept(place, [Told().tell(start(), finish("fetch")).group("r1")], definition)
    found = nodes(place, "r1")
    assert found["rest"]["node_type"] == "CONTROL"
    if definition:
        assert {step: one["task_name"] for step, one in found.items()} == {
            step: steps[step]["kind"] for step in found
        }
        assert found["crunch"]["skip_when_failed"] == 1


def test_one_event_that_is_no_json_does_not_hide_the_others(place: Place) -> None:
    bad = run_key("bad")
    broken = [
        Fact(bad, n, 1.0, type, 1, b"{") for n, type in enumerate(("RunStarted", "StepQueued"), start=1)
    ]
    groups = [
        Told().tell(start(context={"a": 1})).group("r1"),
        Group(shard=0, epoch=1, facts=broken, runs=[row("bad")]),
    ]
    kept(place, groups)
    found = view(place, "SELECT id, wf_context FROM workflow_build_history ORDER BY id")
    assert found == [{"id": "bad", "wf_context": "{}"}, {"id": "r1", "wf_context": '{"a":1}'}]
    assert nodes(place, "bad") == {}
    assert "fetch" in nodes(place, "r1")


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("dag_node_execution", "workflow_instance_id"),
        ("dag_node_attempt", "workflow_instance_id"),
        ("workflow_build_history", "id"),
    ],
)
def test_the_steps_of_one_run_are_found_by_the_key_of_its_events(
    name: str, column: str, place: Place
) -> None:
    question = f"SELECT * FROM {name} WHERE {column} = 'r1'"
    if place.adapter == "sqlite":
        kept(place, [])
        lines = [str(found["detail"]) for found in view(place, f"EXPLAIN QUERY PLAN {question}")]
        assert not [line for line in lines if line.startswith(("SCAN e", "SCAN d"))], lines
        assert any("SEARCH e USING PRIMARY KEY (shard=? AND entity=?" in line for line in lines), lines
        return
    kept(place, [])
    # Of a small table it would rather read all. What cannot be found by an index is read nevertheless.
    lines = [str(found["QUERY PLAN"]) for found in view(place, f"EXPLAIN {question}", by_index=True)]
    assert not [line for line in lines if "Seq Scan on events" in line or "Seq Scan on doc" in line], lines
    assert any("Index Scan using events_pkey" in line for line in lines), lines


def random_command(chance: random.Random, run: Run, at: float) -> RunCommand:
    i = chance.randrange(len(run.steps))
    step, attempt = run.definition.steps[i].id, run.steps[i].attempt
    worker = chance.choice(["", "w1", "w2"])
    outcomes: list[Outcome] = [Success(value=at, context={step: at}), Failure("E", f"at {at}")]
    outcome = chance.choice(outcomes)
    match chance.choice(["grant", "grant", "finish", "finish", "finish", "lose", "wake", "rare"]):
        case "grant":
            return grant(step, attempt, at, worker or "w3")
        case "finish":
            return finish(step, outcome, attempt=attempt, at=at, worker=worker)
        case "lose":
            failover = chance.random() < 0.7
            return lose(step, attempt, at, worker=worker, failover=failover)
        case "wake":
            return Wake(at=at)
    rare: list[RunCommand] = [PauseRun(id=str(at), at=at), ResumeRun(id=str(at), at=at)]
    parked = [
        s.id for s, state in zip(run.definition.steps, run.steps, strict=True) if state.phase == "parked"
    ]
    release = [ReleaseStep(id=str(at), step=step, at=at) for step in parked]
    return chance.choice([*rare, *rare, *release, CancelRun(id=str(at), at=at)])


@pytest.mark.parametrize("seed", range(10))
def test_the_views_say_of_every_step_what_the_core_says(seed: int, place: Place) -> None:
    """Random runs, looked at after each command; each look is kept as a run of its own."""
    chance = random.Random(seed)
    groups: list[Group] = []
    expected: dict[tuple[str, str], tuple[object, ...]] = {}
    contexts: dict[str, dict[str, Json]] = {}
    for number in range(8):
        told = Told().tell(start(at=1_000.0, context={"number": number}))
        for moment in range(25):
            try:
                told.tell(random_command(chance, told.run, at=1_001.0 + moment))
            except Refused:
                continue
            ident = f"{number}-{moment}"
            groups.append(told.group(ident))
            contexts[ident] = told.run.context
            expected |= expected_nodes(told, ident)
    kept(place, groups)

    found = {
        (one["workflow_instance_id"], one["node_id"]): (
            one["status"],
            one["worker_address"],
            one["start_time"],
            one["finished_time"],
            None if one["result"] is None else json.loads(one["result"]),
        )
        for one in view(place, "SELECT * FROM dag_node_execution")
    }
    assert found == expected
    statuses = {status for status, *_ in found.values()}
    assert statuses == {*NODE_STATUS.values()}, "every status came up"
    shown = {
        one["id"]: json.loads(one["wf_context"])
        for one in view(place, "SELECT * FROM workflow_build_history")
    }
    assert shown == contexts


def expected_nodes(told: Told, ident: str) -> dict[tuple[str, str], tuple[object, ...]]:
    touched = {getattr(event, "step", None) for event in told.events}
    found: dict[tuple[str, str], tuple[object, ...]] = {}
    for step, state in zip(told.run.definition.steps, told.run.steps, strict=True):
        if step.id not in touched:
            continue
        result: Json = None
        if state.phase == "succeeded":
            result = state.value
        elif state.phase in ("failed", "replaced") and state.failure is not None:
            result = json.loads(codec.encode_json(state.failure))
        ended_at = state.ended_at
        if told.run.ended is not None and state.started_at and not ended_at:
            ended_at = told.run.ended.at  # it had begun, and was waiting for another attempt
        found[ident, str(step.id)] = (
            NODE_STATUS[SHOWN[state.phase]],
            state.worker or None,
            iso(state.started_at) if state.started_at else None,
            iso(ended_at) if ended_at else None,
            result,
        )
    return found
