"""The door of older workers: who comes in, and what becomes of those who make no sense."""

import asyncio
import json
from contextlib import suppress

import aiohttp
import pytest
from aiohttp import WSCloseCode, WSMsgType

from tests.gateway.access import Locked, locked
from tests.gateway.house import House, house
from tests.waiting import until_asked
from windlass.core.task import Json
from windlass.gateway.dialect import TEXT_BYTES_MAX
from windlass.gateway.dialect_pipe import MISTAKES_MAX

CODE = {"id": "one", "steps": {"only": {"kind": "code", "with": {"language": "python", "code": "print(42)"}}}}
Client = aiohttp.ClientWebSocketResponse


def heartbeat(client: str = "one", **more: Json) -> str:
    load = {"currentTasks": 0, "maxConcurrent": 2, "cpuUsage": 0.5, "memoryUsage": 0.25}
    said = {"type": "heartbeat", "clientId": client, "load": load, "capabilities": ["python"], **more}
    return json.dumps(said)


async def connect(home: House, path: str = "/ws/v1", token: str = "") -> Client:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return await home.session.ws_connect(
        f"http://127.0.0.1:{home.port}{path}", headers=headers, max_msg_size=0
    )


async def hear(client: Client) -> Json:
    return json.loads(await client.receive_str(timeout=10))


async def greeted(home: House, client: str = "one", token: str = "") -> Client:
    made = await connect(home, token=token)
    await made.send_str(heartbeat(client))
    told = await hear(made)
    assert told["type"] == "heartbeat_ack", told
    return made


async def given(client: Client) -> str:
    """The id of the task that it is given next."""
    told = await hear(client)
    assert told["type"] == "execute", told
    return str(told["taskId"])


async def workers(home: House) -> dict[str, Json]:
    told = (await home.ask("GET", "/api/v1/workers")).json["items"]
    return {one["id"]: one for one in told if "client" in one["program"]}


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("?weight=heavy", "weight"),
        ("?weight=1.5", "weight"),
        ("?weight=99999999999", "weight"),
        ("?weight=1&proto=smoke", "proto"),
        ("?weight=1&result=pigeon", "result"),
    ],
)
def test_a_query_that_makes_no_sense_is_refused_with_words(query: str, word: str) -> None:
    async def play() -> None:
        async with house() as home:
            answer = await home.ask("GET", f"/ws{query}", headers={"Connection": "Upgrade"})
            assert answer.status == 400
            assert word in answer.json["message"]

    asyncio.run(play())


def test_who_asks_for_no_websocket_is_told_to() -> None:
    async def play() -> None:
        async with house() as home:
            for path in ("/ws/v1", "/ws", "/ws?weight=1"):
                assert (await home.ask("GET", path)).status == 426

    asyncio.run(play())


def test_what_a_client_says_of_itself_is_what_is_known_of_it() -> None:
    async def play() -> None:
        async with house() as home:
            client = await greeted(home)
            heavy = await connect(home, "/ws?weight=7")
            light = await connect(home, "/ws?weight=-7&proto=raw")
            await until_asked(lambda: _has(home, 3))
            known = await workers(home)
            one = known.pop("one")
            assert (one["slots"], one["cpu"], one["memory"]) == (2, 0.5, 0.25)
            assert one["capabilities"] == ["code", "code/python", "code:time"]
            five = ["code", *(f"code/{name}" for name in ("golang", "python", "javascript", "java", "c"))]
            assert [other["capabilities"] for other in known.values()] == [sorted(five)] * 2
            assert sorted((other["weight"], other["slots"]) for other in known.values()) == [(1, 1), (7, 1)]
            for connection in (client, heavy, light):
                await connection.close()

    asyncio.run(play())


async def _has(home: House, count: int) -> bool:
    return len(await workers(home)) == count


def test_who_makes_no_sense_again_and_again_is_sent_away_and_nobody_else() -> None:
    async def play() -> None:
        async with house() as home:
            good, bad = await greeted(home), await connect(home)
            for _ in range(MISTAKES_MAX):
                await bad.send_str('{"type": "dance"}')
            for _ in range(MISTAKES_MAX):
                assert (await hear(bad))["type"] == "error"
            closing = await bad.receive(timeout=10)
            assert (closing.type, closing.data) == (WSMsgType.CLOSE, WSCloseCode.POLICY_VIOLATION)
            await good.send_str(heartbeat())
            assert (await hear(good))["type"] == "heartbeat_ack"
            await good.close()

    asyncio.run(play())


def test_a_mistake_now_and_then_is_forgiven() -> None:
    async def play() -> None:
        async with house() as home:
            client = await greeted(home)
            for _ in range(MISTAKES_MAX + 5):
                await client.send_str("nonsense")
                assert (await hear(client))["type"] == "error"
                await client.send_str(heartbeat())
                assert (await hear(client))["type"] == "heartbeat_ack"
            await client.close()

    asyncio.run(play())


def test_what_is_too_large_is_refused_with_words_and_what_is_absurd_ends_the_connection() -> None:
    async def play() -> None:
        async with house() as home:
            client = await greeted(home)
            await client.send_bytes(b"x" * (TEXT_BYTES_MAX + 1))
            assert "too large" in (await hear(client))["message"]
            with suppress(ConnectionError):
                await client.send_bytes(b"x" * (2 * TEXT_BYTES_MAX + 1))
            closing = await client.receive(timeout=10)
            assert closing.type in (WSMsgType.CLOSE, WSMsgType.CLOSED, WSMsgType.ERROR)
            await client.close()

    asyncio.run(play())


