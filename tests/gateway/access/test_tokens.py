"""Tokens: made, shown once, used, revoked; and what is said to who has none."""

from __future__ import annotations

import asyncio

import aiohttp
import msgspec
import pytest

from tests.gateway.access import LOGIN, locked
from tests.gateway.clusters import town
from tests.gateway.house import ONE_STEP, house
from tests.waiting import until_asked
from windlass.core import tokens
from windlass.core.buckets import Rate
from windlass.gateway.lock import HEADER, Bounds, Locks
from windlass.gateway.tokens import make
from windlass.journal import StoreUnknown

TOKENS, RUNS, LOGIN_PATH = "/api/v1/tokens", "/api/v1/runs", "/api/v1/login"
SLOW = {"id": "slow", "steps": {"a": {"kind": "shell", "with": {"command": "x"}}}}


def test_a_token_is_shown_once_and_only_its_hash_is_kept() -> None:
    async def play() -> None:
        async with locked() as here:
            admin = await here.token("admin")
            wanted = {"role": "submit", "namespace": "reports", "name": "ci", "expires": "1d"}
            made = await here.ask(admin, "POST", TOKENS, wanted)
            assert made.status == 201
            text, number = made.json["token"], made.json["id"]
            assert tokens.number_of(text) == number
            listed = await here.ask(admin, "GET", TOKENS)
            item = next(item for item in listed.json["items"] if item["id"] == number)
            assert (item["role"], item["namespace"], item["name"]) == ("submit", "reports", "ci")
            assert item["state"] == "valid" and item["usedAt"] is None
            secret = text.rpartition("_")[2]
            assert secret not in listed.text
            row = await here.home.node.registry.token(number)
            assert row is not None and secret not in str(row) and row.hash == tokens.digest(text)
            assert (await here.ask(text, "GET", RUNS)).status == 200
            again = await here.ask(admin, "GET", TOKENS)
            assert next(item for item in again.json["items"] if item["id"] == number)["usedAt"] is not None

    asyncio.run(play())


@pytest.mark.parametrize(
    ("wanted", "place"),
    [
        ({"role": "admin", "namespace": "reports"}, "/namespace"),
        ({"role": "read", "expires": "soon"}, "/expires"),
        ({"role": "king"}, "/role"),
        ({"role": "read", "namespace": "No Such"}, "/namespace"),
        ({}, ""),
    ],
)
def test_a_token_that_makes_no_sense_is_not_made(wanted: dict[str, str], place: str) -> None:
    async def play() -> None:
        async with locked() as here:
            answer = await here.ask(await here.token("admin"), "POST", TOKENS, wanted)
            assert answer.status == 422
            assert [fault["pointer"] for fault in answer.json["details"]] == [place]
            assert len(await here.home.node.registry.tokens()) == 1

    asyncio.run(play())


def test_a_token_that_has_expired_is_refused() -> None:
    async def play() -> None:
        async with locked() as here:
            text = await here.token("read", expires="0s")
            answer = await here.ask(text, "GET", RUNS)
            assert answer.status == 401 and "expired" in answer.json["message"]

    asyncio.run(play())


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Basic d2w6d2w=", "Bearer wl_x", "bearer " + "x" * 5_000, "wl_0123456789_"],
)
def test_what_is_no_token_is_refused_with_advice(header: str) -> None:
    async def play() -> None:
        async with locked() as here:
            answer = await here.home.ask("GET", RUNS, headers={"Authorization": header})
            assert answer.status == 401
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            assert "Authorization: Bearer" in answer.json["message"]

    asyncio.run(play())


def test_a_wrong_secret_and_an_unknown_number_are_told_apart_by_nobody() -> None:
    async def play() -> None:
        async with locked() as here:
            text = await here.token("admin")
            wrong_secret = text[:-1] + ("0" if text[-1] != "0" else "1")
            unknown = f"wl_{'Z' * 10}_{text.rpartition('_')[2]}"
            said = [(await here.ask(token, "GET", RUNS)).json["message"] for token in (wrong_secret, unknown)]
            assert said[0] == said[1]

    asyncio.run(play())


