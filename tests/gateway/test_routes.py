"""The one table of the API: whole, and fit to be described."""

import asyncio

import msgspec

from tests.gateway.house import house
from windlass.gateway.routes import EventStream, Html, Route, Text, WebSocket


def table() -> list[Route]:
    async def play() -> list[Route]:
        async with house() as home:
            answer = await home.ask("GET", "/")
            assert all(f"{route.path} " in answer.text for route in home.routes)
            return home.routes

    return asyncio.run(play())


def types(route: Route) -> list[object]:
    found = [route.body, *(part for kind in route.answers.values() for part in _parts(kind))]
    return [kind for kind in found if kind not in (None, Text, Html, EventStream, WebSocket)]


def _parts(kind: object) -> tuple[object, ...]:
    return kind if isinstance(kind, tuple) else (kind,)


def test_every_type_that_is_sent_or_answered_can_be_described() -> None:
    kinds = [kind for route in table() for kind in types(route)]
    _, components = msgspec.json.schema_components(kinds)
    assert {"Run", "Explanation", "Health", "History", "Problem"} - components.keys() <= {"Problem"}
    assert all(name[0].isupper() for name in components)


def test_no_path_is_there_twice_and_each_says_what_it_is_for() -> None:
    routes = table()
    assert len({(route.method, route.path) for route in routes}) == len(routes)
    assert all(route.summary and route.answers for route in routes)
    assert not [route.path for route in routes if set(route.answers) & set(route.errors)]
