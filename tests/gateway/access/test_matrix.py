"""Every route, for every role, in its own namespace, in another one and in all: generated from the table.

A route that is added is in it without anybody's doing; one without a right cannot be made.
"""

from __future__ import annotations

import asyncio
import re

import pytest

from tests import access_table
from tests.gateway.access import Locked, locked
from tests.gateway.house import ONE_STEP
from windlass.core.names import workflow_key
from windlass.core.roles import EVERYWHERE, RIGHTS, ROLES, Role, may
from windlass.core.task import Json
from windlass.gateway.lock import HEADER
from windlass.gateway.routes import Route

OWN, OTHER = "team-a", "team-b"
BODIES: dict[str, Json] = {
    "createWorkflow": {**ONE_STEP, "id": "new"},
    "validateWorkflow": ONE_STEP,
    "updateWorkflow": ONE_STEP,
    "startRuns": {"runs": []},
    "createToken": {"role": "read"},
    "login": {"token": "none"},
    "createWebhook": {"url": "https://hooks.example/x", "on": ["failed"]},
    "putInboundHook": {"workflow": "one"},
    "setSecret": {"value": "hush, hush"},
}
# A token of an admin or a node is always of all namespaces.
HOLDERS = [
    (role, of) for role in ROLES for of in (OWN, EVERYWHERE) if role not in ("admin", "node") or of != OWN
]


def allowed(route: Route, role: Role, of: str, asked: str) -> bool:
    """The rule, once more, as somebody would say it who reads the docs."""
    if route.needs == "open":
        return of in (EVERYWHERE, asked)
    if route.spans or route.needs == "administer":
        return may(role, route.needs) and of == EVERYWHERE
    return may(role, route.needs) and of in (EVERYWHERE, asked)


def filled(route: Route) -> str:
    """A path to what does not exist: nobody is harmed by who gets in."""
    return re.sub(r"\{\w+\}", "0" if "{shard}" in route.path else "nothing", route.path)


async def status(here: Locked, token: str | None, route: Route, namespace: str) -> int:
    answer = await here.ask(
        token, route.method, filled(route), BODIES.get(route.name), headers={HEADER: namespace}
    )
    return answer.status


@pytest.mark.parametrize(("role", "of"), HOLDERS)
def test_a_token_gets_in_where_its_role_and_namespace_say_and_nowhere_else(role: Role, of: str) -> None:
    async def play() -> None:
        async with locked() as here:
            token = await here.token(role, of)
            wrong = []
            for route in here.home.routes:
                for asked in (OWN, OTHER):
                    got = await status(here, token, route, asked)
                    if (got not in (401, 403)) != allowed(route, role, of, asked):
                        wrong.append(f"{role} of {of} at {route.name} in {asked}: {got}")
            # `login` is asked for with a token that does not exist, and says so.
            # Of a hook, its own secret lets in, and nothing else.
            assert [line for line in wrong if not re.search(" (login|receiveHook) ", line)] == []

    asyncio.run(play())


def test_without_a_token_only_what_is_open_answers() -> None:
    async def play() -> None:
        async with locked() as here:
            for route in here.home.routes:
                got = await status(here, None, route, OWN)
                expected = route.needs != "open" or route.name in ("login", "receiveHook")
                # After twenty failures the address hears 429: no more is said than 401 would.
                assert (got in (401, 429)) == expected, f"{route.name}: {got}"

    asyncio.run(play())


def test_every_right_is_needed_somewhere_or_is_for_another_door() -> None:
    async def play() -> None:
        async with locked() as here:
            needed = {route.needs for route in here.home.routes}
            assert needed | {"work", "link"} == set().union(*RIGHTS.values())

    asyncio.run(play())


def test_a_route_without_a_right_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="needs"):
        Route(method="GET", path="/x", handler=None, name="x", summary="x", answers={})  # type: ignore[call-arg, arg-type]


def test_a_refusal_names_the_role_and_says_nothing_of_what_exists() -> None:
    async def play() -> None:
        async with locked() as here:
            admin, reader = await here.token("admin"), await here.token("read", OWN)
            saved = await here.ask(admin, "POST", "/api/v1/workflows", ONE_STEP, headers={HEADER: OTHER})
            assert saved.status == 201
            there = await here.ask(reader, "DELETE", "/api/v1/workflows/one", headers={HEADER: OTHER})
            nowhere = await here.ask(reader, "DELETE", "/api/v1/workflows/two", headers={HEADER: OTHER})
            assert there.status == nowhere.status == 403
            assert "role operator or admin" in there.json["message"]
            assert there.json["message"] == nowhere.json["message"]
            seen = await here.ask(reader, "GET", "/api/v1/workflows/one", headers={HEADER: OTHER})
            assert seen.status == 403 and OTHER not in seen.json["message"]
            # In its own namespace it is as if there were nothing.
            assert (await here.ask(reader, "GET", "/api/v1/workflows/one")).status == 404
            assert (await here.ask(reader, "GET", "/api/v1/workflows")).json == []

    asyncio.run(play())


def test_the_same_ids_in_two_namespaces_are_two_things() -> None:
    async def play() -> None:
        async with locked() as here:
            admin = await here.token("admin")
            one, other = await here.token("operator", OWN), await here.token("operator", OTHER)
            for token, value in ((one, 1), (other, 2)):
                document = {"id": "w", "steps": {"only": {"kind": "noop", "with": {"value": value}}}}
                assert (await here.ask(token, "POST", "/api/v1/workflows", document)).status == 201
                ran = await here.ask(
                    token, "POST", "/api/v1/workflows/w/execute?wait=10s", {"runId": "the-run"}
                )
                assert ran.json["status"] == "succeeded"
            outputs = []
            for token in (one, other):
                run = (await here.ask(token, "GET", "/api/v1/runs/the-run")).json
                outputs.append(run["steps"][0]["output"])
            assert outputs == [1, 2]
            assert (await here.ask(one, "DELETE", "/api/v1/workflows/w")).status == 200
            assert (await here.ask(other, "GET", "/api/v1/workflows/w")).status == 200
            listed = await here.ask(admin, "GET", "/api/v1/runs", headers={HEADER: OTHER})
            assert [item["id"] for item in listed.json["items"]] == ["the-run"]
            assert (await here.ask(admin, "GET", "/api/v1/runs")).json["items"] == []
            assert await here.home.node.definitions.latest(OTHER, workflow_key("w").id) is not None

    asyncio.run(play())


def test_the_docs_print_the_table_that_the_code_has() -> None:
    routes = asyncio.run(access_table.routes_of_a_node())
    text = access_table.DOCUMENT.read_text()
    assert text == access_table.document(text, routes), "python -m tests.access_table --write"