def test_a_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is wrong with it, the whole digests are compared, by the one function made for that."""
    compared: list[tuple[str, str]] = []

    def spy(a: str, b: str) -> bool:
        compared.append((a, b))
        return a == b

    monkeypatch.setattr("windlass.core.tokens.hmac.compare_digest", spy)
    assert not tokens.is_same("wl_a", None)
    assert not tokens.is_same("wl_a", tokens.digest("wl_b"))
    assert tokens.is_same("wl_a", tokens.digest("wl_a"))
    assert len(compared) == 3 and all(len(a) == len(b) == 64 for a, b in compared)


def test_a_revoked_token_is_refused_on_every_node_within_a_second() -> None:
    async def play() -> None:
        async with town("a", "b", "c", locks=LOGIN) as here:
            registry = here.homes["a"].node.registry
            _, admin = await make(registry, role="admin", by="a test", now=0.0)
            row, text = await make(registry, role="read", by="a test", now=0.0)
            shown = {"Authorization": f"Bearer {text}"}
            for home in here.homes.values():
                assert (await home.ask("GET", RUNS, headers=shown)).status == 200
            revoked = await here.homes["b"].ask(
                "DELETE", f"{TOKENS}/{row.id}", headers={"Authorization": f"Bearer {admin}"}
            )
            assert revoked.status == 200 and revoked.json["state"] == "revoked"
            assert (await here.homes["b"].ask("GET", RUNS, headers=shown)).status == 401

            async def refused() -> bool:
                answers = [await home.ask("GET", RUNS, headers=shown) for home in here.homes.values()]
                return {answer.status for answer in answers} <= {401, 429}  # 429: it has failed often

            await until_asked(refused, 1.0)

    asyncio.run(play())


def test_who_listens_is_sent_away_when_the_token_is_revoked() -> None:
    async def play() -> None:
        async with locked(work=lambda task: None) as here:
            admin, reader = await here.token("admin"), await here.token("read")
            assert (await here.ask(admin, "POST", "/api/v1/workflows", SLOW)).status == 201
            assert (
                await here.ask(admin, "POST", "/api/v1/workflows/slow/execute", {"runId": "r"})
            ).status == 200
            url = f"http://127.0.0.1:{here.home.port}{RUNS}/r/stream"
            async with here.home.session.get(url, headers={"Authorization": f"Bearer {reader}"}) as stream:
                assert stream.status == 200
                await stream.content.readuntil(b"\n\n")
                number = tokens.number_of(reader)
                assert (await here.ask(admin, "DELETE", f"{TOKENS}/{number}")).status == 200
                with pytest.raises((aiohttp.ClientError, EOFError)):
                    async with asyncio.timeout(10):
                        while await stream.content.readany():
                            pass
                        raise EOFError

    asyncio.run(play())


def test_while_the_database_is_away_nobody_is_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(id: str) -> None:
        raise StoreUnknown("the database does not answer")

    async def play() -> None:
        async with locked() as here:
            text = await here.token("admin")
            monkeypatch.setattr(here.home.node.registry, "token", away)
            answer = await here.ask(text, "GET", RUNS)
            assert answer.status == 503 and "Retry-After" in answer.headers
            assert (await here.ask(None, "GET", "/health/live")).status == 200

    asyncio.run(play())


# The page.


def test_a_page_logs_in_with_a_token_and_gets_a_cookie_that_no_script_reads() -> None:
    async def play() -> None:
        async with locked() as here:
            text = await here.token("operator")
            own = f"http://127.0.0.1:{here.home.port}"
            answer = await here.ask(None, "POST", LOGIN_PATH, {"token": text}, headers={"Origin": own})
            assert answer.status == 200 and answer.json["role"] == "operator"
            cookie = answer.headers["Set-Cookie"]
            assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie
            shown = {"Cookie": cookie.partition(";")[0]}
            assert (await here.home.ask("GET", RUNS, headers=shown)).status == 200
            me = await here.home.ask("GET", "/api/v1/whoami", headers=shown)
            assert me.json == {"login": True, "role": "operator", "namespace": "default"} | {
                "who": me.json["who"]
            }
            document = msgspec.json.encode(ONE_STEP).decode()
            json = {"Content-Type": "application/json"}
            for foreign in (
                {},
                {"Origin": "https://evil.example"},
                {"Origin": "null"},
                {"Sec-Fetch-Site": "cross-site"},
                {"Sec-Fetch-Site": "same-site"},
            ):
                forged = await here.home.ask(
                    "POST", "/api/v1/workflows", data=document, headers={**shown, **json, **foreign}
                )
                assert forged.status == 403, foreign
            ours = await here.home.ask(
                "POST", "/api/v1/workflows", data=document, headers={**shown, **json, "Origin": own}
            )
            assert ours.status == 201
            out = await here.home.ask("POST", "/api/v1/logout", headers={**shown, "Origin": own})
            assert out.status == 200 and 'windlass="";' in out.headers["Set-Cookie"]

    asyncio.run(play())


def test_a_login_that_fails_sets_no_cookie_and_is_written_down() -> None:
    async def play() -> None:
        async with locked() as here:
            answer = await here.ask(None, "POST", LOGIN_PATH, {"token": "wl_guess"})
            assert answer.status == 401 and "Set-Cookie" not in answer.headers
            admin = await here.token("admin")

            async def written() -> bool:
                page = await here.ask(admin, "GET", "/api/v1/audit?act=login&failed=true")
                return [item["outcome"] for item in page.json["items"]] == [401]

            await until_asked(written)

    asyncio.run(play())


def test_who_guesses_tokens_is_soon_told_to_wait_and_others_are_not() -> None:
    async def play() -> None:
        async with locked() as here:
            admin = await here.token("admin")
            statuses = [(await here.ask("guess", "GET", RUNS)).status for _ in range(30)]
            assert statuses[0] == 401 and statuses[-1] == 429
            assert (await here.ask(admin, "GET", RUNS)).status == 200

    asyncio.run(play())


# How often.


def test_a_token_that_asks_too_often_is_told_when_to_come_again() -> None:
    async def play() -> None:
        bounds = Bounds(per_token=Rate(per_s=0.001, burst=3))
        async with locked(Locks(login=True, bounds=bounds)) as here:
            one, other = await here.token("read"), await here.token("read")
            answers = [await here.ask(one, "GET", RUNS) for _ in range(4)]
            assert [answer.status for answer in answers] == [200, 200, 200, 429]
            assert [answer.headers["RateLimit-Remaining"] for answer in answers] == ["2", "1", "0", "0"]
            assert answers[0].headers["RateLimit-Limit"] == "3"
            assert int(answers[3].headers["Retry-After"]) > 100
            assert (await here.ask(other, "GET", RUNS)).status == 200

    asyncio.run(play())


def test_an_address_that_asks_too_often_is_told_before_its_token_is_looked_at() -> None:
    async def play() -> None:
        bounds = Bounds(per_address=Rate(per_s=0.001, burst=2))
        async with locked(Locks(login=True, bounds=bounds)) as here:
            answers = [await here.ask(None, "GET", "/health/live") for _ in range(3)]
            assert [answer.status for answer in answers] == [200, 200, 429]

    asyncio.run(play())


def test_a_namespace_and_a_token_have_only_so_many_runs_open() -> None:
    async def play() -> None:
        limits = Locks(login=True, open_runs=5, token_open_runs=2)
        async with locked(limits, work=lambda task: None) as here:
            admin = await here.token("admin")
            one, other = await here.token("operator", "team"), await here.token("operator", "team")
            assert (await here.ask(one, "POST", "/api/v1/workflows", SLOW)).status == 201
            start = "/api/v1/workflows/slow/execute"
            first = await here.ask(one, "POST", start, {"runId": "r1"})
            assert first.status == 200
            assert (await here.ask(one, "POST", start)).status == 200
            third = await here.ask(one, "POST", start)
            assert third.status == 429 and "this token may have 2 runs open" in third.json["message"]
            batch = await here.ask(other, "POST", f"{RUNS}:batch", {"runs": [{"workflow": "slow"}] * 3})
            assert batch.status == 429
            await here.ask(other, "POST", start)
            await here.ask(other, "POST", start)
            anybody = {HEADER: "team"}
            assert (await here.ask(admin, "POST", start, headers=anybody)).status == 200
            full = await here.ask(await here.token("submit", "team"), "POST", start)
            assert full.status == 429 and "namespace team may have 5 runs open" in full.json["message"]
            # Whoever ends one makes room.
            assert (await here.ask(one, "POST", f"{RUNS}/r1/cancel")).status == 200

            async def ended() -> bool:
                return bool((await here.ask(one, "GET", f"{RUNS}/r1")).json["endedAt"])

            await until_asked(ended)

            async def started() -> bool:
                return (await here.ask(one, "POST", start)).status == 200

            await until_asked(started)

    asyncio.run(play())


# Without a login.


def test_an_open_server_lets_anyone_do_anything_and_says_so() -> None:
    async def play() -> None:
        async with house() as home:
            me = (await home.ask("GET", "/api/v1/whoami")).json
            assert me == {"login": False, "who": "anyone", "role": "admin", "namespace": "*"}
            assert (await home.ask("POST", TOKENS, {"role": "read"})).status == 201
            answer = await home.ask("GET", RUNS, headers={HEADER: "team"})
            assert answer.status == 200

    asyncio.run(play())


@pytest.mark.parametrize("name", ["Team", "a b", "../x", "a" * 65, "-a", "a-", "*"])
def test_what_is_no_namespace_is_refused(name: str) -> None:
    async def play() -> None:
        async with house() as home:
            answer = await home.ask("GET", f"{RUNS}?limit=1", headers={HEADER: name})
            assert answer.status == 422 and "is no namespace" in answer.json["message"]

    asyncio.run(play())
