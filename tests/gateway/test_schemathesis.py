"""The whole API, asked by a machine that reads its description: no 5xx, nothing that is not described."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case, GenerationMode, HookContext
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.pytest.lazy import get_all_tests
from schemathesis.specs.openapi import checks

from tests.aside import aside
from tests.gateway.house import ONE_STEP, House, finish, house
from windlass.alone import lone_node
from windlass.core.needs import CODE_LIMITS, CODE_TIME, offers
from windlass.core.task import Json, Outcome, Success, Task
from windlass.engine.node import NodeSettings
from windlass.gateway import openapi
from windlass.gateway.http import make_app
from windlass.gateway.routes import ROUTES, Route
from windlass.journal.memory import MemoryStore
from windlass.journal.sqlite import SqliteStore

ASK_S = 30.0
EXAMPLES = settings(
    max_examples=25,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
    checks.unsupported_method,
]
PROGRAM = {"language": "python", "code": "print(42)"}
OFFERS = frozenset({*offers(["python"]), CODE_LIMITS, CODE_TIME})
SLOW = {"id": "slow", "steps": {"only": {"kind": "shell", "with": {"command": "sleep 1d"}}}}
# What every second request is about, unless it would be spoiled for the others. Streams end with their run.
KNOWN = {
    "workflow": "one",
    "run": "done",
    "execution": "done",
    "schedule": "yearly",
    "shard": 1,
    "task": "task_a4c3ed04a95a3da14a9d235c",
}
OTHERS = {
    "updateWorkflow": {"workflow": "changing"},
    "deleteWorkflow": {"workflow": "doomed"},
    "getRun": {"run": "going"},
    "explainRun": {"run": "going"},
    "cancelRun": {"run": "ordered"},
    "pauseRun": {"run": "ordered"},
    "resumeRun": {"run": "ordered"},
}


# What nobody offers is answered with 503, as it should be.
RUNNABLE = {"language": "python", "version": None, "protections": None, "resourceLimit": None}
CODE: dict[str, Json] = {
    "submitTask": RUNNABLE,
    "submitTaskAlias": RUNNABLE,
    "executeCode": {"language": "python"},
}


def work(task: Task) -> Outcome | None:
    return Success({"stdout": "42"}) if task.kind == "code" else finish(task)


def description() -> dict[str, Json]:
    async def made() -> dict[str, Json]:
        node = lone_node(MemoryStore(), NodeSettings(shards=1), wall=time.time, chance=random.Random(1))
        routes: list[Route] = make_app(node)[ROUTES]
        return openapi.describe(routes, "1")

    return asyncio.run(made())


DESCRIBED = description()
schema = schemathesis.openapi.from_dict(DESCRIBED)
schema.config.generation.update(modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE])


def often(value: Any) -> bool:
    """About every second time, and the same each time this is tried."""
    return len(repr(value)) % 2 == 0


def name_of(context: HookContext) -> str:
    assert context.operation is not None
    return str(context.operation.definition.raw["operationId"])


@schema.hook
def map_path_parameters(context: HookContext, value: dict[str, Any] | None) -> dict[str, Any] | None:
    if not isinstance(value, dict) or not often(value):
        return value
    known = {**KNOWN, **OTHERS.get(name_of(context), {})}
    return {part: known.get(part, given) for part, given in value.items()}


@schema.hook
def map_query(_context: HookContext, value: dict[str, Any] | None) -> dict[str, Any] | None:
    """Whoever waits for a run waits shortly."""
    return {**value, "wait": "1ms"} if isinstance(value, dict) and often(value.get("wait", "x")) else value


@schema.hook
def map_body(context: HookContext, value: Any) -> Any:
    """The runs of a batch are of a workflow that exists, and programs in a language that somebody runs."""
    name = name_of(context)
    if name in CODE and isinstance(value, dict):
        return {**value, **CODE[name]} if "language" in value else value
    if name != "startRuns" or not isinstance(value, dict):
        return value
    runs = value.get("runs")
    if not isinstance(runs, list):
        return value
    return {**value, "runs": [{**run, "workflow": "one"} if isinstance(run, dict) else run for run in runs]}


async def furnish(home: House) -> None:
    for name in ("one", "changing", "doomed"):
        await home.save({**ONE_STEP, "id": name})
    await home.save(SLOW)
    for name in ("default", "yearly"):
        await home.ask("PUT", f"/api/v1/schedules/one/{name}", {"cron": "0 0 1 1 *"})
    await home.execute("one", {"runId": "done", "labels": {"team": "blue"}})
    await home.ask("POST", "/api/v1/tasks?wait=10s", PROGRAM, headers={"Idempotency-Key": "done"})
    for run in ("going", "ordered"):
        await home.execute("slow", {"runId": run}, wait=None)


@asynccontextmanager
async def engine(journal: Path) -> AsyncIterator[str]:
    """A whole engine behind its real door, over a real journal; only its worker runs nothing for real."""
    store = await SqliteStore.open(journal)
    try:
        async with house(work, store=store, offers=OFFERS) as home:
            await furnish(home)
            yield f"http://127.0.0.1:{home.port}"
    finally:
        await store.close()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with aside(engine(tmp_path_factory.mktemp("data") / "journal.db")) as found:
        yield found


def ask(case: Case[Any], url: str) -> None:
    case.call_and_validate(base_url=url, checks=CHECKS, timeout=ASK_S)


# Not `schema.parametrize()`: it thinks up thousands of requests while tests are collected, and every process
# that runs some tests collects all. Here they are thought up when the turn of their operation comes.
@pytest.mark.parametrize(
    ("method", "path"),
    [(method.upper(), path) for path, methods in DESCRIBED["paths"].items() for method in methods],
)
def test_nothing_is_answered_that_is_not_described(method: str, path: str, url: str) -> None:
    only = schema.include(method=method, path=path)
    (found,) = get_all_tests(schema=only, test_func=ask, settings=EXAMPLES, given_kwargs=None)
    assert isinstance(found, Ok), found.err()
    operation, requests = found.ok()
    assert operation.label == f"{method} {path}"
    requests(url=url)
