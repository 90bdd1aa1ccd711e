"""The door of workers, through the real app: who comes in, and how long they may stay."""

import asyncio
import dataclasses
import time

import aiohttp
import pytest

from tests.engine.crew_rig import Away
from tests.gateway.access import Locked, locked
from tests.gateway.house import House, house
from tests.gateway.ws_worker import NEEDS_GPU, dialed, greet, honest, state, transport_of
from tests.waiting import until
from windlass.core.buckets import Rate
from windlass.core.errors import NotFound
from windlass.core.names import RunId
from windlass.core.roles import EVERYWHERE, Role
from windlass.core.task import Failure, Success
from windlass.engine.crew_secrets import references
from windlass.gateway.http import make_app, serve_http
from windlass.gateway.lock import Bounds, Locks
from windlass.wire import crew


def test_a_worker_runs_a_task_from_its_start_to_its_end() -> None:
    async def play() -> None:
        async with house() as home:
            await home.save(NEEDS_GPU)
            async with honest(home) as worker:
                started = await home.execute("gpu", wait=None)
                running = await worker.hear(crew.Run)
                task = crew.decode_task(running.task)
                assert (task.run, task.step, task.attempt) == (started["runId"], "only", 1)
                await worker.say(crew.Progress(running.token, b'{"done":1}'))
                await worker.end(running, Success(42))
                assert (await worker.hear(crew.Kept)).tokens == (running.token,)
                run = (await home.ask("GET", f"/api/v1/runs/{started['runId']}")).json
                assert run["status"] == "succeeded"

    asyncio.run(play())


@pytest.mark.accepts("S3.51")
def test_a_task_that_waits_for_a_worker_is_run_by_one_that_comes() -> None:
    async def play() -> None:
        async with house() as home:
            await home.save(NEEDS_GPU)
            started = await home.execute("gpu", wait=None)
            path = f"/api/v1/runs/{started['runId']}"
            async with honest(home, "other", "s0", capabilities=("noop",)) as other:
                await other.beat()  # and gets nothing that it cannot do
                assert (await home.ask("GET", path)).json["status"] == "running"
                async with honest(home) as worker:
                    await worker.end(await worker.hear(crew.Run))
                    await worker.hear(crew.Kept)
                    assert (await home.ask("GET", path)).json["status"] == "succeeded"

    asyncio.run(play())


@pytest.mark.accepts("S3.50")
def test_while_the_registry_is_away_workers_go_on_and_then_it_is_brought_up_to_date() -> None:
    async def play() -> None:
        registry = Away()
        async with house(registry=registry) as home:
            await home.save(NEEDS_GPU)
            async with honest(home) as worker, honest(home, "leaving", "s2") as leaving:
                registry.away = True
                await leaving.say(crew.Goodbye())
                async with dialed(home) as late:
                    await late.say(greet("late", "s3", capabilities=("none",)))
                    await late.hear(crew.Welcome)
                    await worker.work_once(home)
                    assert (state(home, "w"), state(home, "late")) == ("ONLINE", "REGISTERING")
                    assert {row.worker for row in await registry.workers()} == {"w", "leaving"}
                    registry.away = False
                    await until(lambda: state(home, "late") == "ONLINE")
                    assert {row.worker for row in await registry.workers()} == {"w", "late"}

    asyncio.run(play())


def test_what_a_worker_gives_back_is_run_again_under_its_next_number() -> None:
    async def play() -> None:
        async with house() as home:
            await home.save(NEEDS_GPU)
            async with honest(home) as worker:
                await home.execute("gpu", wait=None)
                first = await worker.hear(crew.Run)
                name = crew.decode_task(first.task).name
                await worker.say(crew.Returned(name, first.token, "no room"))
                second = await worker.hear(crew.Run)
                assert crew.decode_task(second.task).attempt == 2
                await worker.end(second)
                await worker.hear(crew.Kept)

    asyncio.run(play())


def test_a_worker_that_comes_back_goes_on_with_its_task() -> None:
    async def play() -> None:
        async with house() as home:
            await home.save(NEEDS_GPU)
            async with honest(home) as worker:
                started = await home.execute("gpu", wait=None)
                running = await worker.hear(crew.Run)
            task = crew.decode_task(running.task)
            async with dialed(home) as again:
                await again.say(greet(held=(crew.Holding(task.name, running.token),)))
                assert (await again.hear(crew.Welcome)).stop == ()
                await again.end(running, Success(1))
                await again.hear(crew.Kept)
            run = (await home.ask("GET", f"/api/v1/runs/{started['runId']}")).json
            assert run["status"] == "succeeded"
            events = (await home.ask("GET", f"/api/v1/runs/{started['runId']}/events")).text
            assert "AttemptLost" not in events

    asyncio.run(play())


