"""The description of the API: whole, sound, the same each time, and open to people and programs."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence

import pytest
import schemathesis

import windlass
from tests.gateway.house import House, house
from windlass.core.task import Json
from windlass.gateway import openapi
from windlass.gateway.routes import Route

PATH = "/api/v1/openapi.json"


def play(scene: Callable[[House], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with house() as home:
            await scene(home)

    asyncio.run(whole())


def references(part: Json) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for inner in part.values():
            yield from references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from references(inner)


def operations(description: Json) -> dict[tuple[str, str], Json]:
    return {
        (method.upper(), path): operation
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    }


def test_every_path_is_described_under_a_name_of_its_own() -> None:
    async def scene(home: House) -> None:
        description = (await home.ask("GET", PATH)).json
        described = operations(description)
        assert described.keys() == {(route.method, route.path) for route in home.routes}
        names = [operation["operationId"] for operation in described.values()]
        assert len(set(names)) == len(names)
        assert all(re.fullmatch("[a-z]+[A-Za-z]+", name) for name in names)
        assert {operation["tags"][0] for operation in described.values()} == set(openapi.AREAS)
        assert description["info"]["version"] == windlass.__version__
        assert description["servers"] == [{"url": "/"}]
        assert (await home.ask("GET", "/openapi.json")).json == description
        assert openapi.describe(home.routes, windlass.__version__) == description

    play(scene)


def test_it_is_made_when_somebody_asks_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ordinary, made = openapi.describe, list[str]()

    def counted(routes: Sequence[Route], version: str) -> dict[str, Json]:
        made.append(version)
        return ordinary(routes, version)

    monkeypatch.setattr(openapi, "describe", counted)

    async def scene(home: House) -> None:
        assert made == []
        answers = [await home.ask("GET", path) for path in (PATH, "/openapi.json", PATH)]
        assert len(made) == 1 and len({answer.text for answer in answers}) == 1

    play(scene)


def test_whatever_is_referred_to_is_there_and_whatever_is_there_is_referred_to() -> None:
    async def scene(home: House) -> None:
        description = (await home.ask("GET", PATH)).json
        found = set(references(description))
        parts = {
            f"#/components/{kind}/{name}"
            for kind, named in description["components"].items()
            if kind != "securitySchemes"  # these are named without a path
            for name in named
        }
        assert found == parts

    play(scene)


def test_the_description_is_sound() -> None:
    async def scene(home: House) -> None:
        schema = schemathesis.openapi.from_dict((await home.ask("GET", PATH)).json)
        schema.validate()
        assert len(list(schema.get_all_operations())) == len(home.routes)

    play(scene)


def test_parameters_are_described_as_the_door_takes_them() -> None:
    async def scene(home: House) -> None:
        described = operations((await home.ask("GET", PATH)).json)
        found = described["GET", "/api/v1/runs"]["parameters"]
        schemas = {parameter["name"]: parameter["schema"] for parameter in found}
        assert schemas["limit"] == {"type": "integer", "minimum": 1, "maximum": 1000}
        assert "partial_success" in schemas["status"]["enum"]
        run = described["GET", "/api/v1/runs/{run}"]
        assert run["parameters"][0]["schema"]["pattern"] == "^[A-Za-z0-9._:-]{1,200}$"
        assert set(run["responses"]) == {"200", "401", "403", "404", "415", "429", "500", "503"}
        start = described["POST", "/api/v1/workflows/{workflow}/execute"]
        assert set(start["requestBody"]["content"]) == {"application/json", "application/yaml"}
        assert not start["requestBody"]["required"]
        assert {"422", "429", "503", "504"} <= set(start["responses"])
        stream = described["GET", "/api/v1/runs/{run}/stream"]["responses"]["200"]
        assert set(stream["content"]) == {"text/event-stream"}

    play(scene)


def test_the_page_is_all_in_itself() -> None:
    async def scene(home: House) -> None:
        answer = await home.ask("GET", "/docs")
        assert (answer.status, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert not re.findall(r"(?:https?:)?//[a-z]", answer.text)
        assert PATH in answer.text
        welcome = (await home.ask("GET", "/")).text.splitlines()
        assert welcome[0] == "Windlass runs workflows; what was done stays done."
        assert "/docs" in welcome[2] and PATH in welcome[2]

    play(scene)


def test_a_number_that_no_store_could_hold_is_refused_with_its_place() -> None:
    async def scene(home: House) -> None:
        await home.save({"id": "one", "steps": {"a": {"kind": "noop"}}})
        for body in ({"version": 2**70}, {"version": 0}, {"priority": 2**70}):
            answer = await home.ask("POST", "/api/v1/workflows/one/execute", data=str(body).replace("'", '"'),
                                    headers={"Content-Type": "application/json"})  # fmt: skip
            assert answer.status == 422
            assert answer.json["details"][-1]["pointer"] == f"/{next(iter(body))}"

    play(scene)


def test_null_is_as_good_as_nothing_in_yaml_too() -> None:
    async def scene(home: House) -> None:
        await home.save({"id": "one", "steps": {"a": {"kind": "noop"}}})
        answer = await home.ask(
            "POST",
            "/api/v1/workflows/one/execute",
            data="runId:\nversion:\n",
            headers={"Content-Type": "application/yaml"},
        )
        assert answer.status == 200

    play(scene)
