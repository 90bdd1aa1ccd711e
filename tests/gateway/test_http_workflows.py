"""Workflows over HTTP: the shapes that v0.4 clients know, and what goes wrong."""

import asyncio
import re

import pytest

from tests.gateway.house import ONE_STEP, house
from windlass.core.task import Json

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
PATH = "/api/v1/workflows"
YAML = {"Content-Type": "application/yaml"}


def changed(value: Json) -> Json:
    return {"id": "one", "steps": {"only": {"kind": "noop", "with": {"value": value}}}}


def test_a_new_workflow_is_created_in_the_words_of_v04() -> None:
    async def play() -> None:
        async with house() as home:
            answer = await home.ask("POST", PATH, ONE_STEP)
            assert answer.status == 201
            assert answer.json == {
                "message": "Workflow created successfully",
                "workflowId": "one",
                "version": 1,
                "scheduleStatus": "Immediate task - execute manually",
            }

    asyncio.run(play())


@pytest.mark.parametrize("kind", ["application/yaml", "text/yaml", "application/x-yaml; charset=utf-8"])
def test_a_workflow_may_come_as_yaml(kind: str) -> None:
    async def play() -> None:
        async with house() as home:
            text = "id: from-yaml\nsteps:\n  hello: {kind: noop}\n"
            answer = await home.ask("POST", PATH, data=text, headers={"Content-Type": kind})
            assert (answer.status, answer.json["workflowId"]) == (201, "from-yaml")

    asyncio.run(play())


def test_creating_it_again_is_a_conflict_that_names_it() -> None:
    async def play() -> None:
        async with house() as home:
            await home.save(ONE_STEP)
            answer = await home.ask("POST", PATH, changed(1))
            assert answer.status == 409
            assert answer.json["error"] == "Workflow already exists"
            assert answer.json["workflowId"] == "one"

    asyncio.run(play())


def test_creating_it_again_under_the_same_key_is_the_same_answer() -> None:
    async def play() -> None:
        async with house() as home:
            key = {"Idempotency-Key": "once"}
            first = await home.ask("POST", PATH, ONE_STEP, headers=key)
            again = await home.ask("POST", PATH, ONE_STEP, headers=key)
            another = await home.ask("POST", PATH, changed(1), headers=key)
            assert (first.status, again.status, again.json) == (201, 201, first.json)
            assert another.status == 409

    asyncio.run(play())


def test_every_fault_of_a_document_is_told_with_its_place() -> None:
    async def play() -> None:
        async with house() as home:
            text = "id: bad\nsteps:\n  a: {kind: nop}\n  b: {kind: noop, needs: [c]}\n"
            answer = await home.ask("POST", PATH, data=text, headers=YAML)
            assert answer.status == 422
            places = [(d["pointer"], d["line"]) for d in answer.json["details"]]
            assert places == [("/steps/a/kind", 3), ("/steps/b/needs/0", 4)]
            assert answer.json["requestId"] == answer.headers["X-Request-Id"]

    asyncio.run(play())


def test_a_document_that_cannot_be_parsed_is_invalid_and_says_where() -> None:
    async def play() -> None:
        async with house() as home:
            answer = await home.ask("POST", PATH, data="id: [\n", headers=YAML)
            assert answer.status == 422
            assert answer.json["details"][0]["line"] > 0

    asyncio.run(play())


def test_a_workflow_is_read_as_it_was_written_with_its_version_and_times() -> None:
    async def play() -> None:
        async with house() as home:
            await home.save(ONE_STEP)
            answer = await home.ask("GET", f"{PATH}/one")
            assert answer.status == 200
            assert answer.json["steps"] == ONE_STEP["steps"]
            assert (answer.json["id"], answer.json["version"]) == ("one", 1)
            assert (answer.json["name"], answer.json["description"]) == ("", "")
            assert all(ISO.fullmatch(answer.json["metadata"][name]) for name in ("createdAt", "updatedAt"))
            assert (await home.ask("GET", PATH)).json == [answer.json]

    asyncio.run(play())


def test_what_was_read_can_be_sent_back_and_changes_nothing() -> None:
    async def play() -> None:
        async with house() as home:
            await home.save(ONE_STEP)
            read = (await home.ask("GET", f"{PATH}/one")).json
            answer = await home.ask("PUT", f"{PATH}/one", read)
            assert (answer.status, answer.json["changed"], answer.json["version"]) == (200, False, 1)

    asyncio.run(play())


def test_a_change_makes_the_next_version_and_the_old_one_stays_readable() -> None:
    async def play() -> None:
        async with house() as home:
            await home.save(ONE_STEP)
            document = {"steps": changed(43)["steps"]}  # the id is that of the path
            answer = await home.ask("PUT", f"{PATH}/one", document)
            assert answer.status == 200
            assert answer.json == {
                "message": "Workflow updated successfully",
                "workflowId": "one",
                "version": 2,
                "changed": True,
            }
            newest, first = (
                await home.ask("GET", f"{PATH}/one"),
                await home.ask("GET", f"{PATH}/one?version=1"),
            )
            assert newest.json["steps"]["only"]["with"] == {"value": 43}
            assert first.json["steps"] == ONE_STEP["steps"]
            missing = await home.ask("GET", f"{PATH}/one?version=3")
            assert (missing.status, missing.json["error"]) == (404, "Workflow not found")

    asyncio.run(play())


