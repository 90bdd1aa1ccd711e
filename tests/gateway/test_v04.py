"""Golden requests of v0.4 clients: played as they are written down, against a real server.

`tests/golden/v04/*.json` holds one story each: requests in order, each with the answer that is expected. In
expected answers `<iso>`, `<ms>`, `<exec>`, `<int>`, `<text>`, `<texts>` stand for any such value; `<exec:a>`
also gives it a name, and `{a}` in a later path or answer stands for it. With `until` the request is repeated
until the answer is the expected one: a run takes its time.
"""

import asyncio
import json
import re
import time
from pathlib import Path

import pytest

from tests.gateway.house import Answer, House, house
from windlass.core.task import Failure, Json, Outcome, StageReport, Success, Task

GOLDEN = Path(__file__).parents[1] / "golden" / "v04"
STORIES = sorted(GOLDEN.glob("*.json"))
PATTERNS = {
    "iso": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",
    "ms": r"1[0-9]{12}",
    "exec": r"exec_[0-9a-f]+",
    "int": r"[0-9]+",
    "text": r"(?s).+",
}
PLACEHOLDER = re.compile(r"<(\w+)(?::(\w+))?>")


def work(task: Task) -> Outcome | None:
    """What the steps of the stories do is in their documents."""
    if "fail" in task.with_.get("argv", ()):
        return Failure("ExitCode", "exited with 1", retryable=False)
    if task.kind == "pipeline":
        return Success(stages=tuple(told(stage, i) for i, stage in enumerate(task.with_["stages"])))
    return Success(task.with_.get("value")) if task.kind == "noop" else None


def told(stage: Json, i: int) -> StageReport:
    """Half of the rows come through a filter; times are those of a worker whose clock is right."""
    began = time.time()
    records = 100 if stage["type"] == "source" else 49
    return StageReport(stage["id"], stage["nodeType"], began + i / 1000, began + 0.01, records)


@pytest.mark.accepts("S0.31", "S0.55")
@pytest.mark.parametrize("path", STORIES, ids=lambda path: str(path.stem))
def test_a_golden_story_of_v04_goes_as_it_always_did(path: Path) -> None:
    story = json.loads(path.read_text())

    async def play() -> None:
        names: dict[str, str] = {}
        async with house(work, offers=frozenset({"pipeline"})) as home:
            for exchange in story:
                await replay(home, exchange, names)

    asyncio.run(play())


async def replay(home: House, exchange: Json, names: dict[str, str]) -> None:
    request, expected = exchange["request"], exchange["answer"]
    while True:
        answer = await home.ask(
            request["method"],
            named(request["path"], names),
            request.get("json"),
            data=request.get("text"),
            headers=request.get("headers"),
        )
        if not exchange.get("until") or fits(answer, expected, names):
            break
    assert fits(answer, expected, names), f"{request}: expected {expected}, got {answer.status} {answer.text}"


def fits(answer: Answer, expected: Json, names: dict[str, str]) -> bool:
    if answer.status != expected["status"]:
        return False
    if "text" in expected:
        kind = answer.headers["Content-Type"]
        return answer.text == named(expected["text"], names) and kind.startswith("text/plain")
    return alike(answer.json, expected["json"], names)


def alike(actual: Json, expected: Json, names: dict[str, str]) -> bool:
    """Whether the answer is as written: the same keys, the same values but where a placeholder stands."""
    match expected:
        case dict():
            return (
                isinstance(actual, dict)
                and actual.keys() == expected.keys()
                and all(alike(actual[key], value, names) for key, value in expected.items())
            )
        case list():
            return (
                isinstance(actual, list)
                and len(actual) == len(expected)
                and all(alike(one, other, names) for one, other in zip(actual, expected, strict=True))
            )
        case "<texts>":
            return isinstance(actual, list) and all(isinstance(one, str) for one in actual)
        case str() if (holder := PLACEHOLDER.fullmatch(expected)) is not None:
            kind, name = holder.groups()
            is_number = kind in ("ms", "int")
            if isinstance(actual, str) == is_number or not re.fullmatch(PATTERNS[kind], str(actual)):
                return False
            if name is not None:
                names[name] = str(actual)
            return True
        case str():
            return bool(actual == named(expected, names))
        case _:
            return bool(actual == expected)


def named(text: str, names: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: names[found[1]], text)


def test_every_endpoint_of_v04_has_a_golden_request() -> None:
    async def play() -> set[tuple[str, str]]:
        async with house() as home:
            return {(route.method, route.path) for route in home.routes}

    told = [exchange["request"] for path in STORIES for exchange in json.loads(path.read_text())]
    asked = {(request["method"], request["path"].partition("?")[0]) for request in told}
    wanted = [
        (method, path)
        for method, path in sorted(asyncio.run(play()))
        if path.startswith(("/api/v1/workflows", "/api/history"))
        and not path.endswith(("/validate", "/versions", "/text", "/retry-stuck"))
    ]
    missing = [
        (method, path)
        for method, path in wanted
        if not any(
            method == other and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), used) for other, used in asked
        )
    ]
    assert len(wanted) >= 14
    assert missing == []
