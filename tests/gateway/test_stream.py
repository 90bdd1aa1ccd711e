"""What happens to a run, as it happens: server-sent events over a real connection."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

import aiohttp
import msgspec
import pytest

from tests.gateway.house import NO_GRANTS, ONE_STEP, House, Work, finish, house
from tests.waiting import until
from windlass.core.events import RunPaused
from windlass.core.names import run_key
from windlass.core.orders import Purge
from windlass.core.task import Json, Success, Task
from windlass.engine.followers import GAP, Followers
from windlass.engine.node import NodeSettings
from windlass.gateway import shapes, stream
from windlass.gateway.stream import Ear
from windlass.journal import Group, StoreBusy

RUNS = "/api/v1/runs"
SLOW = {"id": "slow", "steps": {"a": {"kind": "shell", "with": {"command": "x"}}}}
TWO = {"id": "two", "steps": {**SLOW["steps"], "b": {"kind": "shell", "with": {"command": "x"}}}}  # type: ignore[dict-item]


class Heard(NamedTuple):
    event: str
    id: int | None
    data: Json


@dataclass(frozen=True, slots=True)
class Client:
    response: aiohttp.ClientResponse

    async def line(self) -> str:
        async with asyncio.timeout(10):
            return (await self.response.content.readline()).decode().rstrip("\n")

    async def next(self) -> Heard | None:
        """The next event; None when the stream has ended."""
        fields: dict[str, str] = {}
        while not self.response.content.at_eof():
            line = await self.line()
            if line and not line.startswith(":"):
                name, _, value = line.partition(": ")
                fields[name] = value
            elif "event" in fields:
                ident = int(fields["id"]) if "id" in fields else None
                return Heard(fields["event"], ident, msgspec.json.decode(fields["data"]))
        return None

    async def all(self) -> list[Heard]:
        heard: list[Heard] = []
        while (one := await self.next()) is not None:
            heard.append(one)
        return heard

    async def until(self, event: str) -> list[Heard]:
        heard = [await self.next()]
        while heard[-1] is not None and heard[-1].event != event:
            heard.append(await self.next())
        assert heard[-1] is not None, f"the stream ended before {event}"
        return [one for one in heard if one is not None]


@asynccontextmanager
async def listening(home: House, run: str, query: str = "", **headers: str) -> AsyncIterator[Client]:
    url = f"http://127.0.0.1:{home.port}{RUNS}/{run}/stream{query}"
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    # The default would refuse lines of a megabyte.
    async with (
        aiohttp.ClientSession(read_bufsize=2**24) as session,
        session.get(url, headers=sent) as response,
    ):
        assert response.status == 200, await response.text()
        yield Client(response)


def play(
    scene: Callable[[House], Awaitable[None]], work: Work = finish, settings: NodeSettings | None = None
) -> None:
    async def whole() -> None:
        async with house(work, settings=settings) as home:
            await scene(home)

    asyncio.run(whole())


async def started(home: House, document: Json = SLOW) -> tuple[str, Task]:
    await home.save(document)
    run = (await home.execute(document["id"], wait=None))["runId"]
    return run, await home.hands.taken.get()


def test_an_ended_run_is_told_whole_in_the_words_of_its_events() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        run = (await home.execute("one"))["runId"]
        events = (await home.ask("GET", f"{RUNS}/{run}/events")).json["items"]
        async with listening(home, run) as client:
            assert client.response.headers["Content-Type"] == "text/event-stream"
            assert client.response.headers["Cache-Control"] == "no-store"
            assert client.response.headers["X-Request-Id"]
            *heard, end = await client.all()
        assert [one.data for one in heard] == events
        assert [one.id for one in heard] == [event["seq"] for event in events]
        assert [one.event for one in heard] == [event["type"] for event in events]
        assert end == Heard("end", None, {"runId": run, "status": "succeeded"})

    play(scene)


def test_a_run_is_followed_to_its_end() -> None:
    async def scene(home: House) -> None:
        run, task = await started(home)
        async with listening(home, run) as client:
            await client.until("StepQueued")
            home.hands.finish(task, Success({"rows": 3}))
            heard = await client.all()
        assert [one.event for one in heard][-3:] == ["StepSucceeded", "RunEnded", "end"]
        assert heard[-3].data["value"] == {"rows": 3}
        events = (await home.ask("GET", f"{RUNS}/{run}/events")).json["items"]
        assert [one.data for one in heard[:-1]] == events[2:]

    play(scene)


def test_who_comes_again_goes_on_after_what_it_has() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        run = (await home.execute("one"))["runId"]
        async with listening(home, run, "?after=2") as client:
            assert [one.id for one in await client.all()] == [3, 4, None]
        async with listening(home, run, "?after=0", Last_Event_ID="3") as client:
            assert [one.id for one in await client.all()] == [4, None]
        async with listening(home, run, "?after=4") as client:
            assert [one.event for one in await client.all()] == ["end"]

    play(scene, settings=NO_GRANTS)


def test_news_that_got_lost_are_read_from_the_journal_after_a_gap() -> None:
    async def scene(home: House) -> None:
        run, task = await started(home)
        async with listening(home, run) as client:
            await client.until("StepQueued")
            tell = home.node.followers.tell
            home.node.followers.tell = lambda *_: None  # type: ignore[method-assign]
            await home.node.report(home.hands.id, task, Success(), home.node.clock.now())
            home.node.followers.tell = tell  # type: ignore[method-assign]
            home.node.followers.gap(lambda key: True)
            heard = await client.all()
        assert [one.event for one in heard][-3:] == ["StepSucceeded", "RunEnded", "end"]

    play(scene)


def test_news_out_of_order_are_put_in_order_by_the_journal() -> None:
    async def scene(home: House) -> None:
        run, task = await started(home, TWO)
        other = await home.hands.taken.get()
        async with listening(home, run) as client:
            tell = home.node.followers.tell
            home.node.followers.tell = lambda *_: None  # type: ignore[method-assign]
            await home.node.report(home.hands.id, task, Success(), home.node.clock.now())
            home.node.followers.tell = tell  # type: ignore[method-assign]
            home.hands.finish(other, Success())
            ids = [one.id for one in await client.all()]
        assert ids[:-1] == list(range(1, len(ids)))

    play(scene)


def test_deleted_events_are_replaced_by_the_state_and_the_run_is_followed_from_there() -> None:
    async def scene(home: House) -> None:
        run, task = await started(home)
        await home.ask("POST", f"{RUNS}/{run}/pause")
        await delete_events(home, run, upto=2)
        async with listening(home, run) as client:
            reset = await client.next()
            assert reset is not None and reset.event == "reset" and reset.id is not None
            assert reset.data["status"] == "paused"
            assert reset.id == reset.data["seq"] > 2
            assert msgspec.convert(reset.data, shapes.Run).steps[0].id == "a"
            await home.ask("POST", f"{RUNS}/{run}/resume")
            home.hands.finish(task, Success())
            heard = await client.all()
        assert [one.id for one in heard[:-1]] == list(range(reset.id + 1, reset.id + len(heard)))
        assert [one.event for one in heard][-3:] == ["StepSucceeded", "RunEnded", "end"]

    play(scene)


def test_a_client_that_has_all_that_was_deleted_needs_no_reset() -> None:
    async def scene(home: House) -> None:
        run, _ = await started(home)
        await home.ask("POST", f"{RUNS}/{run}/pause")
        await delete_events(home, run, upto=2)
        async with listening(home, run, "?after=2") as client:
            heard = await client.next()
            assert heard is not None and (heard.event, heard.id) != ("reset", None)
            assert heard.id == 3

    play(scene)


def test_a_purged_run_is_told_by_its_row() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        run = (await home.execute("one"))["runId"]
        await home.node.router.send(run_key(run), Purge())
        async with listening(home, run) as client:
            reset, end = await client.all()
        assert (reset.event, reset.data["purged"], reset.data["status"]) == ("reset", True, "succeeded")
        assert end.event == "end"

    play(scene)


def test_silence_is_broken_by_a_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.01)

    async def scene(home: House) -> None:
        run, _ = await started(home)
        async with listening(home, run) as client:
            await client.until("StepQueued")
            while not (await client.line()).startswith(": "):
                pass

    play(scene)


def test_an_end_that_nobody_told_is_found_at_the_next_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.01)

    async def scene(home: House) -> None:
        run, task = await started(home)
        home.node.followers.tell = lambda *_: None  # type: ignore[method-assign]
        async with listening(home, run) as client:
            await client.until("StepQueued")
            home.hands.finish(task, Success())
            assert [one.event for one in await client.all()][-2:] == ["RunEnded", "end"]

    play(scene)


def test_one_stream_too_many_is_told_when_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "STREAMS_MAX", 1)

    async def scene(home: House) -> None:
        run, task = await started(home)
        async with listening(home, run) as client:
            await client.until("StepQueued")
            late = await home.ask("GET", f"{RUNS}/{run}/stream")
            assert (late.status, late.json["error"]) == (429, "Too many requests")
            assert int(late.headers["Retry-After"]) >= 1
            home.hands.finish(task, Success())
            await client.all()
        async with listening(home, run) as client:  # there is room again
            assert (await client.all())[-1].event == "end"

    play(scene)


def test_a_client_that_goes_away_leaves_its_place_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "STREAMS_MAX", 1)

    async def scene(home: House) -> None:
        run, _ = await started(home)
        async with listening(home, run) as client:
            await client.until("StepQueued")
            client.response.close()
        await until(lambda: not home.node.followers._by_key)
        async with listening(home, run) as client:
            assert (await client.next()) is not None

    play(scene)


def test_when_the_door_closes_streams_end_at_once_and_promise_no_end() -> None:
    async def scene(home: House) -> None:
        run, _ = await started(home)
        async with listening(home, run) as client:
            await client.until("StepQueued")
            async with asyncio.timeout(2):
                await home.close_door()
                assert "end" not in [one.event for one in await client.all()]

    play(scene)


def test_a_slow_client_misses_nothing() -> None:
    """Twenty megabytes happen while it does not read; they fit into no buffer on the way."""

    async def scene(home: House) -> None:
        steps = {f"s{i}": {"kind": "noop", "needs": [f"s{i - 1}"] if i else []} for i in range(20)}
        await home.save({"id": "heavy", "steps": {"a": SLOW["steps"]["a"], **steps}})  # type: ignore[index]
        run = (await home.execute("heavy", wait=None))["runId"]
        task = await home.hands.taken.get()
        async with listening(home, run) as client:
            while (await home.ask("GET", f"{RUNS}/{run}")).json["counts"].get("succeeded", 0) < 20:
                pass
            home.hands.finish(task, Success())
            heard = await client.all()
        assert [one.id for one in heard[:-1]] == list(range(1, len(heard)))
        assert sum(len(one.data.get("value") or "") for one in heard) == 20_000_000

    play(scene, lambda task: Success("x" * 1_000_000) if task.kind == "noop" else None)


def test_nothing_is_remembered_for_a_client_that_keeps_us_waiting() -> None:
    async def scene() -> None:
        followers = Followers()
        with Ear(followers, run_key("r")) as ear:
            news = [RunPaused(command="c", at=1.0)] * 100
            followers.tell(run_key("r"), 1, news)
            assert ear.news.qsize() == 100
            ear.writing = True
            followers.tell(run_key("r"), 101, news)
            assert ear.news.qsize() == 1
            assert ear.news.get_nowait() is GAP

    asyncio.run(scene())


def test_a_journal_that_cannot_be_read_breaks_the_stream_off() -> None:
    async def scene(home: House) -> None:
        async def fail(*_: object, **__: object) -> None:
            raise StoreBusy("locked")

        run, _ = await started(home)
        async with listening(home, run) as client:
            await client.until("StepQueued")
            facts = home.node.store.facts
            home.node.store.facts = fail  # type: ignore[assignment, method-assign]
            home.node.followers.gap(lambda key: True)
            with pytest.raises(aiohttp.ClientPayloadError):
                await client.all()
            home.node.store.facts = facts  # type: ignore[method-assign]
        async with listening(home, run, Last_Event_ID="1") as client:
            heard = await client.next()
            assert heard is not None and heard.id == 2

    play(scene)


@pytest.mark.parametrize(
    ("path", "status"), [("nobody/stream", 404), ("a%20b/stream", 404), ("{run}/stream?after=x", 422)]
)
def test_a_stream_that_makes_no_sense_is_refused(path: str, status: int) -> None:
    async def scene(home: House) -> None:
        run, _ = await started(home)
        answer = await home.ask("GET", f"{RUNS}/{path.format(run=run)}")
        assert answer.status == status
        assert (await home.ask("HEAD", f"{RUNS}/{run}/stream")).status == 405

    play(scene)


async def delete_events(home: House, run: str, *, upto: int) -> None:
    """As a snapshot would, with the setting `delete_on_snapshot`."""
    number, key = home.node.shard_of(run), run_key(run)
    shard = next(shard for shard in home.node.router.shards() if shard.number == number)
    group = Group(shard=number, epoch=shard.epoch, deletions=[(key, upto)])
    assert await home.node.store.commit([group]) == [True]
