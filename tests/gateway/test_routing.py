"""From a request to the one owner of what it is about, and what is said when that owner does not answer."""

import asyncio
from collections.abc import Sequence

import pytest

from tests.gateway.house import ONE_STEP, Answer, House, house
from tests.waiting import until
from windlass.gateway import waits
from windlass.journal import Group
from windlass.journal.memory import MemoryStore

RUNS = "/api/v1/runs"
EXECUTE = "/api/v1/workflows/slow/execute"
SLOW = {"id": "slow", "steps": {"a": {"kind": "shell", "with": {"command": "x"}}}}
TIMEOUT = "Request timeout, entity may be busy or unreachable"


class Stalling(MemoryStore):
    """Keeps nothing from the moment on that it is told to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.open = asyncio.Event()
        self.open.set()
        self.waiting = 0

    async def commit(self, groups: Sequence[Group]) -> list[bool]:
        self.waiting += 1
        await self.open.wait()
        self.waiting -= 1
        return await super().commit(groups)


@pytest.mark.accepts("S0.62")
def test_an_owner_that_is_silent_for_five_seconds_is_told_as_an_error_and_asking_again_is_safe() -> None:
    async def play() -> None:
        store = Stalling()
        loop = asyncio.get_running_loop()

        async def timed(home: House, run: str) -> tuple[Answer, float]:
            began = loop.time()
            return await home.ask("POST", EXECUTE, {"runId": run}), loop.time() - began

        async with house(store=store) as home:
            await home.save(SLOW)
            same_shard = [f"r{i}" for i in range(100) if home.node.shard_of(f"r{i}") == 0]
            store.open.clear()
            taken = asyncio.create_task(timed(home, same_shard[0]))
            await until(lambda: store.waiting)
            # The owner is busy with the first one, and has not begun with the second.
            queued = asyncio.create_task(timed(home, same_shard[1]))
            (unknown, unknown_s), (undecided, undecided_s) = await taken, await queued
            assert 4.9 < unknown_s < 7.0 and 4.9 < undecided_s < 7.0
            assert unknown.status == 504
            assert unknown.json["message"].startswith(f"{TIMEOUT}; it may have happened")
            assert unknown.json["runId"] == same_shard[0]
            assert undecided.status == 503
            assert undecided.json["message"].startswith(f"{TIMEOUT}; nothing was done")
            assert "Retry-After" in undecided.headers
            store.open.set()
            for run in same_shard[:2]:
                assert (await home.ask("POST", EXECUTE, {"runId": run})).status == 200
            assert len((await home.ask("GET", RUNS)).json["items"]) == 2

    asyncio.run(play())


@pytest.mark.accepts("S0.64")
def test_all_messages_to_one_id_reach_the_same_entity() -> None:
    async def play() -> None:
        async with house() as home:
            await home.save(SLOW)
            started = await home.ask("POST", EXECUTE)
            assert (started.json["executionId"][:5], started.json["status"]) == ("exec_", "started")
            # From two clients at once: one run comes of it, and both hear of the same.
            first, second = await asyncio.gather(
                *(home.ask("POST", EXECUTE, {"runId": "exec_mine"}) for _ in range(2))
            )
            assert first.json == second.json
            assert (first.json["executionId"], first.json["status"]) == ("exec_mine", "started")
            key = {"Idempotency-Key": "once"}
            pauses = await asyncio.gather(
                *(home.ask("POST", f"{RUNS}/exec_mine/pause", headers=key) for _ in range(5))
            )
            assert {pause.json["status"] for pause in pauses} == {"paused"}
            events = (await home.ask("GET", f"{RUNS}/exec_mine/events")).json["items"]
            types = [event["type"] for event in events]
            assert (types.count("RunStarted"), types.count("RunPaused")) == (1, 1)
            assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
            other = await home.ask("GET", f"{RUNS}/{started.json['runId']}")
            assert other.json["status"] == "running"  # another id is another entity

    asyncio.run(play())


@pytest.mark.accepts("S3.12")
def test_health_and_metrics_say_how_the_process_is_doing() -> None:
    async def play() -> None:
        async with house() as home:
            as_json = {"Accept": "application/json"}
            await home.save(ONE_STEP)
            await home.execute("one")
            healthy = await home.ask("GET", "/health", headers=as_json)
            assert healthy.status == 200
            assert (healthy.json["status"], healthy.json["journal"]) == ("ready", "writable")
            assert (healthy.json["shardsOpen"], healthy.json["shards"]) == (4, 4)
            assert healthy.json["version"][0].isdigit()
            later = await home.ask("GET", "/health", headers=as_json)
            assert later.json["uptimeSeconds"] >= healthy.json["uptimeSeconds"] > 0
            text = await home.ask("GET", "/health")
            assert text.headers["Content-Type"].startswith("text/plain")
            assert text.text.splitlines()[0] == "ready"
            assert "shards 4 of 4 open" in text.text and "journal writable" in text.text
            metrics = (await home.ask("GET", "/metrics")).text
            assert "windlass_runs_started_total 1.0" in metrics
            assert "windlass_ready 1.0" in metrics and "windlass_journal_busy 0.0" in metrics

            home.node.committer.tally.busy = "disk is full"
            ill = await home.ask("GET", "/health", headers=as_json)
            assert (ill.status, ill.json["journal"]) == (503, "busy")
            assert ill.json["status"] == "journal busy: disk is full"
            assert "windlass_journal_busy 1.0" in (await home.ask("GET", "/metrics")).text

    asyncio.run(play())


def test_one_wait_too_many_starts_nothing_and_is_told_when_to_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waits, "WAITS_MAX", 1)

    async def play() -> None:
        async with house() as home:
            await home.save(SLOW)
            waiting = asyncio.create_task(home.ask("POST", f"{EXECUTE}?wait=1m"))
            await home.hands.taken.get()
            late = await home.ask("POST", f"{EXECUTE}?wait=1m")
            assert (late.status, late.json["error"]) == (429, "Too many requests")
            assert int(late.headers["Retry-After"]) >= 1
            assert len((await home.ask("GET", RUNS)).json["items"]) == 1
            assert (await home.ask("POST", EXECUTE)).status == 200  # who does not wait may come in
            await home.close_door()
            assert (await waiting).status == 200

    asyncio.run(play())
