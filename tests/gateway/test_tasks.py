"""The doors of code tasks: shapes, ids, errors, queue and cache. The worker is held by the hand."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from tests.gateway.house import Answer, House, Work, house
from tests.waiting import until_asked
from windlass.core.names import Key
from windlass.core.needs import CODE_LIMITS, CODE_TIME, offers, offers_version
from windlass.core.roles import Role
from windlass.core.task import Failure, Json, Outcome, Success, Task
from windlass.engine.node import NodeSettings
from windlass.gateway import tokens
from windlass.gateway.lock import Locks
from windlass.gateway.task_errors import CODES
from windlass.journal import RunRow, StoreBusy
from windlass.journal.memory import MemoryStore

TASKS = "/api/v1/tasks"
HELLO = {"language": "python", "code": "print('Hello, World!')"}
SEED = {
    **HELLO,
    "resourceLimit": {"timeout": "30s", "memory": "256MB", "cpu": "1.0"},
    "metadata": {"userId": "user_123", "projectId": "proj_456"},
}
VALUE: Json = {
    "stdout": "Hello, World!\n", "stderr": "", "exitCode": 0, "timeS": 1.2, "cpuS": 0.5, "peakBytes": 1000,
    "tier": "bubblewrap", "protections": {"network": True}, "language": "python", "version": "3.11.2",
}  # fmt: skip
PYTHON = frozenset(
    {*offers(["python"]), *offers_version("python", "3.11.2"), CODE_LIMITS, CODE_TIME, "sandbox:seccomp"}
)
LEGACY = frozenset(offers(["c"]))  # a client that knows of no limits
OFFERS = PYTHON | LEGACY


def says_hello(task: Task) -> Outcome | None:
    return Success(VALUE)


def goes_on(task: Task) -> Outcome | None:
    return None


def play(
    scene: Callable[[House], Awaitable[None]],
    work: Work = says_hello,
    offers: frozenset[str] = PYTHON,
    locks: Locks | None = None,
) -> None:
    async def whole() -> None:
        async with asyncio.timeout(30), house(work, offers=offers, locks=locks or Locks()) as home:
            await scene(home)

    asyncio.run(whole())


async def done(home: House, body: Json, wait: str = "?wait=10s", **headers: str) -> Json:
    answer = await home.ask("POST", f"{TASKS}{wait}", body, headers=headers)
    assert (answer.status, answer.json["code"], answer.json["message"]) == (200, 0, "success"), answer.text
    return answer.json["data"]


def is_refused(answer: Answer, code: int) -> Json:
    assert answer.status == code // 100, answer.text
    assert answer.json["code"] == code
    assert answer.json["message"] == CODES[code][0]
    assert answer.json["detail"]
    return answer.json


@pytest.mark.accepts("S3.36", "S3.53")
def test_a_task_is_taken_in_and_answered_in_the_shape_of_the_seed() -> None:
    async def scene(home: House) -> None:
        answer = await home.ask("POST", TASKS, SEED)
        assert answer.status == 200
        assert list(answer.json) == ["code", "message", "data"]
        assert (answer.json["code"], answer.json["message"]) == (0, "success")
        data = answer.json["data"]
        assert list(data)[:3] == ["taskId", "status", "estimatedTime"]
        assert re.fullmatch("task_[0-9a-f]{24}", data["taskId"])
        assert (data["status"], data["estimatedTime"], data["cached"]) == ("submitted", None, False)
        another = await home.ask("POST", "/api/tasks", SEED)
        assert another.json["data"]["taskId"] != data["taskId"]

    play(scene)


@pytest.mark.accepts("S3.40", "S3.55")
def test_a_task_is_read_in_the_shape_of_the_seed() -> None:
    async def scene(home: House) -> None:
        task = (await done(home, SEED))["taskId"]
        for root in (TASKS, "/api/tasks"):
            answer = await home.ask("GET", f"{root}/{task}")
            assert (answer.status, answer.json["code"], answer.json["message"]) == (200, 0, "success")
            data = answer.json["data"]
            assert list(data)[:6] == [
                "taskId",
                "status",
                "language",
                "result",
                "timestamps",
                "assignedClient",
            ]
            assert (data["taskId"], data["status"], data["language"]) == (task, "completed", "python")
            assert list(data["result"].items())[:4] == [
                ("output", "Hello, World!\n"),
                ("error", ""),
                ("exitCode", 0),
                ("executionTime", "1.2s"),
            ]
            assert list(data["timestamps"]) == ["createdAt", "submittedAt", "startedAt", "completedAt"]
            for moment in data["timestamps"].values():
                assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", moment)
            assert (data["assignedClient"], data["final"], data["attempts"]) == ("hands", True, 1)
            assert (data["result"]["peakMemory"], data["result"]["cpuTime"]) == (1000, "0.5s")
            assert data["metadata"] == SEED["metadata"]
            assert data["resourceLimit"] == {"timeout": "30s", "memory": "256000000B", "cpu": "1"}

    play(scene)


def test_what_it_takes_next_is_estimated_by_what_was_measured() -> None:
    async def scene(home: House) -> None:
        await done(home, HELLO)
        again = await done(home, HELLO, wait="")
        assert re.fullmatch(r"[0-9.]+s", again["estimatedTime"])

    play(scene)


def test_what_a_worker_is_given_is_what_was_asked_for() -> None:
    given: list[Task] = []

    def keep(task: Task) -> Outcome | None:
        given.append(task)
        return Success(VALUE)

    async def scene(home: House) -> None:
        await done(home, {**SEED, "stdin": "x", "version": "3.11", "priority": 7})
        (task,) = given
        assert task.with_["limits"] == {"timeout": "30s", "memory": "256MB", "cores": 1.0, "cpu": "30500ms"}
        assert (task.with_["stdin"], task.with_["version"], task.priority) == ("x", "3.11", 7)
        assert (task.kind, task.workflow, task.labels["userId"]) == ("code", "windlass:task", "user_123")

    play(scene, keep)


def test_what_would_be_an_expression_in_a_workflow_is_mere_text_in_a_program() -> None:
    given: list[Task] = []

    def keep(task: Task) -> Outcome | None:
        given.append(task)
        return Success(VALUE)

    program: Json = {
        "code": "print('${{ 1 + 1 }} ${{ inputs')",
        "stdin": "${{ 1 + 1 }} and ${{",
        "files": {"page.js": "`${{a: 1}.a}`"},
    }

    async def scene(home: House) -> None:
        await done(home, {"language": "python", **program})
        (task,) = given
        assert {key: task.with_[key] for key in program} == program

    play(scene, keep)


@pytest.mark.accepts("S3.41", "S3.54")
@pytest.mark.parametrize(
    "body",
    [
        {"language": "cobol", "code": "x"},
        {**HELLO, "version": "3.12"},
        {**HELLO, "protections": ["memory_hard"]},
        {**HELLO, "resourceLimit": {"network": True}},
    ],
)
def test_what_nobody_can_run_is_refused_with_advice_and_not_kept(body: Json) -> None:
    async def scene(home: House) -> None:
        answer = await home.ask("POST", TASKS, body)
        told = is_refused(answer, 50301)
        assert list(told)[:4] == ["code", "message", "detail", "retryAfter"]
        assert told["message"] == "No available client nodes"
        assert told["detail"].startswith("All client nodes are busy or offline")
        assert (told["retryAfter"], answer.headers["Retry-After"]) == (30, "30")
        assert (await home.ask("GET", TASKS)).json["data"]["items"] == []
        assert (await done(home, {**HELLO, "protections": ["seccomp"]}))["status"] == "completed"

    play(scene)


class Away(MemoryStore):
    """A database that answers as long as it likes."""

    away = False

    async def run(self, shard: int, key: Key) -> RunRow | None:
        if self.away:
            raise StoreBusy("the database is away")
        return await super().run(shard, key)


@pytest.mark.accepts("S3.44")
def test_without_a_client_or_a_database_nothing_is_taken_in() -> None:
    async def play() -> None:
        store, key = Away(), {"Idempotency-Key": "k"}
        async with asyncio.timeout(30), house(says_hello, store=store, offers=PYTHON) as home:
            home.node.dispatcher.dismiss(home.hands.session, "gone")
            is_refused(await home.ask("POST", TASKS, HELLO, headers=key), 50301)
            home.node.dispatcher.employ(home.hands)
            store.away = True
            told = is_refused(await home.ask("POST", TASKS, HELLO, headers=key), 50303)
            assert told["retryAfter"] >= 1
            is_refused(await home.ask("GET", f"{TASKS}/task_1"), 50303)
            store.away = False
            assert (await done(home, HELLO, **key))["status"] == "completed"

    asyncio.run(play())


def test_a_client_that_knows_of_no_limits_runs_what_asks_for_none() -> None:
    async def scene(home: House) -> None:
        plain = {"language": "c", "code": "int main(){}"}
        assert (await done(home, plain))["status"] == "completed"
        limited = await home.ask("POST", TASKS, {**plain, "resourceLimit": {"memory": "64MB"}})
        is_refused(limited, 50301)

    play(scene, offers=LEGACY)


def test_where_all_are_merely_busy_a_task_waits() -> None:
    async def scene(home: House) -> None:
        home.hands.free = 0
        home.node.dispatcher.match()
        data = await done(home, {**HELLO, "queueTimeout": "50ms"}, wait="")
        assert data["status"] == "submitted"
        ended: Json = {}

        async def is_cancelled() -> bool:
            ended.update((await home.ask("GET", f"{TASKS}/{data['taskId']}")).json["data"])
            return bool(ended["status"] == "cancelled")

        await until_asked(is_cancelled)
        assert ended["final"]
        assert ended["failure"]["message"].startswith("expired in the queue")

    play(scene)


@pytest.mark.accepts("S3.15")
def test_a_full_queue_takes_no_more_and_the_urgent_go_first() -> None:
    order: list[str] = []

    def note(task: Task) -> Outcome | None:
        order.append(task.with_["code"])
        return Success(VALUE)

    async def scene(home: House) -> None:
        home.hands.free = 0
        tasks = [
            await done(home, {**HELLO, "code": name, "priority": priority}, wait="")
            for name, priority in (("low", -5), ("usual", 0), ("high", 5))
        ]
        told = is_refused(await home.ask("POST", TASKS, HELLO), 50301)
        assert told["retryAfter"] == 30
        home.hands.free = 1_000
        home.node.dispatcher.match()
        for task in tasks:
            await until_asked(partial(_has_ended, home, task["taskId"]))
        assert order == ["high", "usual", "low"]
        assert (await done(home, HELLO))["status"] == "completed"

    play(scene, note, locks=Locks(task_queue=3))


async def _has_ended(home: House, task: str) -> bool:
    return bool((await home.ask("GET", f"{TASKS}/{task}")).json["data"]["final"])


@pytest.mark.parametrize(
    ("failure", "status", "output"),
    [
        (Failure("ExitCode", "exited with 3", retryable=False, value={"stdout": "a"}), "failed", "a"),
        (Failure("TimeLimit", "took longer", retryable=False, value={"stdout": "b"}), "timeout", "b"),
        (Failure("CompileError", "c 12: error", detail="main.c: what?", retryable=False), "failed", ""),
    ],
)
def test_how_a_program_failed_is_its_result_and_is_not_tried_again(
    failure: Failure, status: str, output: str
) -> None:
    async def scene(home: House) -> None:
        data = await done(home, HELLO)
        assert (data["status"], data["final"], data["attempts"]) == (status, True, 1)
        assert data["result"]["output"] == output
        assert data["failure"] == {"type": failure.type, "message": failure.message}
        (item,) = (await home.ask("GET", f"{TASKS}?status={status}")).json["data"]["items"]
        assert (item["taskId"], item["failure"]) == (data["taskId"], data["failure"])

    play(scene, lambda task: failure)


def test_a_task_is_cancelled_once_or_twice_but_not_after_its_end() -> None:
    async def scene(home: House) -> None:
        going = (await done(home, {**HELLO, "code": "loop"}, wait=""))["taskId"]
        await home.hands.taken.get()
        for _ in range(2):
            answer = await home.ask("DELETE", f"{TASKS}/{going}")
            assert (answer.status, answer.json["data"]["status"]) == (200, "cancelled")
        ended = (await done(home, HELLO))["taskId"]
        told = is_refused(await home.ask("DELETE", f"/api/tasks/{ended}"), 40902)
        assert "already ended" in told["detail"]
        is_refused(await home.ask("DELETE", f"{TASKS}/task_none"), 40401)

    play(scene, lambda task: None if task.with_["code"] == "loop" else Success(VALUE))


def test_who_waits_too_shortly_is_told_how_far_it_is() -> None:
    async def scene(home: House) -> None:
        data = await done(home, HELLO, wait="?wait=1ms")
        assert (data["status"] in ("submitted", "executing"), data["final"], data["result"]) == (
            True,
            False,
            None,
        )
        await home.hands.taken.get()
        waiting = asyncio.create_task(home.ask("POST", f"{TASKS}?wait=20s", HELLO))
        home.hands.finish(await home.hands.taken.get(), Success(VALUE))
        assert (await waiting).json["data"]["status"] == "completed"

    play(scene, goes_on)


def test_of_a_task_that_was_deleted_after_its_time_the_outcome_stays() -> None:
    async def play() -> None:
        settings = NodeSettings(shards=4, retention_s=0.0)
        slow = Failure("TimeLimit", "took longer than 30s", retryable=False)
        async with asyncio.timeout(30), house(lambda task: slow, settings=settings, offers=PYTHON) as home:
            before = await done(home, {**HELLO, "metadata": {"team": "blue"}})
            await home.node.purge()
            after = (await home.ask("GET", f"{TASKS}/{before['taskId']}")).json["data"]
            assert after["result"] is None
            kept = ("taskId", "status", "language", "final", "failure", "metadata", "priority")
            assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
            assert after["timestamps"]["completedAt"] == before["timestamps"]["completedAt"]

    asyncio.run(play())


def test_the_same_request_under_a_key_acts_once_and_another_is_refused() -> None:
    async def scene(home: House) -> None:
        key = {"Idempotency-Key": "k 1"}
        first = await done(home, HELLO, **key)
        home.hands.capabilities = frozenset({"noop"})  # nobody could run it now; it did run
        assert (await done(home, HELLO, **key))["taskId"] == first["taskId"]
        assert (await done(home, HELLO, wait="", **key))["status"] == "completed"
        other = await home.ask("POST", TASKS, {**HELLO, "code": "2"}, headers=key)
        is_refused(other, 40901)

    play(scene)


def test_the_same_program_is_run_once_where_its_result_may_be_older() -> None:
    runs: list[str] = []

    def count(task: Task) -> Outcome | None:
        runs.append(task.with_["code"])
        if task.with_["code"] == "broken":
            return Failure("Lost", "by the fault of a worker", retryable=False)
        if task.with_["code"] == "exits":
            return Failure("ExitCode", "exited with 1", retryable=False)
        return Success(VALUE)

    async def scene(home: House) -> None:
        first = await done(home, {**HELLO, "cache": True})
        second = await done(home, {**HELLO, "cache": True, "metadata": {"a": "b"}, "priority": 3})
        assert (first["cached"], second["cached"]) == (False, True)
        assert (first["taskId"], len(runs)) == (second["taskId"], 1)
        assert (await done(home, {**HELLO, "cache": True}, wait=""))["status"] == "completed"
        assert not (await done(home, HELLO))["cached"]
        assert not (await done(home, {**HELLO, "cache": True, "stdin": "x"}))["cached"]
        assert len(runs) == 3
        failing = [await done(home, {**HELLO, "code": "exits", "cache": "1h"}) for _ in range(2)]
        assert [each["cached"] for each in failing] == [False, True]
        broken = [await done(home, {**HELLO, "code": "broken", "cache": "1h"}) for _ in range(3)]
        assert [each["cached"] for each in broken] == [False, False, False]
        assert [each["taskId"].rpartition("_")[2] for each in broken[1:]] == ["2", "3"]

    play(scene, count)


def test_a_result_of_the_cache_is_of_one_namespace() -> None:
    async def scene(home: House) -> None:
        first = await done(home, {**HELLO, "cache": True})
        other = await done(home, {**HELLO, "cache": True}, **{"X-Windlass-Namespace": "other"})
        assert (first["cached"], other["cached"]) == (False, False)

    play(scene)


def test_tasks_are_listed_newest_first_by_status_language_label_and_time() -> None:
    async def scene(home: House) -> None:
        blue = [await done(home, {**HELLO, "metadata": {"team": "blue"}}) for _ in range(3)]
        other = await done(home, {"language": "c", "code": "x", "metadata": {"team": "blue"}})
        going = await done(home, {**HELLO, "code": "loop"}, wait="")
        await home.hands.taken.get()

        async def listed(query: str) -> list[str]:
            answer = await home.ask("GET", f"{TASKS}?{query}")
            assert answer.status == 200, answer.text
            return [item["taskId"] for item in answer.json["data"]["items"]]

        ids = [task["taskId"] for task in reversed(blue)]
        assert await listed("language=py&status=completed") == ids
        assert await listed("label=team=blue") == [other["taskId"], *ids]
        assert await listed("label=team=blue&language=python") == ids
        await until_asked(lambda: _is(home, going["taskId"], "executing"))
        assert await listed("status=executing") == [going["taskId"]]
        assert await listed("status=submitted") == []
        assert len(await listed("startedAfter=2020-01-01T00:00:00Z")) == 5
        assert await listed("startedBefore=2020-01-01T00:00:00Z") == []
        page = (await home.ask("GET", f"{TASKS}?limit=2&language=python")).json["data"]
        assert [item["taskId"] for item in page["items"]] == [going["taskId"], ids[0]]
        page = (await home.ask("GET", f"{TASKS}?limit=2&language=python&after={page['next']}")).json["data"]
        assert ([item["taskId"] for item in page["items"]], page["next"]) == (ids[1:], None)
        assert await listed(f"search={other['taskId'][:-1]}") == [other["taskId"]]
        assert await listed(f"search={other['taskId']}&language=python") == []
        assert len(await listed("search=task_")) == 5
        assert await listed("search=windlass") == []  # a part of what no task is called
        is_refused(await home.ask("GET", f"{TASKS}?status=lost"), 42201)

    play(scene, lambda task: None if task.with_["code"] == "loop" else Success(VALUE), offers=OFFERS)


async def _is(home: House, task: str, status: str) -> bool:
    return bool((await home.ask("GET", f"{TASKS}/{task}")).json["data"]["status"] == status)


def test_every_fault_of_a_request_is_told_with_its_place() -> None:
    async def scene(home: House) -> None:
        body = {"language": "Py thon", "code": "", "resourceLimit": {"timeout": "soon"}, "x": 1}
        told = is_refused(await home.ask("POST", TASKS, body), 42201)
        assert {fault["pointer"] for fault in told["errors"]} == {
            "/language",
            "/code",
            "/resourceLimit/timeout",
            "/x",
        }
        callback = {**HELLO, "cache": True, "callbackUrl": "https://example.org/x"}
        is_refused(await home.ask("POST", TASKS, callback), 42201)

    play(scene)


def test_every_error_of_these_doors_comes_in_one_envelope() -> None:
    async def scene(home: House) -> None:
        as_json = {"Content-Type": "application/json"}
        asks = [
            (40001, await home.ask("POST", TASKS, data="{", headers=as_json)),
            (40301, await home.ask("GET", TASKS, headers={"Origin": "https://evil.example"})),
            (40401, await home.ask("GET", f"{TASKS}/task_none")),
            (40401, await home.ask("GET", f"{TASKS}/task_none/stream")),
            (40402, await home.ask("GET", "/api/tasks/a/b/c")),
            (40501, await home.ask("PATCH", TASKS)),
            (41301, await home.ask("POST", TASKS, "x" * 10_000_000)),
            (41501, await home.ask("POST", TASKS, data="x", headers={"Content-Type": "text/plain"})),
            (42201, await home.ask("POST", TASKS, {})),
            (42201, await home.ask("POST", f"{TASKS}?wait=soon", HELLO)),
        ]
        for code, answer in asks:
            told = is_refused(answer, code)
            assert {"code", "message", "detail", "requestId"} <= told.keys()
        assert "Allow" in asks[5][1].headers

    play(scene)


@pytest.mark.accepts("S3.52")
def test_where_there_is_a_login_a_task_needs_a_token_with_the_right() -> None:
    async def scene(home: House) -> None:
        answer = await home.ask("POST", TASKS, SEED)
        is_refused(answer, 40101)
        assert answer.headers["WWW-Authenticate"]
        bad = await home.ask("POST", TASKS, SEED, headers={"Authorization": "Bearer nonsense"})
        is_refused(bad, 40101)
        roles: list[Role] = ["submit", "read", "operator"]
        shown = {role: await _token(home, role) for role in roles}
        for role in ("submit", "operator"):
            taken = await home.ask("POST", f"{TASKS}?wait=10s", SEED, headers=shown[role])
            assert taken.status == 200
        task = taken.json["data"]["taskId"]
        is_refused(await home.ask("POST", TASKS, SEED, headers=shown["read"]), 40301)
        is_refused(await home.ask("DELETE", f"{TASKS}/{task}", headers=shown["submit"]), 40301)
        assert (await home.ask("GET", f"{TASKS}/{task}", headers=shown["read"])).status == 200
        secret = {**HELLO, "code": "print('{{ secrets.KEY }}')"}
        told = is_refused(await home.ask("POST", TASKS, secret, headers=shown["submit"]), 40301)
        assert "secrets" in told["detail"]
        assert (await home.ask("POST", TASKS, secret, headers=shown["operator"])).status == 200

    play(scene, locks=Locks(login=True))


async def _token(home: House, role: Role) -> dict[str, str]:
    _, text = await tokens.make(
        home.node.registry, role=role, namespace="default", by="test", now=time.time()
    )
    return {"Authorization": f"Bearer {text}"}


def test_too_many_open_tasks_are_refused_in_the_same_envelope() -> None:
    async def scene(home: House) -> None:
        await done(home, HELLO, wait="")
        told = is_refused(await home.ask("POST", TASKS, HELLO), 42901)
        assert told["retryAfter"] >= 1

    play(scene, goes_on, locks=Locks(open_runs=1))


def test_no_workflow_of_a_user_has_an_id_of_ours() -> None:
    async def scene(home: House) -> None:
        document = {"id": "windlass:task", "steps": {"a": {"kind": "noop"}}}
        answer = await home.ask("POST", "/api/v1/workflows", document)
        assert (answer.status, answer.json["details"][0]["pointer"]) == (422, "/id")
        answer = await home.ask("PUT", "/api/v1/workflows/windlass:x", {"steps": {"a": {"kind": "noop"}}})
        assert answer.status == 422

    play(scene)


@pytest.mark.accepts("S3.39")
def test_metrics_count_tasks_and_their_time_by_language() -> None:
    async def scene(home: House) -> None:
        data = await done(home, HELLO)
        assert (data["status"], data["result"]["output"]) == ("completed", "Hello, World!\n")
        await done(home, {**HELLO, "code": "exits"})
        text = (await home.ask("GET", "/metrics")).text
        assert 'code_execution_total{language="python",status="completed"} 1.0' in text
        assert 'code_execution_total{language="python",status="failed"} 1.0' in text
        assert 'code_execution_duration_seconds_count{language="python"} 2.0' in text

    broken = Failure("ExitCode", "exited with 1", retryable=False, value={"timeS": 0.5})
    play(scene, lambda task: broken if task.with_["code"] == "exits" else Success(VALUE))


def test_the_documents_print_the_codes_as_they_are() -> None:
    text = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text()
    found = re.findall(r"^\| (\d{5}) \| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE)
    assert {int(code): (message, meaning) for code, message, meaning in found} == CODES
