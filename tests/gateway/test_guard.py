"""A hostile page is played: whatever it makes a browser send, no run is started and nothing is saved."""

import asyncio

import pytest

from tests.gateway.house import ONE_STEP, house
from windlass.gateway.answers import Problem
from windlass.gateway.guard import check, is_loopback, kind_of

EXECUTE = "/api/v1/workflows/one/execute"
OWN = "{own}"  # the address of the door itself


def attack(method: str, path: str, data: str, headers: dict[str, str]) -> tuple[int, int]:
    """The status of the answer, and how many runs there are afterwards."""

    async def play() -> tuple[int, int]:
        async with house() as home:
            await home.save(ONE_STEP)
            own = f"127.0.0.1:{home.port}"
            sent = {name: value.replace(OWN, own) for name, value in headers.items()}
            answer = await home.ask(method, path, data=data, headers=sent)
            if answer.status == 403:
                assert answer.json["error"] == "Forbidden"
                assert len(answer.json["message"]) > 20
            return answer.status, len((await home.ask("GET", "/api/v1/runs")).json["items"])

    return asyncio.run(play())


JSON = {"Content-Type": "application/json"}
PLAIN = {"Content-Type": "text/plain"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({**JSON, "Origin": "https://evil.example"}, id="fetch from another site"),
        pytest.param({**PLAIN, "Origin": "https://evil.example"}, id="fetch that needs no preflight"),
        pytest.param({**FORM, "Origin": "null"}, id="form in a sandboxed frame"),
        pytest.param({**JSON, "Origin": "http://localhost:3000"}, id="page of another local server"),
        pytest.param({**JSON, "Origin": "http://127.0.0.1"}, id="page of another port"),
        pytest.param({**JSON, "Origin": "chrome-extension://{own}"}, id="origin of another scheme"),
        pytest.param({**JSON, "Host": "evil.example"}, id="name rebound by DNS"),
        pytest.param(
            {**JSON, "Host": "evil.example:8080", "Origin": "http://evil.example:8080"},
            id="page of a name rebound by DNS",
        ),
        pytest.param({**JSON, "Host": "127.0.0.1.evil.example"}, id="name that begins like ours"),
        pytest.param({**JSON, "Host": "192.168.1.7:8080"}, id="address on the network"),
        pytest.param({**JSON, "Host": "0.0.0.0:8080"}, id="the address that means any"),
        pytest.param({**JSON, "Sec-Fetch-Site": "cross-site"}, id="browser that sends no origin"),
    ],
)
def test_a_hostile_page_starts_nothing(headers: dict[str, str]) -> None:
    assert attack("POST", EXECUTE, "{}", headers) == (403, 0)


@pytest.mark.parametrize("headers", [PLAIN, FORM, {"Content-Type": "multipart/form-data; boundary=x"}])
def test_a_body_that_a_page_may_send_unasked_is_not_taken(headers: dict[str, str]) -> None:
    assert attack("POST", EXECUTE, '{"input": 1}', headers) == (415, 0)


def test_a_hostile_page_may_not_ask_first_either() -> None:
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    assert attack("OPTIONS", EXECUTE, "", headers) == (403, 0)


def test_a_hostile_page_may_not_read() -> None:
    assert attack("GET", "/api/v1/runs", "", {"Host": "evil.example"}) == (403, 0)
    assert attack("GET", "/metrics", "", {"Sec-Fetch-Site": "cross-site"}) == (403, 0)


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(JSON, id="curl"),
        pytest.param({**JSON, "Origin": "http://{own}", "Sec-Fetch-Site": "same-origin"}, id="our own page"),
        pytest.param({**JSON, "Sec-Fetch-Site": "none"}, id="typed into the address bar"),
        pytest.param({**JSON, "Host": "localhost"}, id="by name"),
        pytest.param({**JSON, "Host": "LocalHost:1", "Origin": "http://localhost:1"}, id="through a tunnel"),
        pytest.param({**JSON, "Host": "[::1]:8080"}, id="over IPv6"),
    ],
)
def test_our_own_programs_and_pages_pass(headers: dict[str, str]) -> None:
    assert attack("POST", EXECUTE, "{}", headers) == (200, 1)


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        *[
            (host, True)
            for host in ("localhost", "localhost:80", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:9")
        ],
        *[
            (host, False)
            for host in ("", ":80", "::1", "[127.0.0.1]", "[localhost]", "localhost:80:80", "[::1")
        ],
        *[
            (host, False)
            for host in ("localhost.evil.example", "127.0.0.1:x", "[::1]x", "[::1]]", "2130706433")
        ],
        *[
            (host, False)
            for host in ("128.0.0.1", "[::2]", "a@localhost", "localhost@a", "127.0.0.1 ", "127.1")
        ],
    ],
)
def test_only_loopback_is_ours(host: str, ours: bool) -> None:
    assert is_loopback(host) is ours


def test_a_probe_without_any_host_passes() -> None:
    check({})


@pytest.mark.parametrize("content_type", [None, "", "text/plain", "text/json", "application/xml"])
def test_only_json_and_yaml_are_bodies(content_type: str | None) -> None:
    with pytest.raises(Problem) as refused:
        kind_of(content_type)
    assert refused.value.status == 415
