"""Through a live stream nobody reads what a plain request would refuse."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator

import aiohttp
import pytest

from tests.gateway.access import LOGIN, Locked, locked
from tests.gateway.access.test_matrix import HOLDERS, OTHER, OWN
from tests.gateway.house import ONE_STEP
from tests.gateway.watching import path_to, watching
from tests.waiting import until
from windlass.core import tokens
from windlass.core.buckets import Rate
from windlass.core.roles import Role, may
from windlass.gateway import live
from windlass.gateway.live_reads import READS_MAX
from windlass.gateway.lock import HEADER, Bounds, Locks
from windlass.gateway.routes import API
from windlass.journal import StoreUnknown

RUNS, NODES, WORKERS = f"{API}/runs", f"{API}/cluster/nodes", f"{API}/workers"
NAMED = "X_Windlass_Namespace"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "BEAT_S", 0.02)


def live_paths(here: Locked) -> Iterator[list[str]]:
    """All that can be watched, as many at once as a stream takes."""
    paths = [
        re.sub(r"\{\w+\}", "0" if "{shard}" in route.path else "nothing", route.path)
        for route in here.home.routes
        if route.live
    ]
    for first in range(0, len(paths), READS_MAX):
        yield paths[first : first + READS_MAX]


@pytest.mark.parametrize("asked", [OWN, OTHER, None])
@pytest.mark.parametrize(("role", "of"), HOLDERS)
def test_every_read_is_answered_as_if_it_had_been_asked_alone(role: Role, of: str, asked: str | None) -> None:
    async def play() -> None:
        async with locked() as here:
            token = await here.token(role, of)
            headers = {} if asked is None else {HEADER: asked}
            for paths in live_paths(here):
                alone = {path: await here.ask(token, "GET", path, headers=headers) for path in paths}
                if not may(role, "see") or (asked == OTHER and of == OWN):
                    got = await here.ask(token, "GET", path_to(*paths), headers=headers)
                    assert got.status == 403
                    continue
                named = {} if asked is None else {NAMED: asked}
                async with watching(here.home, *paths, token=token, **named) as watcher:
                    heard = await watcher.first(len(paths))
                for path, answer in alone.items():
                    assert heard[path].status == answer.status, path
                    if answer.status != 200:
                        assert heard[path].body["message"] == answer.json["message"]

    asyncio.run(play())


def test_each_read_names_its_own_namespace_or_has_that_of_the_stream() -> None:
    async def play() -> None:
        async with locked() as here:
            admin, reader = await here.token("admin"), await here.token("read", OWN)
            for namespace in (OWN, OTHER):
                document, named = {**ONE_STEP, "id": f"of-{namespace}"}, {HEADER: namespace}
                saved = await here.ask(admin, "POST", f"{API}/workflows", document, headers=named)
                assert saved.status == 201
            plain, other = f"{API}/workflows", f"{API}/workflows?namespace={OTHER}"

            async def seen(token: str, more: str = "", **headers: str) -> dict[str, object]:
                async with watching(here.home, plain, other, token=token, more=more, **headers) as watcher:
                    return {
                        read: [each["id"] for each in found.body] if found.status == 200 else found.status
                        for read, found in (await watcher.first(2)).items()
                    }

            assert await seen(admin) == {plain: [], other: [f"of-{OTHER}"]}
            assert await seen(admin, f"&namespace={OWN}") == {plain: [f"of-{OWN}"], other: [f"of-{OTHER}"]}
            # A header goes before the query, as ever.
            assert await seen(admin, **{NAMED: OWN}) == {plain: [f"of-{OWN}"], other: [f"of-{OWN}"]}
            assert await seen(reader) == {plain: [f"of-{OWN}"], other: 403}
            refused = await here.ask(reader, "GET", path_to(plain) + f"&namespace={OTHER}")
            assert refused.status == 403
            assert (await here.ask(None, "GET", path_to(plain))).status == 401

    asyncio.run(play())


def test_viewers_of_two_namespaces_are_told_each_their_own() -> None:
    async def play() -> None:
        async with locked() as here:
            one, other = await here.token("operator", OWN), await here.token("operator", OTHER)
            async with (
                watching(here.home, RUNS, token=one) as mine,
                watching(here.home, RUNS, token=other) as theirs,
            ):
                await asyncio.gather(mine.first(1), theirs.first(1))
                for token, run in ((one, "mine"), (other, "theirs")):
                    assert (await here.ask(token, "POST", f"{API}/workflows", ONE_STEP)).status == 201
                    start = f"{API}/workflows/one/execute?wait=10s"
                    assert (await here.ask(token, "POST", start, {"runId": run})).status == 200
                heard = await asyncio.gather(mine.until(RUNS, 200), theirs.until(RUNS, 200))
                assert [[item["id"] for item in each.body["items"]] for each in heard] == [
                    ["mine"],
                    ["theirs"],
                ]

    asyncio.run(play())


def test_what_is_refused_does_not_end_what_is_allowed() -> None:
    async def play() -> None:
        async with locked() as here:
            reader = await here.token("read", OWN)
            async with watching(here.home, NODES, RUNS, token=reader) as watcher:
                first = await watcher.first(2)
                assert (first[NODES].status, first[RUNS].status) == (403, 200)
                assert "all namespaces" in first[NODES].body["message"]
                operator = await here.token("operator", OWN)
                assert (await here.ask(operator, "POST", f"{API}/workflows", ONE_STEP)).status == 201
                assert (await here.ask(operator, "POST", f"{API}/workflows/one/execute")).status == 200
                assert (await watcher.until(RUNS, 200)).body["items"]

    asyncio.run(play())


def test_the_stream_of_a_token_that_is_refused_by_now_ends() -> None:
    async def play() -> None:
        async with locked() as here:
            admin, reader = await here.token("admin"), await here.token("read")
            async with watching(here.home, RUNS, token=reader) as watcher:
                await watcher.first(1)
                gone = await here.ask(admin, "DELETE", f"{API}/tokens/{tokens.number_of(reader)}")
                assert gone.status == 200
                with pytest.raises((aiohttp.ClientError, EOFError)):
                    while await watcher.next() is not None:
                        pass
                    raise EOFError
            assert (await here.ask(reader, "GET", path_to(RUNS))).status == 401

    asyncio.run(play())


def test_while_nobody_can_be_let_in_that_is_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(id: str) -> None:
        raise StoreUnknown("the database does not answer")

    async def play() -> None:
        async with locked() as here:
            token = await here.token("read")
            async with watching(here.home, RUNS, token=token) as watcher:
                await watcher.first(1)
                with monkeypatch.context() as patch:
                    patch.setattr(here.home.node.registry, "token", away)
                    assert "nobody can be let in" in (await watcher.until(RUNS, 503)).body["message"]
                await watcher.until(RUNS, 200)

    asyncio.run(play())


def test_looking_again_is_no_request_that_is_counted_or_written_down() -> None:
    async def play() -> None:
        bounds = Bounds(per_token=Rate(per_s=0.001, burst=2), per_address=Rate(per_s=0.001, burst=20))
        async with locked(Locks(login=True, bounds=bounds)) as here:
            reader, admin = await here.token("read", OWN), await here.token("admin")
            async with watching(here.home, RUNS, NODES, WORKERS, token=reader) as watcher:
                await watcher.first(3)
                loop = asyncio.get_running_loop()
                end = loop.time() + 0.5
                await until(lambda: loop.time() > end)
                assert (await here.ask(reader, "GET", RUNS)).status == 200
                assert (await here.ask(reader, "GET", RUNS)).status == 429
            lines = await here.ask(admin, "GET", f"{API}/audit?failed=true")
            assert lines.status == 200 and lines.json["items"] == []

    asyncio.run(play())


def test_a_cookie_opens_it_for_our_own_page_and_for_no_other() -> None:
    async def play() -> None:
        async with locked(LOGIN) as here:
            text = await here.token("read", OWN)
            answer = await here.ask(None, "POST", f"{API}/login", {"token": text})
            cookie = answer.headers["Set-Cookie"].partition(";")[0]
            async with watching(here.home, RUNS, Cookie=cookie) as watcher:
                assert (await watcher.first(1))[RUNS].status == 200
            foreign = {"Cookie": cookie, "Origin": "https://evil.example"}
            assert (await here.home.ask("GET", path_to(RUNS), headers=foreign)).status == 403

    asyncio.run(play())