def test_a_document_of_another_id_is_a_mismatch() -> None:
    async def play() -> None:
        async with house() as home:
            await home.save(ONE_STEP)
            answer = await home.ask("PUT", f"{PATH}/one", {**ONE_STEP, "id": "two"})
            assert (answer.status, answer.json["error"]) == (400, "Workflow ID mismatch")

    asyncio.run(play())


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/nobody", None),
        ("PUT", "/nobody", {"steps": {"a": {"kind": "noop"}}}),
        ("DELETE", "/nobody", None),
        ("POST", "/nobody/execute", {}),
        ("GET", "/nobody/status", None),
        ("GET", "/no%20such%00id", None),
    ],
)
def test_an_unknown_workflow_is_not_found(method: str, path: str, body: Json) -> None:
    async def play() -> None:
        async with house() as home:
            answer = await home.ask(method, PATH + path, body)
            assert (answer.status, answer.json["error"]) == (404, "Workflow not found")
            assert "workflowId" in answer.json

    asyncio.run(play())


def test_a_deleted_workflow_is_gone_but_its_runs_stay() -> None:
    async def play() -> None:
        async with house() as home:
            await home.save(ONE_STEP)
            run = await home.execute("one")
            answer = await home.ask("DELETE", f"{PATH}/one")
            assert answer.status == 200
            assert answer.json == {"message": "Workflow deleted successfully", "workflowId": "one"}
            for method, path in [("DELETE", ""), ("GET", ""), ("POST", "/execute"), ("GET", "/status")]:
                assert (await home.ask(method, f"{PATH}/one{path}")).status == 404
            assert (await home.ask("GET", PATH)).json == []
            read = await home.ask("GET", f"/api/v1/runs/{run['runId']}")
            assert (read.status, read.json["output"]) == (200, {"only": 42})

    asyncio.run(play())


def test_a_deleted_workflow_can_be_created_again_and_its_versions_go_on() -> None:
    async def play() -> None:
        async with house() as home:
            await home.save(ONE_STEP)
            await home.ask("DELETE", f"{PATH}/one")
            answer = await home.ask("POST", PATH, ONE_STEP)
            assert (answer.status, answer.json["version"]) == (201, 2)

    asyncio.run(play())


def test_deleting_twice_under_one_key_is_the_same_answer() -> None:
    async def play() -> None:
        async with house() as home:
            await home.save(ONE_STEP)
            key = {"Idempotency-Key": "once"}
            first = await home.ask("DELETE", f"{PATH}/one", headers=key)
            again = await home.ask("DELETE", f"{PATH}/one", headers=key)
            assert (first.status, again.status) == (200, 200)

    asyncio.run(play())


@pytest.mark.accepts("S0.30")
def test_the_status_of_a_workflow_follows_its_runs() -> None:
    async def play() -> None:
        async with house() as home:
            path = f"{PATH}/slow/status"
            await home.save({"id": "slow", "steps": {"a": {"kind": "shell", "with": {"command": "x"}}}})
            idle = await home.ask("GET", path)
            assert idle.status == 200
            assert idle.json == {
                "workflowId": "slow",
                "state": "idle",
                "status": "idle",
                "executionCount": 0,
                "currentExecution": None,
                "lastExecution": None,
                "logs": [],
            }
            run = (await home.execute("slow", wait=None))["runId"]
            busy = (await home.ask("GET", path)).json
            assert (busy["status"], busy["executionCount"], busy["lastExecution"]) == ("running", 1, None)
            assert busy["currentExecution"]["executionId"] == run
            assert isinstance(busy["currentExecution"]["startTime"], int)
            assert busy["currentExecution"]["endTime"] is None
            assert [line.split("] ")[1] for line in busy["logs"]] == [
                "RunStarted",
                "StepQueued step=a attempt=1",
            ]
            await home.ask("POST", f"/api/v1/runs/{run}/cancel")
            ended = (await home.ask("GET", path)).json
            assert (ended["status"], ended["currentExecution"]) == ("failed", None)
            assert ended["lastExecution"]["executionId"] == run
            assert ended["lastExecution"]["endTime"] >= ended["lastExecution"]["startTime"]
            assert ended["logs"][-1].endswith("RunEnded status=cancelled")

    asyncio.run(play())


def test_an_old_run_still_at_work_is_found_behind_many_newer_ones() -> None:
    async def play() -> None:
        async with house() as home:
            await home.save({"id": "mixed", "steps": {"a": {"kind": "wait", "with": {"for": "0s"}}}})
            await home.ask(
                "PUT", f"{PATH}/mixed", {"steps": {"a": {"kind": "shell", "with": {"command": "x"}}}}
            )
            old = (await home.execute("mixed", wait=None))["runId"]
            for _ in range(25):
                await home.execute("mixed", {"version": 1})
            status = (await home.ask("GET", f"{PATH}/mixed/status")).json
            assert (status["state"], status["executionCount"]) == ("running", 26)
            assert status["currentExecution"]["executionId"] == old

    asyncio.run(play())


def test_a_document_of_thousands_of_steps_is_taken() -> None:
    async def play() -> None:
        async with house() as home:
            steps = {f"step-{i}": {"kind": "noop"} for i in range(5_000)}
            answer = await home.ask("POST", PATH, {"id": "wide", "steps": steps})
            assert answer.status == 201

    asyncio.run(play())
