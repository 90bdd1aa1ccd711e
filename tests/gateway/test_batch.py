"""Many runs started at once: in few commits, each on its own."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.gateway.house import ONE_STEP, House, house
from windlass.core.errors import Unknown
from windlass.core.names import run_key
from windlass.core.task import Json
from windlass.journal import Store
from windlass.journal.sqlite import SqliteStore

BATCH = "/api/v1/runs:batch"
RUNS = "/api/v1/runs"
LATER = {"id": "later", "steps": {"nap": {"kind": "wait", "with": {"for": "1h"}}}}
JSON_TYPE = {"Content-Type": "application/json"}
YAML_TYPE = {"Content-Type": "application/yaml"}


def play(scene: Callable[[House], Awaitable[None]], store: Store | None = None) -> None:
    async def whole() -> None:
        async with house(store=store) as home:
            await scene(home)

    asyncio.run(whole())


async def sent(home: House, *runs: Json) -> list[Json]:
    answer = await home.ask("POST", BATCH, {"runs": list(runs)})
    assert answer.status == 200, answer.text
    return list(answer.json["items"])


def test_each_run_is_answered_in_its_place() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        await home.save(LATER)
        body = {"workflow": "one", "input": 7, "context": {"k": 1}, "labels": {"a": "b"}, "priority": 2}
        items = await sent(home, {**body, "runId": "mine"}, {"workflow": "later"}, {"workflow": "one"})
        assert items[0] == {
            "runId": "mine",
            "executionId": "mine",
            "workflowId": "one",
            "version": 1,
            "status": "started",
        }
        assert [item["workflowId"] for item in items] == ["one", "later", "one"]
        assert items[2]["runId"].startswith("exec_")
        view = (await home.ask("GET", f"{RUNS}/mine")).json
        assert (view["input"], view["labels"], view["priority"]) == (7, {"a": "b"}, 2)
        assert len((await home.ask("GET", RUNS)).json["items"]) == 3

    play(scene)


def test_a_thousand_runs_share_a_few_commits(tmp_path: Path) -> None:
    async def whole() -> None:
        store = await SqliteStore.open(tmp_path / "journal.db")
        async with house(store=store) as home:
            await home.save(LATER)
            before = home.node.committer.tally.commits
            items = await sent(home, *[{"workflow": "later", "runId": f"r{i}"} for i in range(1_000)])
            took = home.node.committer.tally.commits - before
            assert [item["runId"] for item in items] == [f"r{i}" for i in range(1_000)]
            assert {item["status"] for item in items} == {"started"}
            assert took <= 8  # four shards, and what an unlucky moment splits
        await store.close()

    asyncio.run(whole())


def test_a_bad_run_fails_alone_and_says_why() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        await home.save(LATER)
        await home.execute("one", {"runId": "taken"})
        items = await sent(
            home,
            {"workflow": "one", "runId": "good"},
            {"workflow": "nobody", "runId": "x"},
            {"workflow": "one", "inptu": 1},
            {"input": 1},
            17,
            {"workflow": "one", "labels": {"a": 1}, "runId": "a b"},
            {"workflow": "one", "runId": "taken", "input": 2},
            {"workflow": "one", "input": {"deep": ["\0"]}},
            {"workflow": "one", "context": {"a": "x" * 300_000}},
            {"workflow": "one", "version": 9},
            {"workflow": "later"},
        )
        told = [(item.get("httpStatus"), item.get("error")) for item in items]
        assert told == [
            (None, None),
            (404, "Workflow not found"),
            (422, "Invalid request"),
            (422, "Invalid request"),
            (422, "Invalid request"),
            (422, "Invalid request"),
            (409, "Conflict"),
            (422, "Invalid request"),
            (413, "Too large"),
            (404, "Workflow not found"),
            (None, None),
        ]
        assert (items[1]["runId"], items[1]["workflowId"]) == ("x", "nobody")
        assert items[2]["details"][0]["pointer"] == "/runs/2/inptu"
        assert "did you mean `input`?" in items[2]["details"][0]["message"]
        assert "`workflow` is missing" in items[3]["details"][0]["message"]
        assert {d["pointer"] for d in items[5]["details"]} == {"/runs/5/labels/a", "/runs/5/runId"}
        assert "NUL" in items[7]["details"][0]["message"]
        ids = {item["id"] for item in (await home.ask("GET", RUNS)).json["items"]}
        assert ids == {"taken", "good", items[-1]["runId"]}

    play(scene)


def test_the_same_batch_again_starts_nothing_twice() -> None:
    async def scene(home: House) -> None:
        await home.save(LATER)
        runs = [{"workflow": "later", "runId": f"r{i % 3}", "input": i % 3} for i in range(6)]
        first = await sent(home, *runs)
        await home.ask("PUT", "/api/v1/workflows/later", {"steps": {"a": {"kind": "noop"}}})
        again = await sent(home, *[{**run, "version": 1} for run in runs])
        assert again == first
        assert len((await home.ask("GET", RUNS)).json["items"]) == 3

    play(scene)


def test_a_run_whose_outcome_is_unknown_is_told_with_its_id() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        send = home.node.router.send

        async def sometimes(key: Json, order: Json, **more: Json) -> Json:
            if key == run_key("lost"):
                raise Unknown("it may have happened")
            return await send(key, order, **more)

        home.node.router.send = sometimes  # type: ignore[method-assign]
        lost, good = await sent(home, {"workflow": "one", "runId": "lost"}, {"workflow": "one"})
        assert (lost["httpStatus"], lost["error"], lost["runId"]) == (504, "Outcome unknown", "lost")
        assert good["status"] == "started"

    play(scene)


def test_a_fault_of_ours_is_logged_and_stays_with_its_run(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(home: House) -> None:
        async def fail(*_: object, **__: object) -> None:
            raise RuntimeError("secret")

        await home.save(ONE_STEP)
        home.node.router.send = fail  # type: ignore[assignment, method-assign]
        (item,) = await sent(home, {"workflow": "one", "runId": "r"})
        assert (item["httpStatus"], item["error"]) == (500, "Internal error")
        assert "secret" not in str(item)

    play(scene)
    assert any(record.exc_info and "secret" in str(record.exc_info[1]) for record in caplog.records)


@pytest.mark.parametrize(
    ("data", "status", "words"),
    [
        (b'{"runs": {}}', 422, "expected a list of runs, found an empty object"),
        (b"{}", 422, "`runs` is missing"),
        (b'{"runs": [], "more": 1}', 422, "unknown key `more`"),
        (b"[]", 422, "expected an object"),
        (b'{"runs": [', 400, "this is no JSON"),
        (b'{"runs": [' + b"{}," * 1000 + b"{}]}", 422, "1001 runs are too many"),
    ],
)
def test_a_batch_that_is_none_is_refused_as_a_whole(data: bytes, status: int, words: str) -> None:
    async def scene(home: House) -> None:
        answer = await home.ask("POST", BATCH, data=data, headers=JSON_TYPE)
        assert answer.status == status, answer.text
        assert words in answer.json["details"][0]["message"]

    play(scene)


def test_an_empty_batch_starts_nothing() -> None:
    async def scene(home: House) -> None:
        assert await sent(home) == []

    play(scene)


def test_a_batch_may_come_as_yaml() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        text = "runs:\n- workflow: one\n  input: [1]\n- workflow: one\n  priority: high\n- one\n"
        answer = await home.ask("POST", BATCH, data=text, headers=YAML_TYPE)
        good, wrong, none = answer.json["items"]
        assert good["status"] == "started"
        assert wrong["details"][0]["pointer"] == "/runs/1/priority"
        assert none["httpStatus"] == 422

    play(scene)


def test_runs_are_found_by_when_they_started() -> None:
    async def scene(home: House) -> None:
        await home.save(LATER)
        first, second = [(await sent(home, {"workflow": "later"}))[0]["runId"] for _ in range(2)]
        rows = {item["id"]: item["startedAt"] for item in (await home.ask("GET", RUNS)).json["items"]}
        for query, found in [
            ("startedAfter=2020-01-01", {first, second}),
            ("startedAfter=2020-01-01T00:00:00Z&startedBefore=2100-01-01T00:00:00%2B01:00", {first, second}),
            ("startedBefore=2020-01-01T00:00:00+01:00", set[str]()),
            ("startedAfter=4102444800", set[str]()),
            ("startedBefore=4102444800000&workflow=later&limit=1", {second}),
            (f"startedBefore={rows[first]}", set[str]()),
        ]:
            items = (await home.ask("GET", f"{RUNS}?{query}")).json["items"]
            assert {item["id"] for item in items} == found, query

    play(scene)


@pytest.mark.parametrize("given", ["yesterday", "-1", "2026-13-01", "1e5", "99999-01-01", ""])
def test_a_time_that_is_none_is_refused(given: str) -> None:
    async def scene(home: House) -> None:
        answer = await home.ask("GET", f"{RUNS}?startedAfter={given}")
        assert answer.status == 422
        assert "expected a time such as" in answer.json["message"]

    play(scene)