def test_a_task_whose_worker_is_gone_is_given_to_another_after_a_second() -> None:
    async def play() -> None:
        async with house() as home:
            await home.save(NEEDS_GPU)
            async with honest(home, "first", "s1") as first:
                await home.execute("gpu", wait=None)
                await first.hear(crew.Run)
            began = time.monotonic()
            async with honest(home, "second", "s2") as second:
                running = await second.hear(crew.Run)
                assert crew.decode_task(running.task).attempt == 2
                assert time.monotonic() - began > 0.8
                await second.end(running)
                await second.hear(crew.Kept)
            assert state(home, "first") == ""

    asyncio.run(play())


def test_what_an_adopted_task_refers_to_is_read_from_the_journal() -> None:
    async def play() -> None:
        async with house() as home:
            step = {
                "kind": "shell",
                "requires": ["gpu"],
                "with": {"command": "x", "stdin": "{{ secrets.KEY }}"},
            }
            await home.save({"id": "secretive", "steps": {"only": step}})
            async with honest(home, capabilities=("shell", "gpu")) as worker:
                await home.execute("secretive", wait=None)
                name = crew.decode_task((await worker.hear(crew.Run)).task).name
            refers_to = references(home.node.store, home.node.definitions, home.node.shard_of)
            assert await refers_to(name) == {"KEY"}
            with pytest.raises(NotFound):
                await refers_to(("default", RunId("nobody"), name[2], name[3]))

    asyncio.run(play())


def test_the_last_words_before_an_abrupt_end_are_heard() -> None:
    async def play() -> None:
        async with house() as home:
            await home.save(NEEDS_GPU)
            async with honest(home) as worker:
                await home.execute("gpu", wait=None)
                running = await worker.hear(crew.Run)
                name = crew.decode_task(running.task).name
                returned = crew.Returned(name, running.token, "not now")
                await worker.say(crew.Leaving(), returned, crew.Goodbye())
                transport_of(worker).close()
                await until(lambda: home.node.fleet.crew.told() == [])
            async with honest(home, session="s2") as again:  # at once, not after a second of waiting
                assert crew.decode_task((await again.hear(crew.Run)).task).attempt == 2

    asyncio.run(play())


def test_who_asks_for_something_else_than_a_websocket_is_told_so() -> None:
    async def play() -> None:
        async with house() as home:
            answer = await home.ask("GET", crew.PATH)
            assert (answer.status, answer.headers["Upgrade"]) == (426, "websocket")
            assert answer.json["message"] == "this door takes WebSockets only"
            assert (await home.ask("POST", crew.PATH)).status == 405

    asyncio.run(play())


@pytest.mark.parametrize(
    ("role", "status"), [(None, 401), ("admin", 403), ("operator", 403), ("read", 403), ("node", 403)]
)
def test_where_there_is_a_login_only_tokens_of_workers_come_in(role: Role | None, status: int) -> None:
    async def play() -> None:
        async with locked() as here:
            token = None if role is None else await here.token(role)
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                async with dialed(here.home, token):
                    pass
            assert refused.value.status == status
            async with honest(here.home, token=await here.token("worker", EVERYWHERE)) as worker:
                await worker.beat()

    asyncio.run(play())


def test_a_worker_is_sent_away_within_a_second_once_its_token_is_revoked() -> None:
    async def play() -> None:
        async with locked() as here:
            admin, token = await here.token("admin"), await here.token("worker", EVERYWHERE)
            other = await here.token("worker", EVERYWHERE)
            async with (
                honest(here.home, token=token) as worker,
                honest(here.home, "o", "s0", token=other) as o,
            ):
                number = token.split("_")[1]
                answer = await here.ask(admin, "DELETE", f"/api/v1/tokens/{number}")
                assert answer.status == 200
                began = time.monotonic()
                await worker.ended()
                assert time.monotonic() - began < 1.0
                await until(lambda: state(here.home, "w") in ("", "OFFLINE"))
                await o.beat()

    asyncio.run(play())


