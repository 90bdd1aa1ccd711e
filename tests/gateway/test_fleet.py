"""Workers over HTTP: seen, ordered about, and chosen."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from tests.gateway.access import Locked, locked
from tests.gateway.clusters import Town
from tests.gateway.house import Answer, House, house
from tests.gateway.mates import Mate, mate
from tests.waiting import until
from windlass.cli import settings as cli_settings
from windlass.core.assign import filters
from windlass.core.assign.policy import STRATEGIES
from windlass.core.fleet import Facts, known
from windlass.core.names import SessionId, WorkerId
from windlass.core.task import Failure, Json, Task
from windlass.engine.fleet import FleetSettings
from windlass.engine.node import NodeSettings
from windlass.fleet_config import policy_of
from windlass.gateway.placement import FOREIGN

WORKERS, ASSIGNMENT = "/api/v1/workers", "/api/v1/assignment"
STRATEGIES_OF_SEED = ("round-robin", "load-balanced", "affinity", "capability", "locality")


def job(id: str = "job", **fields: Json) -> Json:
    """One step that only a mate can run."""
    return {
        "id": id,
        "steps": {"only": {"kind": "shell", "requires": ["x"], "with": {"command": "true"}, **fields}},
    }


def play(scene: Callable[[House], Awaitable[None]], settings: NodeSettings | None = None) -> None:
    async def whole() -> None:
        async with asyncio.timeout(60), house(settings=settings) as home:
            await scene(home)

    asyncio.run(whole())


async def ok(answer: Awaitable[Answer]) -> Json:
    got = await answer
    assert got.status == 200, got.text
    return got.json


async def one(home: House, name: str) -> Json:
    return await ok(home.ask("GET", f"{WORKERS}/{name}"))


async def when(ask: Callable[[], Awaitable[Json]], fits: Callable[[Json], object]) -> Json:
    """The first answer that fits; the test has an end of its own."""
    while not fits(told := await ask()):
        pass
    return told


async def start(home: House, workflow: str = "job") -> str:
    return str((await home.execute(workflow, wait=None))["runId"])


async def placement(home: House, run: str, step: str = "only") -> Json:
    return await ok(home.ask("GET", f"/api/v1/runs/{run}/steps/{step}/placement"))


def able(*capabilities: str) -> dict[str, Any]:
    return {"capabilities": ("shell", *capabilities)}


# Who there is.


def test_a_worker_is_told_with_all_that_it_offers_and_how_it_does() -> None:
    facts: dict[str, Any] = {
        "slots": 3,
        "labels": {"zone": "eu"},
        "host": "h1",
        "host_group": "rack",
        "weight": 2.0,
        "program": "test 1",
        **able("x", "gpu"),
    }

    async def scene(home: House) -> None:
        async with mate(home, "m1", **facts) as m1:
            await m1.beat(cpu=0.25, memory=0.5)
            await until(lambda: home.node.dispatcher.index.find("m1").cpu == 0.25)  # type: ignore[union-attr]
            answer = await ok(home.ask("GET", WORKERS))
            told = {item["id"]: item for item in answer["items"]}
            assert told.keys() == {"hands", "m1"}
            assert (told["hands"]["builtIn"], told["m1"]["builtIn"]) == (True, False)
            assert answer["counts"] == {"OFFLINE": 0, "REGISTERING": 0, "ONLINE": 2, "BUSY": 0, "DEGRADED": 0}
            item = told["m1"]
            expected = {
                "session": "s-m1", "node": "local", "state": "ONLINE", "halt": "", "connected": True,
                "slots": 3, "active": 0, "cpu": 0.25, "memory": 0.5, "successRate": 1.0, "results": 0.0,
                "capabilities": ["gpu", "shell", "x"], "labels": {"zone": "eu"}, "namespaces": [],
                "host": "h1", "hostGroup": "rack", "weight": 2.0, "program": "test 1",
                "address": "127.0.0.1", "connectedBy": None, "tasks": [],
            }  # fmt: skip
            assert {name: item[name] for name in expected} == expected
            assert item["lastHeartbeat"] <= answer["asOf"]
            alone = await one(home, "m1")
            assert alone == item | {"lastHeartbeat": alone["lastHeartbeat"]}

    play(scene)


def test_its_tasks_and_results_are_told() -> None:
    async def scene(home: House) -> None:
        await home.save(job())
        async with mate(home, "m1", slots=1, **able("x")) as m1:
            run = await start(home)
            task = await m1.given(1)
            told = await one(home, "m1")
            assert (told["state"], told["active"]) == ("BUSY", 1)
            assert told["tasks"] == [{"namespace": "default", "runId": run, "step": "only", "attempt": 1}]
            metrics = (await home.ask("GET", "/metrics")).text.splitlines()
            assert "windlass_worker_tasks 1.0" in metrics
            assert 'windlass_workers{state="BUSY"} 1.0' in metrics
            assert 'engine_load{engine_id="m1",metric_type="activeWorkflows"} 1.0' in metrics
            await m1.finish(task, Failure("Broken", "no"))
            told = await when(lambda: one(home, "m1"), lambda told: not told["active"] and not told["tasks"])
            assert (told["state"], told["tasks"], told["latencySeconds"]) == ("ONLINE", [], 0.5)
            assert told["successRate"] < 0.01
            assert told["results"] == pytest.approx(1.0, abs=0.1)

    play(scene)


def test_results_of_the_worker_inside_a_node_are_told_and_it_is_not_judged_by_them() -> None:
    async def scene(home: House) -> None:
        await home.save({"id": "own", "steps": {"only": {"kind": "shell", "with": {"command": "true"}}}})
        for _ in range(12):  # more than it takes to judge another
            await start(home, "own")
            home.hands.finish(await home.hands.taken.get(), Failure("Broken", "no", retryable=False))
        told = await when(lambda: one(home, "hands"), lambda told: told["results"] > 11)
        assert (told["successRate"], told["state"]) == (0.0, "ONLINE")

    play(scene)


def test_a_worker_that_nobody_knows_is_not_found() -> None:
    async def scene(home: House) -> None:
        for method, path in [("GET", "nobody"), *(("POST", f"nobody/{o}") for o in ("drain", "kick"))]:
            answer = await home.ask(method, f"{WORKERS}/{path}")
            assert (answer.status, answer.json["message"]) == (404, "there is no worker nobody")

    play(scene)


def test_a_token_of_one_namespace_sees_its_own_workers_and_tasks() -> None:
    async def scene(here: Locked) -> None:
        admin, work = await here.token("admin"), await here.token("worker", "*")
        mine, theirs = await here.token("operator", "team-a"), await here.token("operator", "team-b")
        for token in (mine, theirs):
            assert (await here.ask(token, "POST", "/api/v1/workflows", job())).status == 201
        async with (
            mate(here.home, "shared", token=work, **able("x")) as shared,
            mate(here.home, "of-b", token=work, namespaces=("team-b",), **able("y")),
        ):
            for n, token in enumerate((mine, theirs), 1):
                await ok(here.ask(token, "POST", "/api/v1/workflows/job/execute"))
                await shared.given(n)

            async def seen(token: str) -> dict[str, Json]:
                items = (await ok(here.ask(token, "GET", WORKERS)))["items"]
                return {item["id"]: item for item in items}

            assert (await seen(admin)).keys() == (await seen(theirs)).keys() == {"hands", "shared", "of-b"}
            assert (await seen(mine)).keys() == {"hands", "shared"}
            assert (await here.ask(mine, "GET", f"{WORKERS}/of-b")).status == 404
            whose = [
                {task["namespace"] for task in (await seen(t))["shared"]["tasks"]} for t in (mine, theirs)
            ]
            assert whose == [{"team-a"}, {"team-b"}]
            every = (await seen(admin))["shared"]
            assert {task["namespace"] for task in every["tasks"]} == {"team-a", "team-b"}
            assert every["connectedBy"]
            assert (await seen(mine))["shared"]["connectedBy"] is None

    async def whole() -> None:
        async with asyncio.timeout(60), locked() as here:
            await scene(here)

    asyncio.run(whole())


# Orders.


def test_a_paused_worker_gets_nothing_until_it_may_go_on() -> None:
    async def scene(home: House) -> None:
        await home.save(job())
        async with mate(home, "m1", **able("x")) as m1:
            assert (await ok(home.ask("POST", f"{WORKERS}/m1/pause")))["halt"] == "paused"
            run = await start(home)
            told = await placement(home, run)
            barred = {each["worker"]: each["barred"] for each in told["candidates"]}
            assert (barred["m1"], m1.tasks) == ("paused", [])
            assert (await ok(home.ask("POST", f"{WORKERS}/m1/resume")))["halt"] == ""
            assert (await m1.given(1)).run == run

    play(scene)


def test_a_worker_is_drained_by_its_own_doing() -> None:
    async def scene(home: House) -> None:
        async with mate(home, "m1", **able("x")) as m1:
            assert (await ok(home.ask("POST", f"{WORKERS}/m1/drain")))["halt"] == "draining"
            await until(lambda: m1.orders == ["drain"])

    play(scene)


def test_a_kicked_worker_is_cut_off_and_its_task_runs_elsewhere() -> None:
    async def scene(home: House) -> None:
        await home.save(job())
        async with mate(home, "m1", **able("x")) as m1:
            run = await start(home)
            await m1.given(1)
            async with mate(home, "m2", **able("x")) as m2:
                await ok(home.ask("POST", f"{WORKERS}/m1/kick"))
                await until(lambda: m1.rejected is not None)
                assert m1.rejected is not None
                assert m1.rejected.code == "kicked"
                again = await m2.given(1)
                assert (again.run, again.attempt) == (run, 2)

    play(scene)


def test_the_worker_of_a_node_itself_is_not_ordered_about() -> None:
    async def scene(home: House) -> None:
        answer = await home.ask("POST", f"{WORKERS}/hands/kick")
        assert (answer.status, answer.json["error"]) == (409, "Conflict")

    play(scene)


async def with_town(scene: Callable[[Town], Awaitable[None]]) -> None:
    town = Town()
    try:
        async with asyncio.timeout(90):
            for name in ("a", "b"):
                await town.add(name)
            await town.settled("a", "b")
            await scene(town)
    finally:
        await town.close()


def test_any_node_tells_of_all_workers_and_orders_them_about() -> None:
    async def scene(town: Town) -> None:
        a, b = town.homes["a"], town.homes["b"]
        async with mate(b, "m1", **able("x")):
            told = await one(a, "m1")
            assert (told["node"], told["state"]) == ("b", "ONLINE")
            assert (await ok(a.ask("POST", f"{WORKERS}/m1/pause")))["halt"] == "paused"
            assert (await one(b, "m1"))["halt"] == "paused"

    asyncio.run(with_town(scene))


def test_a_node_that_does_not_answer_leaves_an_order_in_doubt() -> None:
    async def scene(town: Town) -> None:
        a, b = town.homes["a"], town.homes["b"]
        await a.save(job())
        async with mate(b, "m1", **able("x")) as m1:
            await start(a)
            await m1.given(1)
            town.network.cut(a.node.me.address, b.node.me.address)
            answer = await a.ask("POST", f"{WORKERS}/m1/pause")
            assert answer.status == 504, answer.text

    asyncio.run(with_town(scene))


# How they are chosen.


def test_the_assignment_is_told_and_set_and_taken_back() -> None:
    async def scene(home: House) -> None:
        before = await ok(home.ask("GET", ASSIGNMENT))
        assert (before["strategy"], before["setBy"], before["switches"]) == ("locality", None, [])
        assert before["strategies"] == list(STRATEGIES)
        asked = {
            "strategy": "adaptive", "load": "seed", "memoryWeight": 2, "fit": "most",
            "weights": {"cpu": 0.9}, "adaptive": {"tripMaxSeconds": 0.5, "cpuMax": 0.7},
        }  # fmt: skip
        after = await ok(home.ask("PUT", ASSIGNMENT, asked))
        assert {name: after[name] for name in ("strategy", "load", "memoryWeight", "fit")} == {
            "strategy": "adaptive", "load": "seed", "memoryWeight": 2, "fit": "most",
        }  # fmt: skip
        assert after["weights"] == before["weights"] | {"cpu": 0.9}
        assert after["adaptive"] == before["adaptive"] | {"tripMaxSeconds": 0.5, "cpuMax": 0.7}
        assert (after["configured"], after["setBy"]) == ("locality", "anyone")
        assert [(s["before"], s["after"], s["why"]) for s in after["switches"]] == [
            ("locality", "adaptive", "set by anyone")
        ]
        assert await ok(home.ask("GET", ASSIGNMENT)) == after
        # What is not said stays.
        third = await ok(home.ask("PUT", ASSIGNMENT, {"assignmentStrategy": "random"}))
        assert (third["strategy"], third["load"], third["weights"]) == ("random", "seed", after["weights"])
        last = await ok(home.ask("DELETE", ASSIGNMENT))
        assert {name: last[name] for name in before if name != "switches"} == {
            name: before[name] for name in before if name != "switches"
        }

    play(scene)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"strategy": "fastest"}, "/strategy"),
        ({"assignmentStrategy": "fastest"}, "/strategy"),
        ({"strategy": "random", "assignmentStrategy": "affinity"}, "/assignmentStrategy"),
        ({"strategy": 7}, "/strategy"),
        ({"strategy": ""}, "/strategy"),
        ({"strategy": "mine:"}, "/strategy"),
        ({"load": "heavy"}, "/load"),
        ({"weights": {"cpu": 2}}, "/weights/cpu"),
        ({"weights": {"cpu": "a lot"}}, "/weights/cpu"),
        ({"memoryWeight": -1}, "/memoryWeight"),
        ({"adaptive": {"tripMaxSeconds": -1}}, "/adaptive/tripMaxSeconds"),
        ({"adaptive": {"cpuMax": 80}}, "/adaptive/cpuMax"),
        ({"heartbeatInterval": 30_000}, ""),
        ({}, ""),
        ([], ""),
        (None, ""),
    ],
)
def test_an_assignment_that_makes_no_sense_is_refused_with_its_place(body: Json, pointer: str) -> None:
    async def scene(home: House) -> None:
        text = "null" if body is None else None
        headers = {"Content-Type": "application/json"}
        answer = await home.ask("PUT", ASSIGNMENT, body, data=text, headers=headers)
        assert answer.status == 422, answer.text
        assert [fault["pointer"] for fault in answer.json["details"]] == [pointer]
        assert (await ok(home.ask("GET", ASSIGNMENT)))["strategy"] == "locality"

    play(scene)


async def ran_by(home: House, *mates: Mate, count: int) -> list[tuple[str, Task]]:
    """Start so many runs, one after the other, and say who got each."""
    found = []
    for _ in range(count):
        had = {id(task) for each in mates for task in each.tasks}
        await start(home)
        await until(lambda had=had: any(id(t) not in had for each in mates for t in each.tasks))  # type: ignore[misc]
        found += [(each.name, task) for each in mates for task in each.tasks if id(task) not in had]
    return found


@pytest.mark.accepts("S1.19")
def test_a_strategy_that_is_switched_holds_from_the_next_task_on() -> None:
    async def scene(home: House) -> None:
        await home.save(job())
        async with mate(home, "m1", **able("x")) as m1, mate(home, "m2", **able("x")) as m2:
            await ok(home.ask("PUT", ASSIGNMENT, {"assignmentStrategy": "round-robin"}))
            turns = await ran_by(home, m1, m2, count=4)
            assert sorted(name for name, _ in turns) == ["m1", "m1", "m2", "m2"]
            await ok(home.ask("PUT", ASSIGNMENT, {"strategy": "affinity"}))
            later = await ran_by(home, m1, m2, count=4)
            assert len({name for name, _ in later}) == 1
            told = [
                await when(partial(placement, home, task.run), lambda told: told["strategy"])
                for _, task in (*turns, *later)
            ]
            assert [each["strategy"] for each in told] == ["round-robin"] * 4 + ["affinity"] * 4

    play(scene)


@pytest.mark.accepts("S1.13")
@pytest.mark.parametrize("strategy", STRATEGIES_OF_SEED)
def test_the_strategy_of_the_config_object_is_the_one_that_is_followed(strategy: str) -> None:
    file = {"database": "postgresql://x", "distributed": {"assignmentStrategy": strategy}}
    config = cli_settings.resolve({}, {}, file, file_name="node.toml")

    async def scene(home: House) -> None:
        await home.save(job())
        async with mate(home, "m1", **able("x")) as m1, mate(home, "m2", **able("x")) as m2:
            ((name, task),) = await ran_by(home, m1, m2, count=1)
            told = await when(lambda: placement(home, task.run), lambda told: told["strategy"])
            assert (told["strategy"], told["worker"], told["count"]) == (strategy, name, 2)

    play(scene, NodeSettings(shards=4, fleet=FleetSettings(policy=policy_of(config))))


def test_other_nodes_follow_at_once() -> None:
    async def scene(town: Town) -> None:
        a, b = town.homes["a"], town.homes["b"]
        await ok(a.ask("PUT", ASSIGNMENT, {"strategy": "weighted"}))
        told = await when(lambda: ok(b.ask("GET", ASSIGNMENT)), lambda told: told["strategy"] == "weighted")
        assert told["setBy"] == "anyone"

    asyncio.run(with_town(scene))


def test_who_changes_something_is_written_down() -> None:
    async def whole() -> None:
        async with asyncio.timeout(60), locked() as here:
            admin = await here.token("admin", name="ann")
            await ok(here.ask(admin, "PUT", ASSIGNMENT, {"strategy": "random"}))
            assert (await here.ask(admin, "POST", f"{WORKERS}/nobody/kick")).status == 404
            lines = (await ok(here.ask(admin, "GET", "/api/v1/audit")))["items"]
            assert [(line["act"], line["thing"], line["outcome"]) for line in lines] == [
                ("kickWorker", "worker/nobody", 404),
                ("setAssignment", "assignment/random", 200),
            ]
            assert "ann" in (await ok(here.ask(admin, "GET", ASSIGNMENT)))["setBy"]

    asyncio.run(whole())


# Why here?


def test_a_step_that_waits_tells_who_could_have_it_and_why_others_cannot() -> None:
    async def scene(home: House) -> None:
        await home.save(job())
        async with (
            mate(home, "full", slots=1, **able("x")) as full,
            mate(home, "poor"),
            mate(home, "foreign", namespaces=("elsewhere",), **able("x")),
        ):
            await start(home)
            await full.given(1)
            run = await start(home)
            told = await placement(home, run)
            assert (told["status"], told["attempt"], told["worker"], told["strategy"]) == (
                "queued",
                1,
                None,
                None,
            )
            barred = {each["worker"]: each["barred"] for each in told["candidates"]}
            assert barred == {
                "hands": "lacks x", "poor": "lacks x", "full": "no free slot", "foreign": FOREIGN,
            }  # fmt: skip
            assert {each["node"] for each in told["candidates"]} == {"local"}
            assert "waits for a free slot" in told["waitsFor"]

    play(scene)


def test_whose_workers_others_are_is_not_told() -> None:
    async def whole() -> None:
        async with asyncio.timeout(60), locked() as here:
            mine, work = await here.token("operator", "team-a"), await here.token("worker", "*")
            assert (await here.ask(mine, "POST", "/api/v1/workflows", job())).status == 201
            async with mate(here.home, "of-b", token=work, namespaces=("team-b",), **able("x")):
                run = (await ok(here.ask(mine, "POST", "/api/v1/workflows/job/execute")))["runId"]
                told = await ok(here.ask(mine, "GET", f"/api/v1/runs/{run}/steps/only/placement"))
                assert [each["worker"] for each in told["candidates"]] == ["hands"]

    asyncio.run(whole())


def test_the_filter_says_so_in_these_words() -> None:
    facts = Facts(id=WorkerId("w"), session=SessionId("s"), slots=1, namespaces=("a",))
    assert filters.unfit(known(facts, "n"), frozenset(), "b") == FOREIGN  # type: ignore[arg-type]


def test_a_step_that_runs_or_has_ended_tells_why_its_worker_had_it() -> None:
    async def scene(home: House) -> None:
        await home.save(job())
        async with mate(home, "m1", **able("x")) as m1, mate(home, "m2", **able("x")) as m2:
            ((name, task),) = await ran_by(home, m1, m2, count=1)
            running = await when(lambda: placement(home, task.run), lambda told: told["strategy"])
            assert (running["status"], running["worker"], running["attempt"]) == ("running", name, 1)
            assert (running["strategy"], running["count"], running["waitsFor"]) == ("locality", 2, None)
            assert [each["worker"] for each in running["top"]] == [name, *({"m1", "m2"} - {name})]
            assert running["key"] == running["top"][0]["key"]
            await {"m1": m1, "m2": m2}[name].finish(task)
            ended = await when(lambda: placement(home, task.run), lambda told: told["status"] == "succeeded")
            assert ended == running | {"status": "succeeded"}

    play(scene)


def test_a_step_that_waits_for_others_says_so() -> None:
    async def scene(home: House) -> None:
        steps = {**job()["steps"], "then": {"kind": "noop", "needs": ["only"]}}
        await home.save({"id": "job", "steps": steps})
        run = await start(home)
        told = await placement(home, run, "then")
        assert (told["status"], told["attempt"], told["candidates"]) == ("waiting", None, [])
        assert told["waitsFor"] == "it waits for only"
        answer = await home.ask("GET", f"/api/v1/runs/{run}/steps/nothing/placement")
        assert (answer.status, answer.json["message"]) == (404, f"run {run} has no step nothing")
        answer = await home.ask("GET", "/api/v1/runs/nothing/steps/only/placement")
        assert answer.status == 404

    play(scene)
