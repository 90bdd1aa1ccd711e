"""What browsers are told with every answer, and what pages of other origins may do."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from tests.gateway.house import ONE_STEP, house
from windlass.core import origins
from windlass.gateway import headers
from windlass.gateway.cors import Cors
from windlass.gateway.lock import Locks

LISTED = "https://app.example"


def added(path: str, *, tls: bool = False, **said: str) -> dict[str, str]:
    answer = web.Response(headers={name.replace("_", "-"): value for name, value in said.items()})
    headers.add(answer, path, tls=tls)
    return dict(answer.headers)


def test_data_is_not_kept_not_framed_and_brings_nothing_to_life() -> None:
    found = added("/api/v1/runs")
    assert found["Cache-Control"] == "no-store"
    assert found["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert found["X-Content-Type-Options"] == "nosniff"
    assert found["X-Frame-Options"] == "DENY"
    assert found["Referrer-Policy"] == "no-referrer"
    assert found["Server"] == "windlass"
    assert found["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "Strict-Transport-Security" not in found


@pytest.mark.parametrize("path", ["/docs", "/api/v1/openapi.json", "/api/v1/schemas/workflow.json", "/"])
def test_what_is_the_same_for_everybody_may_be_kept(path: str) -> None:
    assert "Cache-Control" not in added(path)


def test_a_page_keeps_its_own_policy_and_is_alone_in_its_window() -> None:
    found = added("/docs", Content_Security_Policy="default-src 'self'")
    assert found["Content-Security-Policy"] == "default-src 'self'"
    assert found["Cross-Origin-Opener-Policy"] == "same-origin"


def test_what_a_handler_says_about_caching_stays() -> None:
    found = added("/api/v1/x", Cache_Control="private", ETag='"2"')
    assert (found["Cache-Control"], found["ETag"]) == ("private", '"2"')


def test_with_tls_browsers_are_told_to_stay_with_it() -> None:
    assert added("/docs", tls=True)["Strict-Transport-Security"] == "max-age=31536000"
    assert added("/api/v1/runs", tls=True)["Strict-Transport-Security"] == "max-age=31536000"


def test_other_servers_of_a_developers_machine_are_left_alone() -> None:
    async def told(host: str) -> bool:
        answer = web.Response()
        await headers.adding(tls=True)(make_mocked_request("GET", "/", {"Host": host}), answer)
        return "Strict-Transport-Security" in answer.headers

    assert not asyncio.run(told("localhost:8080"))
    assert asyncio.run(told("windlass.example:8080"))


# Pages of other origins.


def asked(origin: str | None, method: str = "GET", **said: str) -> web.Request:
    sent = {name.replace("_", "-"): value for name, value in said.items()}
    return make_mocked_request(method, "/api/v1/runs", {**sent, **({"Origin": origin} if origin else {})})


def read(cors: Cors, request: web.Request) -> dict[str, str]:
    answer = web.Response()
    cors.add(request, answer)
    headers.add(answer, request.path)
    return dict(answer.headers)


def test_by_default_no_page_of_another_origin_may_read_or_ask() -> None:
    cors = Cors()
    request = asked(LISTED, "OPTIONS", Access_Control_Request_Method="POST")
    assert cors.preflight(request) is None
    assert not [name for name in read(cors, request) if name.startswith("Access-Control")]


def test_a_listed_page_may_ask_and_read_and_never_with_cookies() -> None:
    cors = Cors([LISTED])
    answer = cors.preflight(asked(LISTED, "OPTIONS", Access_Control_Request_Method="POST"))
    assert answer is not None
    assert answer.status == 204
    assert answer.headers["Access-Control-Allow-Origin"] == LISTED
    assert "POST" in answer.headers["Access-Control-Allow-Methods"]
    assert "Authorization" in answer.headers["Access-Control-Allow-Headers"]
    found = read(cors, asked(LISTED))
    assert found["Access-Control-Allow-Origin"] == LISTED
    assert found["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert found["Vary"] == "Origin"
    assert "Access-Control-Allow-Credentials" not in {**found, **answer.headers}


@pytest.mark.parametrize(
    "origin",
    [None, "null", "https://evil.example", "http://app.example", f"{LISTED}:444", f"{LISTED}.evil.example"],
)
def test_pages_that_are_not_listed_may_not(origin: str | None) -> None:
    cors = Cors([LISTED])
    assert not cors.allows(origin)
    assert cors.preflight(asked(origin, "OPTIONS", Access_Control_Request_Method="POST")) is None
    found = read(cors, asked(origin))
    assert "Access-Control-Allow-Origin" not in found
    assert found["Vary"] == "Origin"


def test_options_without_a_question_is_no_preflight() -> None:
    assert Cors([LISTED]).preflight(asked(LISTED, "OPTIONS")) is None


@pytest.mark.parametrize(
    ("written", "origin"),
    [
        ("https://app.example", "https://app.example"),
        ("https://App.Example:443/", "https://app.example"),
        ("http://[::1]:3000", "http://[::1]:3000"),
        ("http://localhost:80", "http://localhost"),
    ],
)
def test_origins_are_read_as_browsers_send_them(written: str, origin: str) -> None:
    assert origins.read(written) == origin


@pytest.mark.parametrize(
    "written",
    ["app.example", "https://app.example/page", "null", "", "https://*.example", "ftp://a", "file://"],
)
def test_what_is_no_origin_is_refused_with_advice(written: str) -> None:
    with pytest.raises(ValueError, match="write scheme, host and port"):
        origins.read(written)


def test_every_page_in_the_world_only_where_there_is_no_login() -> None:
    assert origins.read("*") == "*"
    assert Cors(["*"]).allows("https://anything.example")
    with pytest.raises(ValueError, match="list the origins"):
        origins.read("*", login=True)


def test_at_the_door_a_listed_page_may_ask_and_read_streams_too_and_others_may_not() -> None:
    async def story() -> None:
        async with house(locks=Locks(origins=(LISTED,))) as home:
            await home.save(ONE_STEP)
            asking = {"Origin": LISTED, "Access-Control-Request-Method": "POST"}
            url = f"http://127.0.0.1:{home.port}/api/v1/workflows/one/execute"
            async with home.session.options(url, headers=asking) as answer:
                assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (204, LISTED)
            async with home.session.options(
                url, headers={**asking, "Origin": "https://evil.example"}
            ) as answer:
                assert answer.status == 403
                assert "Access-Control-Allow-Origin" not in answer.headers
            started = await home.ask("POST", "/api/v1/workflows/one/execute", {}, headers={"Origin": LISTED})
            run = started.json["runId"]
            for path in ("/api/v1/runs", f"/api/v1/runs/{run}/stream", "/api/v1/runs/nothing"):
                read = await home.ask("GET", path, headers={"Origin": LISTED})
                assert read.headers["Access-Control-Allow-Origin"] == LISTED, path
                other = await home.ask("GET", path, headers={"Origin": "https://evil.example"})
                assert other.status == 403
                assert "Access-Control-Allow-Origin" not in other.headers

    asyncio.run(story())