def test_a_token_of_one_namespace_makes_a_worker_of_that_namespace() -> None:
    async def play() -> None:
        async with locked() as here:
            token = await here.token("worker", "team-a")
            async with honest(here.home, token=token):
                (told,) = here.home.node.fleet.crew.told()
                assert (told.facts.namespaces, told.by) == (("team-a",), token.split("_")[1])
            async with dialed(here.home, token) as greedy:
                await greedy.say(greet("greedy", namespaces=("team-a", "team-b")))
                assert (await greedy.hear(crew.Rejected)).code == "namespace"
                await greedy.ended()

    asyncio.run(play())


def test_the_door_closes_without_waiting_for_workers() -> None:
    async def play() -> None:
        async with house() as home, honest(home) as worker:
            began = time.monotonic()
            closing = asyncio.ensure_future(home.close_door())
            await worker.ended()
            await closing
            assert time.monotonic() - began < 2.5  # aiohttp itself would wait for three seconds

    asyncio.run(play())


def test_a_timeout_that_the_worker_does_not_mind_is_minded_by_the_node() -> None:
    async def play() -> None:
        async with house() as home:
            step = {"kind": "noop", "requires": ["gpu"], "timeout": "100ms", "retry": {"attempts": 1}}
            await home.save({"id": "late", "steps": {"only": step}})
            async with honest(home) as worker:
                started = await home.execute("late", wait=None)
                running = await worker.hear(crew.Run)
                assert (await worker.hear(crew.Stop)).tokens == (running.token,)
                path = f"/api/v1/runs/{started['runId']}"

                async def failed() -> bool:
                    return bool((await home.ask("GET", path)).json["status"] == "failed")

                async with asyncio.timeout(10):
                    while not await failed():
                        await worker.beat()
                # What it says after that changes nothing, and is acknowledged.
                await worker.end(running, Failure("Late", "too late"))
                assert (await worker.hear(crew.Kept)).tokens == (running.token,)

    asyncio.run(play())


@pytest.mark.accepts("S3.14")
def test_gateways_for_programs_and_workers_authenticate_and_limit_and_keep_nothing() -> None:
    """Two doors of one node: what was begun at the one goes on at the other, which knows nothing of it."""
    bounds = Bounds(per_token=Rate(per_s=0.001, burst=4))

    async def refused(home: House, path: str, token: str | None, status: int) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        url = f"http://127.0.0.1:{home.port}{path}"
        if path != crew.PATH:
            assert (await home.ask("GET", path, headers=headers)).status == status
            return
        with pytest.raises(aiohttp.WSServerHandshakeError) as error:
            await home.session.ws_connect(url, headers=headers)
        assert error.value.status == status

    async def play() -> None:
        locks = Locks(login=True, bounds=bounds)
        async with locked(locks) as first:
            runner, port = await serve_http(make_app(first.home.node, locks=locks), "127.0.0.1", 0)
            second = Locked(dataclasses.replace(first.home, port=port))
            submit, work = await first.token("operator"), await first.token("worker")
            for path, other in (("/api/v1/runs", work), (crew.PATH, submit)):
                await refused(first.home, path, None, 401)
                await refused(first.home, path, "wl_no_such", 401)
                await refused(first.home, path, other, 403)
            answer = await first.ask(submit, "POST", "/api/v1/workflows", NEEDS_GPU)
            assert answer.status == 201
            started = (await first.ask(submit, "POST", "/api/v1/workflows/gpu/execute")).json
            async with dialed(first.home, work) as worker:
                await worker.say(greet())
                running = await worker.hear(crew.Run)
            task = crew.decode_task(running.task)
            async with dialed(second.home, work) as again:
                await again.say(greet(held=(crew.Holding(task.name, running.token),)))
                assert (await again.hear(crew.Welcome)).stop == ()
                await again.end(running)
                await again.hear(crew.Kept)
            run = await second.ask(submit, "GET", f"/api/v1/runs/{started['runId']}")
            assert run.json["status"] == "succeeded"
            for path, token in (("/api/v1/runs", submit), (crew.PATH, await first.token("worker"))):
                for _ in range(4):
                    if path == crew.PATH:
                        async with dialed(second.home, token):
                            pass
                    else:
                        await second.ask(token, "GET", path)
                await refused(second.home, path, token, 429)
            await runner.cleanup()

    asyncio.run(play())