def test_the_same_client_again_takes_the_place_of_the_older_connection() -> None:
    async def play() -> None:
        async with house() as home:
            older, newer = await greeted(home), await greeted(home)
            told = await hear(older)
            assert (told["type"], told["code"]) == ("error", "replaced")
            assert (await older.receive(timeout=10)).type is WSMsgType.CLOSE
            await newer.send_str(heartbeat())
            assert (await hear(newer))["type"] == "heartbeat_ack"
            await newer.close()

    asyncio.run(play())


def test_a_result_for_a_task_of_somebody_else_changes_nothing() -> None:
    async def play() -> None:
        async with house() as home:
            owner, thief = await greeted(home, "owner"), await connect(home)
            await home.save(CODE)
            await home.execute("one", {"runId": "r"}, wait=None)
            task = await given(owner)
            await thief.send_str(heartbeat("thief"))
            assert (await hear(thief))["type"] == "heartbeat_ack"
            for stolen in (task, f"{task[:-4]}AAAA"):
                await thief.send_str(json.dumps({"type": "result", "taskId": stolen, "success": True}))
            await thief.send_str(heartbeat("thief"))
            assert (await hear(thief))["type"] == "heartbeat_ack"
            assert (await home.ask("GET", "/api/v1/runs/r")).json["status"] == "running"
            said = {"type": "result", "taskId": task, "success": True, "output": "42"}
            await owner.send_str(json.dumps(said))
            assert await hear(owner) == {"type": "result_ack", "taskId": task}
            run = (await home.ask("GET", "/api/v1/runs/r")).json
            assert run["output"]["only"]["output"] == "42"
            await owner.close()
            await thief.close()

    asyncio.run(play())


def test_what_no_store_can_keep_is_made_safe() -> None:
    async def play() -> None:
        async with house() as home:
            client = await greeted(home)
            await home.save(CODE)
            await home.execute("one", {"runId": "r"}, wait=None)
            task = await given(client)
            text = f'{{"type": "result", "taskId": "{task}", "success": true, "output": "a\\u0000b"}}'
            await client.send_str(text)
            assert (await hear(client))["type"] == "result_ack"
            run = (await home.ask("GET", "/api/v1/runs/r")).json
            assert run["output"]["only"]["output"] == "a\N{REPLACEMENT CHARACTER}b"
            await client.close()

    asyncio.run(play())


def test_a_result_that_was_said_before_the_client_left_is_heard() -> None:
    async def play() -> None:
        async with house() as home:
            client = await greeted(home)
            await home.save(CODE)
            await home.execute("one", {"runId": "r"}, wait=None)
            task = await given(client)
            await client.send_str(json.dumps({"type": "result", "taskId": task, "success": True}))
            await client.close()
            ended = await home.ask("POST", "/api/v1/workflows/one/execute?wait=10s", {"runId": "r"})
            assert ended.json["status"] == "succeeded"

    asyncio.run(play())


def test_nobody_finds_an_address_for_results_by_guessing() -> None:
    async def play() -> None:
        async with house() as home:
            answer = await home.ask("POST", "/ws/callback/guess", {"result": "42"})
            assert answer.status == 404

    asyncio.run(play())


def test_the_door_closes_though_clients_are_connected() -> None:
    async def play() -> None:
        async with house() as home:
            clients = [await greeted(home), await connect(home), await connect(home, "/ws?weight=1")]
            async with asyncio.timeout(2):  # well before those who do not answer are cut off
                await home.close_door()
            for client in clients:
                assert (await client.receive(timeout=10)).type in (WSMsgType.CLOSE, WSMsgType.CLOSED)
                await client.close()

    asyncio.run(play())


# With a login.


@pytest.mark.parametrize("path", ["/ws/v1", "/ws", "/ws?weight=1", "/ws?weight=1&proto=raw"])
def test_with_a_login_only_tokens_of_workers_come_in(path: str) -> None:
    async def play() -> None:
        async with locked() as here:
            assert await refused(here, path, "") == 401
            for role in ("admin", "operator", "read", "node"):
                assert await refused(here, path, await here.token(role)) == 403
            client = await connect(here.home, path, await here.token("worker"))
            await client.close()

    asyncio.run(play())


async def refused(here: Locked, path: str, token: str) -> int:
    with pytest.raises(aiohttp.WSServerHandshakeError) as error:
        await connect(here.home, path, token)
    return error.value.status


def test_a_client_is_not_replaced_by_one_of_another_token() -> None:
    async def play() -> None:
        async with locked() as here:
            first = await greeted(here.home, token=await here.token("worker"))
            other = await connect(here.home, token=await here.token("worker"))
            await other.send_str(heartbeat())
            told = await hear(other)
            assert (told["type"], told["code"]) == ("error", "name")
            await first.send_str(heartbeat())
            assert (await hear(first))["type"] == "heartbeat_ack"
            await first.close()
            await other.close()

    asyncio.run(play())


def test_a_client_is_sent_away_once_its_token_is_revoked() -> None:
    async def play() -> None:
        async with locked() as here:
            token = await here.token("worker")
            client = await greeted(here.home, token=token)
            number = token.split("_")[1]
            answer = await here.ask(await here.token("admin"), "DELETE", f"/api/v1/tokens/{number}")
            assert answer.status == 200, answer.text
            closing = await client.receive(timeout=10)
            assert closing.type in (WSMsgType.CLOSE, WSMsgType.CLOSED, WSMsgType.ERROR)
            await client.close()

    asyncio.run(play())
