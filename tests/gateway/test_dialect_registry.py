"""Older workers in the registry: they come, are heard of, fall silent and go."""

import asyncio
import json
import logging

import pytest

from tests.gateway.house import House, house
from tests.gateway.test_dialect_door import connect, greeted, hear, heartbeat, workers
from tests.waiting import until_asked
from windlass.core.fleet import Rules
from windlass.core.task import Json
from windlass.engine.fleet import FleetSettings
from windlass.engine.node import NodeSettings

HASTY = NodeSettings(shards=4, fleet=FleetSettings(rules=Rules(beat_s=0.1, silent_s=0.5, gone_s=1.0)))


async def registered(home: House) -> set[str]:
    return {row.worker for row in await home.node.registry.workers()}


async def state(home: House, client: str) -> str:
    return str((await workers(home)).get(client, {"state": "gone"})["state"])


def words(caplog: pytest.LogCaptureFixture, client: str) -> list[str]:
    """What the log says of it."""
    return [record.message for record in caplog.records if record.__dict__.get("worker") == client]


@pytest.mark.accepts("S3.45")
def test_a_client_that_connects_is_registered_for_as_long_as_it_is_heard_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)

    async def play() -> None:
        async with house(settings=HASTY) as home:
            client = await connect(home)
            await client.send_str(heartbeat(type="register"))
            told = await hear(client)
            assert (told["type"], told["clientId"]) == ("register_ack", "one")
            await until_asked(lambda: _is(home, "one", "ONLINE"))
            assert await registered(home) == {"one"}
            assert words(caplog, "one") == ["a worker came"]
            # Nothing more is heard of it, though it stays connected: what it was given ends by itself.
            await until_asked(lambda: _is(home, "one", "OFFLINE"))
            await until_asked(lambda: _are_registered(home, set()))
            await client.close()

    asyncio.run(play())


@pytest.mark.accepts("S3.46")
def test_a_heartbeat_is_acknowledged_renews_the_lease_and_brings_what_is_known_up_to_date() -> None:
    async def play() -> None:
        async with house(settings=HASTY) as home:
            silent, client = await greeted(home, "silent"), await greeted(home, "one")
            await until_asked(lambda: _is(home, "silent", "ONLINE"))
            before = (await workers(home))["one"]
            load = {"currentTasks": 0, "maxConcurrent": 2, "cpuUsage": 0.9, "memoryUsage": 0.8}

            async def beat() -> bool:
                """Until the one that is silent is gone."""
                await client.send_str(heartbeat("one", load=load, timestamp="2026-02-21T10:30:00Z"))
                told: Json = await hear(client)
                assert told == {
                    "type": "heartbeat_ack", "clientId": "one", "timestamp": "2026-02-21T10:30:00Z"
                }  # fmt: skip
                return await registered(home) == {"one"}

            await until_asked(beat)
            after = (await workers(home))["one"]
            assert after["state"] == "ONLINE"
            assert (before["cpu"], before["memory"]) == (0.5, 0.25)
            assert (after["cpu"], after["memory"]) == (0.9, 0.8)
            assert after["lastHeartbeat"] > before["lastHeartbeat"]
            await client.close()
            await silent.close()

    asyncio.run(play())


@pytest.mark.accepts("S3.47")
def test_a_client_that_disconnects_is_registered_no_more(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def play() -> None:
        async with house() as home:
            client = await greeted(home)
            await until_asked(lambda: _is(home, "one", "ONLINE"))
            assert await registered(home) == {"one"}
            await client.close()
            await until_asked(lambda: _is(home, "one", "gone"))
            await until_asked(lambda: _are_registered(home, set()))
            assert words(caplog, "one") == ["a worker came", "a worker went"]

    asyncio.run(play())


@pytest.mark.parametrize("query", ["?weight=1", "?weight=1&proto=raw"])
def test_of_clients_without_heartbeats_pings_are_a_sign_of_life(query: str) -> None:
    """Each side may ask: this one answers by itself what the node asks, and says nothing else."""

    async def play() -> None:
        async with house(settings=HASTY) as home:
            silent, client = await greeted(home, "silent"), await connect(home, f"/ws{query}")
            await until_asked(lambda: _has_two(home))
            (name,) = await registered(home) - {"silent"}
            reading = asyncio.create_task(client.receive())  # which answers pings
            await until_asked(lambda: _are_registered(home, {name}))
            assert await state(home, name) == "ONLINE"
            reading.cancel()
            await client.close()
            await silent.close()

    asyncio.run(play())


def test_a_client_at_its_limit_is_busy_and_gets_nothing_more() -> None:
    document = {"id": "w", "steps": {"a": {"kind": "code", "with": {"language": "python", "code": "1"}}}}

    async def play() -> None:
        async with house() as home:
            client = await greeted(home)  # of two slots
            await home.save(document)
            for run in ("r1", "r2", "r3"):
                await home.execute("w", {"runId": run}, wait=None)
            first, second = [await hear(client), await hear(client)]
            await until_asked(lambda: _is(home, "one", "BUSY"))
            await client.send_str(heartbeat())
            assert (await hear(client))["type"] == "heartbeat_ack"  # and no third task
            said = {"type": "result", "taskId": first["taskId"], "success": True}
            await client.send_str(json.dumps(said))
            heard = [(await hear(client)), (await hear(client))]
            assert {one["type"] for one in heard} == {"result_ack", "execute"}
            assert len({first["taskId"], second["taskId"], *(one["taskId"] for one in heard)}) == 3
            await client.close()

    asyncio.run(play())


async def _is(home: House, client: str, wanted: str) -> bool:
    return await state(home, client) == wanted


async def _are_registered(home: House, wanted: set[str]) -> bool:
    return await registered(home) == wanted


async def _has_two(home: House) -> bool:
    return len(await registered(home)) == 2
