"""Graphs over HTTP: taken, kept and given back as they were written, and told of as v0.4 did."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from tests.core.graphs import IN_THE_WILD, SQL, Document, any_graph, graph, minimal, node, scheduled
from tests.gateway import old_client as old
from tests.gateway.house import House, house
from tests.gateway.old_client import API, OldClient
from windlass.core import document
from windlass.core.task import Failure, Json, Outcome, StageReport, Success, Task
from windlass.engine.node import NodeSettings
from windlass.gateway import written


def work(task: Task) -> Outcome | None:
    """Pipelines handle 7 rows; one whose source is called `bad` fails there."""
    if task.kind != "pipeline":
        return Success(task.with_.get("value"))
    at = time.time()
    stages = task.with_["stages"]
    if stages[0]["id"] == "bad":
        broken = StageReport("bad", stages[0]["nodeType"], at, at, 3, "no such file")
        return Failure("StageFailed", "bad: no such file", retryable=False, stages=(broken,))
    return Success(stages=tuple(StageReport(each["id"], each["nodeType"], at, at, 7) for each in stages))


def play(scene: Callable[[House], Awaitable[None]], *, shards: int = 4) -> None:
    async def whole() -> None:
        settings = NodeSettings(shards=shards)
        async with house(work, offers=frozenset({"pipeline"}), settings=settings) as home:
            await scene(home)

    asyncio.run(whole())


async def ended(home: House, client: OldClient, workflow: str) -> old.Detail:
    """Of the newest execution, once it has ended."""
    while True:
        history = await client.ask("GET", f"/api/history/{workflow}", old.History)
        if history.executions and history.executions[0].status != "running":
            return history.executions[0]


@pytest.mark.parametrize("given", IN_THE_WILD.values(), ids=IN_THE_WILD.keys())
def test_a_graph_is_given_back_just_as_it_was_written(given: Document) -> None:
    async def scene(home: House) -> None:
        saved = await home.ask("POST", API, given)
        assert saved.status == 201, saved.text
        found = await home.ask("GET", f"{API}/{given['id']}")
        assert found.text == msgspec.json.encode(given).decode()
        assert found.headers["ETag"] == '"1"'
        assert (await home.ask("GET", API)).text == f"[{found.text}]"

    play(scene)


ODD = """{"zeta": 1.0, "id": "odd", "alpha": {"deep": [0.1, 1e-7, -0.0, 9007199254740993, -9223372036854775808
]}, "nodes": [{"nodeType": "noop", "id": "a", "config": {"value": "\\u00e9\\ud83d\\ude00 \\"/\\\\"},
"ns:x": {"": []}}],
"version": 3, "metadata": {"createdAt": 5, "x": null}, "name": "", "tags": "none", "description": "",
"edges": []}"""


def test_order_numbers_and_unknown_fields_stay_as_they_are() -> None:
    async def scene(home: House) -> None:
        headers = {"Content-Type": "application/json"}
        assert (await home.ask("POST", API, data=ODD, headers=headers)).status == 201
        found = await home.ask("GET", f"{API}/odd")
        assert found.text == msgspec.json.encode(msgspec.json.decode(ODD)).decode()
        assert [found.json["zeta"], type(found.json["zeta"])] == [1.0, float]
        # Whoever sends back what was read changes nothing.
        again = await home.ask("PUT", f"{API}/odd", data=found.text, headers=headers)
        assert (again.json["version"], again.json["changed"]) == (1, False)

    play(scene)


def test_a_number_may_be_the_id_of_a_workflow() -> None:
    async def scene(home: House) -> None:
        saved = await home.ask("POST", API, {**minimal(), "id": 7})
        assert (saved.status, saved.json["workflowId"]) == (201, "7")
        assert (await home.ask("GET", f"{API}/7")).json["id"] == 7
        changed = await home.ask("PUT", f"{API}/7", {**minimal(), "id": 7, "name": "other"})
        assert changed.json["version"] == 2
        assert (await home.execute("7"))["status"] == "succeeded"

    play(scene)


@pytest.mark.accepts("S0.28")
def test_a_workflow_of_v04_is_created_on_the_shard_that_its_id_says() -> None:
    async def scene(home: House) -> None:
        client = OldClient(home)
        created = await client.ask("POST", API, old.Created, 201, minimal())
        assert created == old.Created(
            "Workflow created successfully", "test-workflow", "Immediate task - execute manually"
        )
        place = (await home.ask("GET", "/api/v1/cluster/workflow/test-workflow/location")).json
        assert (place["shardId"], place["node"] is not None) == ("66", True)
        listed = (await home.ask("GET", "/api/v1/cluster/shards/66")).json
        assert "workflow/default/test-workflow" in listed["entities"]

    play(scene, shards=100)


@pytest.mark.parametrize(
    ("schedule", "told"),
    [
        ({"enabled": True, "scheduleType": "fixed_rate", "interval": "30m"}, "Scheduled: Fixed Rate: 30m"),
        ({"enabled": True, "scheduleType": "fixed_rate", "interval": "90s"}, "Scheduled: Fixed Rate: 90s"),
        ({"enabled": True, "scheduleType": "fixed_delay", "interval": "1h"}, "Scheduled: Fixed Delay: 1h"),
        (
            {"enabled": True, "scheduleType": "cron", "cronExpression": "0 2 * * *"},
            "Scheduled: Cron: 0 2 * * *",
        ),
        ({"enabled": True, "scheduleType": "immediate"}, "Scheduled: Immediate"),
        (
            {"enabled": False, "scheduleType": "cron", "cronExpression": "0 2 * * *"},
            "Immediate task - execute manually",
        ),
    ],
)
def test_whoever_creates_a_workflow_is_told_of_its_schedule(schedule: Document, told: str) -> None:
    async def scene(home: House) -> None:
        answer = await home.ask("POST", API, scheduled(**schedule))
        assert answer.json["scheduleStatus"] == told

    play(scene)


def test_what_cannot_run_yet_is_not_scheduled() -> None:
    async def scene(home: House) -> None:
        schedule = {"enabled": True, "scheduleType": "fixed_rate", "interval": "30m"}
        told = (await home.ask("POST", API, {**scheduled(**schedule), "nodes": [], "edges": []})).json
        assert told["scheduleStatus"].startswith("Schedule creation failed: 工作流没有节点")
        assert (await home.ask("GET", "/api/v1/schedules")).json["schedules"] == []
        finished = await home.ask("PUT", f"{API}/test-workflow", scheduled(**schedule))
        assert finished.status == 200
        assert (await home.ask("GET", "/api/v1/schedules")).json["schedules"] == ["test-workflow"]

    play(scene)


def test_a_document_of_steps_is_told_of_its_schedule_in_the_same_words() -> None:
    async def scene(home: House) -> None:
        for i, (schedule, told) in enumerate(
            [({"every": "90m"}, "Scheduled: Fixed Rate: 90m"), ("0 2 * * *", "Scheduled: Cron: 0 2 * * *")]
        ):
            given = {"id": f"w{i}", "steps": {"a": {"kind": "noop"}}, "schedule": schedule}
            assert (await home.ask("POST", API, given)).json["scheduleStatus"] == told

    play(scene)


@pytest.mark.accepts("S0.4", "S0.31", "S0.55")
@pytest.mark.parametrize("seed", range(8))
def test_whatever_an_old_client_asks_of_any_graph_is_answered_in_the_form_it_knows(seed: int) -> None:
    chance = random.Random(seed)
    given = any_graph(chance, f"wf_{1763216624811 + seed}")

    async def scene(home: House) -> None:
        client, name = OldClient(home), given["id"]
        one, history = f"{API}/{name}", f"/api/history/{name}"
        await client.ask("GET", f"{API}/node-types", old.NodeTypes)
        assert (await client.ask("POST", API, old.Created, 201, given)).workflow_id == name
        twice = await client.ask("POST", API, old.Refused, 409, given)
        assert (twice.error, twice.workflow_id) == ("Workflow already exists", name)
        assert await client.ask("GET", API, list[old.Workflow]) == [msgspec.convert(given, old.Workflow)]
        assert await client.ask("GET", one, old.Workflow) == msgspec.convert(given, old.Workflow)
        idle = await client.ask("GET", f"{one}/status", old.Status)
        assert (idle.state, idle.execution_count, idle.last_execution) == ("idle", 0, None)
        changed = {**given, "name": "changed"}
        told = await client.ask("PUT", one, old.Said, 200, changed)
        assert told.message == "Workflow updated successfully"
        assert (await client.ask("GET", one, old.Workflow)).name == "changed"
        mismatch = await home.ask("PUT", one, {**given, "id": "other"})
        assert (mismatch.status, mismatch.json["error"]) == (400, "Workflow ID mismatch")

        started = await client.ask("POST", f"{one}/execute", old.Started)
        assert started.execution_id.startswith("exec_")
        detail = await ended(home, client, name)
        assert (detail.execution_id, detail.status) == (started.execution_id, "completed")
        assert (detail.workflow_name, detail.duration is not None) == ("changed", True)
        assert sorted(
            (each.node_id, each.node_type, each.status, each.records_processed) for each in detail.nodes
        ) == sorted((each["id"], each["nodeType"], "completed", 7) for each in given["nodes"])
        again = await client.ask("POST", f"{one}/execute-es", old.StartedEs)
        assert (await ended(home, client, name)).execution_id == again.execution_id
        status = await client.ask("GET", f"{one}/status", old.Status)
        assert (status.state, status.execution_count) == ("completed", 2)
        (newest, oldest) = await client.ask("GET", f"{one}/executions", list[old.Listed])
        assert [newest.execution_id, oldest.execution_id] == [again.execution_id, started.execution_id]
        logs = await client.ask("GET", f"{one}/executions/{started.execution_id}/logs", old.Logs)
        assert logs.execution_id == started.execution_id
        assert (await client.ask("GET", f"{history}/status", old.HistoryStatus)).state == "completed"
        assert await client.ask("GET", f"{history}/execution/{started.execution_id}", old.Detail) == detail
        timeline = await client.ask(
            "GET", f"{history}/timeline?executionId={started.execution_id}", old.Timeline
        )
        assert timeline.nodes == detail.nodes

        assert (await client.ask("DELETE", one, old.Said)).message == "Workflow deleted successfully"
        gone = await client.ask("GET", one, old.Refused, 404)
        assert (gone.error, gone.workflow_id) == ("Workflow not found", name)
        assert await client.ask("GET", API, list[old.Workflow]) == []

    play(scene)


def test_the_list_of_node_types_has_all_that_run() -> None:
    async def scene(home: House) -> None:
        types = await OldClient(home).ask("GET", f"{API}/node-types", old.NodeTypes)
        listed = {
            name: {each.type for each in getattr(types, name)} for name in ("source", "transform", "sink")
        }
        assert listed["source"] == {
            "file.csv", "file.text", "memory.collection", "random.numbers", "sequence.numbers",
        }  # fmt: skip
        assert listed["transform"] >= {"filter", "map", "distinct", "batch", "shell"}
        assert listed["sink"] >= {"file.text", "console.log", "aggregate.count"}
        for name, names in listed.items():
            assert not [each for each in names if each.startswith(("mysql", "kafka", "sql"))]
            assert {each.category for each in getattr(types, name)} == {name}
        count = next(each for each in types.source if each.type == "random.numbers").config["count"]
        assert (count.type, count.label, count.required, count.default) == ("number", "How many", None, 100)

    play(scene)


def test_a_stage_that_failed_is_told_with_its_error() -> None:
    async def scene(home: House) -> None:
        given = graph(
            node("bad", "file.text", "source", path="x"), node("log", "console.log"), edges=["bad > log"]
        )
        await home.save(given)
        assert (await home.execute("w"))["status"] == "failed"
        detail = await ended(home, OldClient(home), "w")
        bad, log = detail.nodes
        assert (bad.node_id, bad.status, bad.error, bad.records_processed) == (
            "bad",
            "failed",
            "no such file",
            3,
        )
        assert (log.node_id, log.status, log.error) == ("log", "failed", "StageFailed: bad: no such file")
        assert detail.status == "failed"

    play(scene)


def test_while_a_pipeline_runs_its_stages_do() -> None:
    def stay(task: Task) -> Outcome | None:
        return None if task.kind == "pipeline" else Success()

    async def whole() -> None:
        async with house(stay, offers=frozenset({"pipeline"})) as home:
            await home.save(
                graph(
                    *minimal()["nodes"], node("after", "noop"), edges=["source_1 > sink_1", "sink_1 > after"]
                )
            )
            await home.execute("w", wait=None)
            task = await home.hands.taken.get()
            assert [stage["id"] for stage in task.with_["stages"]] == ["source_1", "sink_1"]
            client = OldClient(home)
            while not (history := await client.ask("GET", "/api/history/w", old.History)).executions[0].nodes:
                pass
            assert [(each.node_id, each.status, each.end_time) for each in history.executions[0].nodes] == [
                ("source_1", "running", None),
                ("sink_1", "running", None),
            ]
            status = (await home.ask("GET", "/api/history/w/status")).json["currentExecution"]
            assert (status["completedNodes"], status["totalNodes"]) == (0, 3)

    asyncio.run(whole())


def test_the_steps_of_a_graph_are_the_steps_of_its_runs() -> None:
    async def scene(home: House) -> None:
        await home.save(graph(node("a b", "noop", value=5), node("c", "noop", value=6), edges=["a b > c"]))
        run = await home.execute("w")
        assert run["output"] == {"c": 6}
        seen = (await home.ask("GET", f"/api/v1/runs/{run['runId']}")).json
        assert [(step["id"], step["needs"]) for step in seen["steps"]] == [
            ("x:a:20:b", []),
            ("c", ["x:a:20:b"]),
        ]
        detail = await ended(home, OldClient(home), "w")
        assert [each.node_id for each in detail.nodes] == ["a b", "c"]

    play(scene)


def test_a_graph_that_is_not_finished_can_be_saved_and_not_run() -> None:
    async def scene(home: House) -> None:
        for name, given, words in [
            ("empty", graph(), "工作流没有节点"),
            ("sourceless", graph(node("a", "console.log")), "工作流必须至少有一个数据源节点"),
            ("sinkless", graph(node("a", "random.numbers")), "工作流必须至少有一个输出节点"),
        ]:
            await home.save({**given, "id": name})
            refused = await home.ask("POST", f"{API}/{name}/execute")
            assert (refused.status, refused.json["error"]) == (409, "Invalid workflow state")
            assert refused.json["message"].startswith(words)
            checked = await home.ask("POST", f"{API}/validate", {**given, "id": name})
            (detail,) = checked.json["details"]
            assert (checked.status, detail["pointer"], detail["message"]) == (
                422,
                "/nodes",
                refused.json["message"],
            )
        batch = await home.ask("POST", "/api/v1/runs:batch", {"runs": [{"workflow": "empty"}]})
        assert batch.json["items"][0]["httpStatus"] == 409

    play(scene)


def test_what_needs_another_system_is_refused_with_its_place_and_what_to_do_instead() -> None:
    async def scene(home: House) -> None:
        text = msgspec.json.format(msgspec.json.encode(SQL), indent=1).decode()
        for path in (API, f"{API}/validate"):
            answer = await home.ask("POST", path, data=text, headers={"Content-Type": "application/json"})
            assert answer.status == 422
            assert [detail["pointer"] for detail in answer.json["details"]] == [
                "/nodes/1/nodeType",
                "/nodes/2/nodeType",
            ]
            for detail in answer.json["details"]:
                assert "SQL service" in detail["message"] and "python step" in detail["message"]
                assert text.splitlines()[detail["line"] - 1].strip() == '"nodeType": "sql.query",'
        assert (await home.ask("GET", API)).json == []

    play(scene)


def test_a_secret_that_is_written_wrongly_is_told_with_its_place_in_the_graph() -> None:
    async def scene(home: House) -> None:
        given = graph(node("a", "shell", command="echo {{ secrets.not one }}"))
        (detail,) = (await home.ask("POST", API, given)).json["details"]
        assert detail["pointer"] == "/nodes/0/config/command"

    play(scene)


def test_a_graph_may_be_written_as_yaml() -> None:
    async def scene(home: House) -> None:
        text = (
            "id: y\nnodes:\n- {id: 1, nodeType: noop}\n- {id: 2, nodeType: noop}\nedges: [{from: 1, to: 2}]\n"
        )
        saved = await home.ask("POST", API, data=text, headers={"Content-Type": "application/yaml"})
        assert saved.status == 201
        wrong = text.replace("to: 2", "to: 3")
        refused = await home.ask("PUT", f"{API}/y", data=wrong, headers={"Content-Type": "application/yaml"})
        (detail,) = refused.json["details"]
        assert (detail["pointer"], detail["line"]) == ("/edges/0/to", 5)

    play(scene)


def test_a_workflow_may_change_from_one_form_to_the_other_and_runs_keep_what_they_began_with() -> None:
    async def scene(home: House) -> None:
        await home.save(graph(node("a", "noop", value="graph")))
        steps: Json = {"id": "w", "steps": {"a": {"kind": "noop", "with": {"value": "steps"}}}}
        assert (await home.ask("PUT", f"{API}/w", steps)).json["version"] == 2
        assert (await home.execute("w"))["output"] == {"a": "steps"}
        assert (await home.execute("w", {"version": 1}))["output"] == {"a": "graph"}
        assert (await home.ask("GET", f"{API}/w?version=1")).json["nodes"][0]["nodeType"] == "noop"
        assert (await home.ask("GET", f"{API}/w")).json["steps"] == steps["steps"]

    play(scene)


def test_any_workflow_can_be_had_in_either_form() -> None:
    async def scene(home: House) -> None:
        steps: Json = {
            "id": "s",
            "name": "N",
            "steps": {"a": {"kind": "noop", "with": {"value": 1}}, "b": {"kind": "noop", "needs": ["a"]}},
            "deadline": "1h",
            "schedule": "0 2 * * *",
        }
        await home.save(steps)
        await home.save(minimal())
        drawn = (await home.ask("GET", f"{API}/s?form=graph")).json
        strict = msgspec.convert(drawn, old.Workflow)
        assert [(each.source, each.target) for each in strict.edges] == [("a", "b")]
        assert strict.metadata.schedule == old.Schedule(True, "cron", cron_expression="0 2 * * *")
        # It means the same, so that it can be saved in place of the other.
        assert (await home.ask("PUT", f"{API}/s", drawn)).json["version"] == 2
        again = (await home.ask("GET", f"{API}/s?form=steps")).json
        assert (again["deadline"], again["version"]) == ("1h", 2)
        assert document.read(written.as_written(again)) == document.read(steps)
        assert (await home.ask("GET", f"{API}/test-workflow?form=graph")).json == minimal()
        meant = (await home.ask("GET", f"{API}/test-workflow?form=steps")).json
        assert [step["kind"] for step in meant["steps"]] == ["pipeline"]
        listed = (await home.ask("GET", f"{API}?form=graph")).json
        assert sorted(each.id for each in msgspec.convert(listed, list[old.Workflow])) == [
            "s",
            "test-workflow",
        ]
        await home.save({**graph(), "id": "empty"})
        assert (await home.ask("GET", f"{API}/empty?form=steps")).json["steps"] == {}
        assert (await home.ask("GET", f"{API}/s?form=xml")).status == 422

    play(scene)
