"""The cluster over HTTP: the same from every node, and true."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.gateway.clusters import SHARDS, Town, town
from tests.gateway.house import ONE_STEP, House, house
from tests.waiting import until
from windlass.core.cluster import Holding, Member, Move, NodeId, Plan, View
from windlass.core.strategies import BY_TYPE
from windlass.core.task import Json
from windlass.engine.node import NodeSettings
from windlass.gateway.cluster import moving
from windlass.leases import Census, ClusterEvent, LeasesAway

API = "/api/v1/cluster"
SLOW = {"id": "slow", "steps": {"a": {"kind": "shell", "with": {"command": "x"}}}}
NAMES = ("n1", "n2", "n3")
CLOCKS_S = 0.1


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def alone(scene: Callable[[House], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with house() as home:
            await scene(home)

    asyncio.run(whole())


def together(scene: Callable[[Town], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with town(*NAMES) as here:
            await scene(here)

    asyncio.run(whole())


async def furnish(here: Town, runs: int = 20) -> None:
    """Workflows and runs that stay, on every shard or nearly so; and some that have ended."""
    home = here.homes["n1"]
    await home.save(SLOW)
    await home.save(ONE_STEP)
    for n in range(runs):
        await home.execute("slow", {"runId": f"slow-{n}"}, wait=None)
    for n in range(3):
        await home.execute("one", {"runId": f"one-{n}"})


def same(told: dict[str, Json], *own: str) -> Json:
    """What all nodes said alike; `own` are those parts that are the answering node's own."""
    plain = [_without(answer, {"asOf", "lastUpdated", *own}) for answer in told.values()]
    assert plain[1:] == plain[:-1]
    return plain[0]


def _without(value: Json, names: set[str]) -> Json:
    if isinstance(value, dict):
        return {key: _without(part, names) for key, part in value.items() if key not in names}
    return [_without(part, names) for part in value] if isinstance(value, list) else value


def now_or_just_before(text: str) -> bool:
    age_s = (datetime.now(UTC) - datetime.fromisoformat(text)).total_seconds()
    return -0.01 < age_s < 10.0


async def counted(home: House, name: str) -> dict[tuple[str, ...], float]:
    """The samples of one name, by the values of their labels."""
    text = (await home.ask("GET", "/metrics")).text
    families = list(text_string_to_metric_families(text))
    samples = [sample for family in families for sample in family.samples if sample.name == name]
    return {tuple(sample.labels.values()): sample.value for sample in samples}


# All nodes alike.


@pytest.mark.accepts("S0.8", "S0.33", "S0.34")
def test_every_node_tells_the_same_of_shards_and_that_is_what_the_database_holds() -> None:
    async def scene(here: Town) -> None:
        await furnish(here)
        shards = same(await here.ask(f"{API}/shards"))
        assert (shards["entityType"], shards["totalShards"], shards["activeShards"]) == (
            *("Workflow", SHARDS),
            SHARDS,
        )
        assert [shard["shardId"] for shard in shards["shards"]] == [str(n) for n in range(SHARDS)]
        kept = await here.store.count_entities()
        for shard in shards["shards"]:
            number = int(shard["shardId"])
            owner = here.leases.members[here.leases.owners[number]]  # type: ignore[index]  # nobody's: a failure
            assert shard["location"] == shard["region"] == owner.address
            assert shard["entityCount"] == kept.get(number, 0)
            assert shard["epoch"] == here.store.epoch(number)

        stats = same(await here.ask(f"{API}/stats"), "selfAddress")
        assert (stats["clusterName"], stats["nodeCount"], stats["leader"]) == ("town", 3, None)
        assert stats["sharding"] == {"totalShards": SHARDS, "activeShards": SHARDS, "totalEntities": 22}
        assert stats["shards"] == {
            shard["shardId"]: {"region": shard["region"], "entityCount": shard["entityCount"]}
            for shard in shards["shards"]
        }
        assert {member["status"] for member in stats["members"]} == {"up"}
        addresses = [home.node.me.address for home in here.homes.values()]
        assert [member["address"] for member in stats["members"]] == addresses
        own = await here.ask(f"{API}/stats")
        assert [answer["selfAddress"] for answer in own.values()] == addresses
        assert all(answer["selfRoles"] == ["engine", "gateway"] for answer in own.values())

        times = await here.ask(f"{API}/shards")
        assert all(now_or_just_before(answer["asOf"]) for answer in times.values())
        updated = {(told["asOf"], each["lastUpdated"]) for told in times.values() for each in told["shards"]}
        assert all(as_of == at for as_of, at in updated)

    together(scene)


def test_every_node_tells_the_same_of_nodes_and_knows_which_one_it_is() -> None:
    async def scene(here: Town) -> None:
        await furnish(here)
        told = await here.ask(f"{API}/nodes")
        nodes = same(told, "self", "beatAgeSeconds", "load")["nodes"]
        assert [node["name"] for node in nodes] == list(NAMES)
        assert {node["shards"] for node in nodes} == {SHARDS // 3}
        assert sum(node["entities"] for node in nodes) == 22
        for node in nodes:
            me = here.homes[node["name"]].node.me
            assert (node["id"], node["address"], node["state"], node["version"]) == (
                *(me.id, me.address),
                *("up", "1.2.3"),
            )
            assert now_or_just_before(node["startedAt"])
        for name, answer in told.items():
            assert [node["name"] for node in answer["nodes"] if node["self"]] == [name]
            ages = {node["name"]: node["beatAgeSeconds"] for node in answer["nodes"]}
            assert 0.0 <= ages.pop(name) < 2.5
            assert set(ages.values()) == {None}
            assert all(node["load"]["slots"] >= 1000 for node in answer["nodes"])

    together(scene)


def test_a_location_is_where_the_shard_is_really_open() -> None:
    async def scene(here: Town) -> None:
        await furnish(here)
        paths = [("run", f"slow-{n}") for n in range(20)] + [("workflow", "slow"), ("workflow", "one")]
        for kind, ident in paths:
            place = same(await here.ask(f"{API}/{kind}/{ident}/location"))
            number = int(place["shardId"])
            open_at = {name for name, home in here.homes.items() if home.node.router.shard(number)}
            assert open_at == {place["node"]}
            assert place[f"{kind}Id"] == ident
            assert place["nodeAddress"] == place["region"] == here.homes[place["node"]].node.me.address
            assert place["epoch"] == here.store.epoch(number)
        assert len({same(await here.ask(f"{API}/run/{run}/location"))["node"] for _, run in paths[:20]}) == 3

    together(scene)


# What happens to it.


@pytest.mark.accepts("S0.80")
def test_a_node_that_dies_is_told_counted_and_no_longer_where_anything_is() -> None:
    async def scene(here: Town) -> None:
        await furnish(here)
        lost = here.homes["n2"].node
        held = [n for n in range(SHARDS) if here.leases.owners[n] == lost.me.id]
        kept = await here.store.count_entities()
        for home in here.homes.values():
            before = await counted(home, "workflow_failover_total")
            assert before == {("killed",): 0.0, ("replaced",): 0.0, ("silent",): 0.0}
        await here.kill("n2")
        await here.settled("n1", "n3")

        stats = same(await here.ask(f"{API}/stats"), "selfAddress")
        assert (stats["nodeCount"], stats["sharding"]["activeShards"]) == (2, SHARDS)
        assert [member["status"] for member in stats["members"]] == ["up", "removed", "up"]
        nodes = same(await here.ask(f"{API}/nodes"), "self", "beatAgeSeconds", "load")["nodes"]
        dead = nodes[1]
        assert (dead["name"], dead["state"], dead["shards"], dead["entities"]) == ("n2", "dead", 0, 0)
        places = [same(await here.ask(f"{API}/run/slow-{n}/location"))["node"] for n in range(20)]
        assert set(places) == {"n1", "n3"}

        (failover,) = same(await here.ask(f"{API}/events?type=failover"))["events"]
        assert (failover["node"], failover["reason"]) == ("n2", "its process is gone")
        assert failover["entities"] == sum(kept.get(n, 0) for n in held)
        assert len(failover["listed"]) == failover["entities"]
        assert {int(lost.shard_of(entity.rpartition("/")[2])) for entity in failover["listed"]} <= set(held)
        ended, began = (datetime.fromisoformat(failover[key]) for key in ("at", "startedAt"))
        assert failover["downtimeSeconds"] == pytest.approx((ended - began).total_seconds(), abs=0.002)
        (member,) = same(await here.ask(f"{API}/events?type=member&limit=1"))["events"]
        assert (member["node"], member["status"]) == ("n2", "dead")

        counts = [await counted(home, "workflow_failover_total") for home in here.homes.values()]
        assert sum(count["killed",] for count in counts) == 1.0
        assert sum(count["silent",] for count in counts) == 0.0

    together(scene)


def test_a_node_that_is_started_again_is_shown_once() -> None:
    async def scene(here: Town) -> None:
        before = here.homes["n2"].node.me.id
        await here.kill("n2")
        await here.settled("n1", "n3")
        await here.add("n2")
        await here.settled(*NAMES)
        nodes = (await here.homes["n1"].ask("GET", f"{API}/nodes")).json["nodes"]
        assert [(node["name"], node["state"]) for node in nodes] == [(name, "up") for name in NAMES]
        assert before not in {node["id"] for node in nodes}

    together(scene)


@pytest.mark.accepts("S0.81")
def test_moves_are_told_with_time_reason_and_entities_and_rounds_are_counted() -> None:
    async def play() -> None:
        async with town("n1") as here:
            await furnish(here)
            rounds = (await counted(here.homes["n1"], "workflow_rebalance_total"))[()]
            assert rounds == 0.0
            await here.add("n2")
            await here.settled("n1", "n2")
            home = here.homes["n1"]
            await here.rebalanced()
            moves = same(await here.ask(f"{API}/events?type=migration"))["events"]
            assert len(moves) == SHARDS // 2
            for move in moves:
                assert (move["source"], move["target"]) == ("n1", "n2")
                assert move["reason"] == "the members have changed"
                assert move["startedAt"] <= move["at"]
                assert len(move["listed"]) == move["entities"]
                assert all(home.node.shard_of(each.split("/")[2]) == move["shard"] for each in move["listed"])
            round_, began = same(await here.ask(f"{API}/events?type=rebalance"))["events"]
            assert (began["status"], round_["status"]) == ("started", "ended")
            assert round_["reason"] == began["reason"] == "the members have changed: 6 shards"
            # Who tells of a round, and who of a move, look at their own clocks.
            assert moment(round_["startedAt"]) <= min(moment(move["startedAt"]) for move in moves) + CLOCKS_S
            assert moment(round_["at"]) >= max(moment(move["at"]) for move in moves) - CLOCKS_S
            counts = [await counted(each, "workflow_rebalance_total") for each in here.homes.values()]
            assert sum(count[()] for count in counts) == 1.0
            assert (await counted(home, "windlass_shards_moved_total"))[()] == SHARDS // 2

    asyncio.run(play())


def test_any_node_lets_another_one_go_and_what_it_owned_is_elsewhere() -> None:
    async def scene(here: Town) -> None:
        await furnish(here)
        n1, n2 = here.homes["n1"], here.homes["n2"]
        asked = await n1.ask("POST", f"{API}/nodes/n2/drain", {})
        assert (asked.status, asked.json) == (202, {"node": "n2", "state": "leaving"})
        again = await n1.ask("POST", f"{API}/nodes/n2/drain", {})
        assert again.status == 409
        assert again.json["message"] == "n2 is leaving already"
        await until(lambda: not here.leases.owned(n2.node.me.id))
        await until(lambda: n2.node.me.state == "leaving")
        ready = await n2.ask("GET", "/health/ready")
        assert (ready.status, ready.text) == (503, "draining\n")
        assert (await n1.ask("GET", "/health/ready")).status == 200
        stats = same(await here.ask(f"{API}/stats"), "selfAddress")
        assert [member["status"] for member in stats["members"]] == ["up", "leaving", "up"]
        assert stats["nodeCount"] == 3
        moves = same(await here.ask(f"{API}/events?type=migration&limit=4"))["events"]
        assert {move["source"] for move in moves} == {"n2"}
        await until(lambda: n1.node.membership.members[n2.node.me.id].state == "leaving")
        assert (await counted(n1, "windlass_members")) == {("up",): 2.0, ("leaving",): 1.0}

    together(scene)


def test_who_is_no_living_node_cannot_be_let_go() -> None:
    async def scene(here: Town) -> None:
        n1 = here.homes["n1"]
        nobody = await n1.ask("POST", f"{API}/nodes/n9/drain", {})
        assert (nobody.status, nobody.json["message"]) == (404, "there is no node n9")
        await here.kill("n3")
        await here.settled("n1", "n2")
        dead = await n1.ask("POST", f"{API}/nodes/n3/drain", {})
        assert (dead.status, dead.json["message"]) == (404, "n3 is dead: it owns nothing")

    together(scene)


def test_links_with_other_nodes_are_measured() -> None:
    async def scene(here: Town) -> None:
        n1 = here.homes["n1"]
        await until(lambda: len(n1.node.peers.trips()) == 2)
        trips = await counted(n1, "windlass_peer_round_trip_seconds")
        assert set(trips) == {("n2",), ("n3",)}
        assert all(0.0 < trip_s < 5.0 for trip_s in trips.values())
        traffic = await counted(n1, "windlass_peer_bytes_total")
        assert set(traffic) == {("sent",), ("received",)}
        assert all(size > 0 for size in traffic.values())

    together(scene)


# One node alone.


def test_a_node_alone_is_a_cluster_of_one() -> None:
    async def scene(home: House) -> None:
        await home.save(SLOW)
        await home.execute("slow", {"runId": "r1"}, wait=None)
        stats = (await home.ask("GET", f"{API}/stats")).json
        assert (stats["clusterName"], stats["nodeCount"]) == ("windlass", 1)
        assert stats["sharding"] == {"totalShards": 4, "activeShards": 4, "totalEntities": 2}
        (node,) = (await home.ask("GET", f"{API}/nodes")).json["nodes"]
        assert (node["name"], node["self"], node["shards"], node["entities"]) == ("local", True, 4, 2)
        place = (await home.ask("GET", f"{API}/run/r1/location")).json
        assert (place["shardId"], place["node"]) == (str(home.node.shard_of("r1")), "local")
        events = (await home.ask("GET", f"{API}/events")).json
        assert [event["status"] for event in events["events"]] == ["joined"]
        assert events["next"] is None

    alone(scene)


def test_the_status_is_a_few_lines_of_text() -> None:
    async def scene(here: Town) -> None:
        answer = await here.homes["n2"].ask("GET", "/monitoring/cluster/status")
        assert answer.headers["Content-Type"].startswith("text/plain")
        first, nodes, shards, entities, *rest = answer.text.splitlines()
        assert first.startswith("cluster town at 20")
        assert (nodes, shards, entities) == ("nodes 3", "shards 12 of 12 active", "entities 0")
        address = here.homes["n2"].node.me.address
        assert rest[1] == f"node n2 at {address}: up, 4 shards, 0 entities, this node"
        assert len(rest) == 3

    together(scene)


def test_the_entities_of_a_shard_are_listed_up_to_a_limit_beside_their_number() -> None:
    async def scene(home: House) -> None:
        await home.save(SLOW)
        runs = [f"r{n}" for n in range(40) if home.node.shard_of(f"r{n}") == 1]
        for run in runs:
            await home.execute("slow", {"runId": run}, wait=None)
        names = sorted(f"run/default/{run}" for run in runs)
        names += ["workflow/default/slow"] * (home.node.shard_of("slow") == 1)
        whole = (await home.ask("GET", f"{API}/shards/1")).json
        assert (whole["shardId"], whole["entityCount"], whole["entities"]) == ("1", len(names), names)
        few = (await home.ask("GET", f"{API}/shards/1?limit=2")).json
        assert (few["entityCount"], few["entities"]) == (len(names), names[:2])
        assert few["asOf"] == few["lastUpdated"]
        (entry,) = [s for s in (await home.ask("GET", f"{API}/shards")).json["shards"] if s["shardId"] == "1"]
        assert entry == {key: entry.get(key) for key in whole if key not in ("entities", "asOf")}
        assert entry["entityCount"] == whole["entityCount"]

    alone(scene)


@pytest.mark.parametrize("shard", ["4", "-1", "x", "1.0", "9" * 30, "٣"])
def test_a_shard_that_does_not_exist_is_not_found(shard: str) -> None:
    async def scene(home: House) -> None:
        answer = await home.ask("GET", f"{API}/shards/{shard}")
        assert answer.status == 404
        assert "they go from 0 to 3" in answer.json["message"]

    alone(scene)


def test_what_does_not_exist_is_nowhere() -> None:
    async def scene(home: House) -> None:
        run = await home.ask("GET", f"{API}/run/nobody/location")
        assert (run.status, run.json["error"], run.json["runId"]) == (404, "Run not found", "nobody")
        workflow = await home.ask("GET", f"{API}/workflow/nobody/location")
        assert (workflow.status, workflow.json["error"]) == (404, "Workflow not found")
        await home.save(SLOW)
        assert (await home.ask("GET", f"{API}/workflow/slow/location")).status == 200
        await home.ask("DELETE", "/api/v1/workflows/slow")
        assert (await home.ask("GET", f"{API}/workflow/slow/location")).status == 404

    alone(scene)


def test_events_come_in_pages_newest_first_and_by_type() -> None:
    async def scene(home: House) -> None:
        for n in range(5):
            await home.node.leases.note(
                ClusterEvent(
                    type="migration", at=100.0 + n, reason=f"move {n}", shard=n, source="a", target="b"
                )
            )
        first = (await home.ask("GET", f"{API}/events?type=migration&limit=2")).json
        assert [event["reason"] for event in first["events"]] == ["move 4", "move 3"]
        assert first["next"] == first["events"][-1]["number"]
        path = f"{API}/events?type=migration&limit=3&before={first['next']}"
        rest = (await home.ask("GET", path)).json
        assert [event["shard"] for event in rest["events"]] == [2, 1, 0]
        assert rest["next"] is None
        move = rest["events"][-1]
        assert (move["at"], move["startedAt"]) == ("1970-01-01T00:01:40.000Z", None)
        assert (move["node"], move["status"], move["downtimeSeconds"]) == (None, None, None)
        assert len((await home.ask("GET", f"{API}/events")).json["events"]) == 6

    alone(scene)


@pytest.mark.parametrize("query", ["type=moves", "limit=0", "before=0", "before=x"])
def test_a_question_that_makes_no_sense_is_refused(query: str) -> None:
    async def scene(home: House) -> None:
        answer = await home.ask("GET", f"{API}/events?{query}")
        assert answer.status == 422
        assert answer.json["message"].startswith(f"`{query.partition('=')[0]}`: expected")

    alone(scene)


def test_while_the_database_is_away_nobody_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object, **__: object) -> Census:
        raise LeasesAway("the database does not answer")

    async def scene(home: House) -> None:
        await home.save(SLOW)
        for name in ("census", "look", "events", "entities"):
            monkeypatch.setattr(home.node.leases, name, away)
        for path in ("stats", "nodes", "shards", "shards/1", "events", "workflow/slow/location"):
            answer = await home.ask("GET", f"{API}/{path}")
            assert (answer.status, answer.json["error"]) == (503, "Unavailable")
            assert answer.json["message"] == "the database does not answer"
            assert answer.headers["Retry-After"] == "1"

    alone(scene)


def test_a_drain_without_an_answer_may_have_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(node: object) -> bool:
        raise LeasesAway("the database does not answer")

    async def scene(here: Town) -> None:
        n1 = here.homes["n1"]
        monkeypatch.setattr(n1.node.leases, "withdraw", away)
        answer = await n1.ask("POST", f"{API}/nodes/n2/drain", {})
        assert answer.status == 504
        assert "n2 may be leaving now" in answer.json["message"]

    together(scene)


def test_a_node_that_is_alone_has_nobody_to_hand_over_to() -> None:
    async def scene(home: House) -> None:
        answer = await home.ask("POST", f"{API}/nodes/local/drain", {})
        assert answer.status == 409
        assert "start one first" in answer.json["message"]

    alone(scene)


# Health.


def test_health_names_the_node_its_cluster_and_its_lease() -> None:
    async def scene(here: Town) -> None:
        n1 = here.homes["n1"]
        health = await n1.ask("GET", "/health", headers={"Accept": "application/json"})
        assert health.status == 200
        told = {key: health.json[key] for key in ("node", "cluster", "members", "lease")}
        assert told == {"node": "n1", "cluster": "town", "members": 3, "lease": "fresh"}
        lines = (await n1.ask("GET", "/health")).text.splitlines()
        assert lines[-3:] == ["node n1 of cluster town", "members 3", "lease fresh"]
        assert "shards 4 of 12 open" in lines

    together(scene)


def test_who_may_have_lost_its_shards_is_not_ready_and_says_why() -> None:
    async def scene(home: House) -> None:
        membership = home.node.membership
        real = membership.monotonic
        membership.monotonic = lambda: real() + 60.0
        ready = await home.ask("GET", "/health/ready")
        assert ready.status == 503
        assert ready.text.startswith("lease stale: no beat for 6")
        health = await home.ask("GET", "/health", headers={"Accept": "application/json"})
        assert (health.status, health.json["lease"]) == (503, "stale")
        assert (await counted(home, "windlass_lease_fresh"))[()] == 0.0
        assert 60.0 <= (await counted(home, "windlass_beat_age_seconds"))[()] < 65.0
        membership.monotonic = real
        assert (await home.ask("GET", "/health/ready")).status == 200

    alone(scene)


# Ids of runs.


def test_new_runs_lie_with_their_kind_where_the_strategy_wants_it() -> None:
    async def play() -> None:
        settings = NodeSettings(shards=4, shard_of=BY_TYPE.of, run_prefix=BY_TYPE.prefix)
        async with house(settings=settings) as home:
            await home.save({**ONE_STEP, "id": "ml-training:x"})
            await home.save({**ONE_STEP, "id": "other"})
            begun = await home.execute("ml-training:x")
            assert begun["runId"].startswith("ml-training:exec_")
            place = (await home.ask("GET", f"{API}/run/{begun['runId']}/location")).json
            mother = (await home.ask("GET", f"{API}/workflow/ml-training:x/location")).json
            assert place["shardId"] == mother["shardId"] == "1"
            path = "/api/v1/workflows/ml-training:x/execute"
            keyed = [await home.ask("POST", path, headers={"Idempotency-Key": "k"}) for _ in range(2)]
            assert keyed[0].json["runId"] == keyed[1].json["runId"]
            assert keyed[0].json["runId"].startswith("ml-training:exec_")
            wanted = [{"workflow": "ml-training:x"}, {"workflow": "other"}]
            wanted += [{"workflow": "ml-training:x", "runId": "mine"}]
            batch = (await home.ask("POST", "/api/v1/runs:batch", {"runs": wanted})).json["items"]
            assert [item["runId"].partition("exec_")[0] for item in batch] == ["ml-training:", "", "mine"]

    asyncio.run(play())


def test_runs_whose_ids_the_server_chooses_live_where_they_were_asked_for() -> None:
    async def play() -> None:
        async with town("a", "b", "c") as here:
            await here.homes["a"].save(ONE_STEP)
            for home in here.homes.values():
                started = await home.ask("POST", f"/api/v1/workflows/{ONE_STEP['id']}/execute")
                batch = await home.ask("POST", "/api/v1/runs:batch", {"runs": [{"workflow": ONE_STEP["id"]}]})
                for run in (started.json["runId"], batch.json["items"][0]["runId"]):
                    assert home.node.router.shard(home.node.shard_of(run)) is not None

    asyncio.run(play())


# What moved.


def test_a_move_is_told_while_it_is_planned_and_not_once_it_was_made_or_overtaken() -> None:
    nodes = {NodeId(name): Member(id=NodeId(name), name=name.upper(), address=name) for name in "ab"}
    moves = tuple(Move(shard, NodeId("a"), NodeId("b"), epoch=1) for shard in range(3))
    gone = Move(3, NodeId("a"), NodeId("dead"), epoch=1)
    a, b = NodeId("a"), NodeId("b")
    shards = {0: Holding(a, 1), 1: Holding(b, 2), 2: Holding(a, 2), 3: Holding(a, 1)}
    view = View(members=nodes, shards=shards, plan=Plan(round=1, moves=(*moves, gone)))
    assert moving(view) == {0: "B"}


def test_every_node_tells_when_each_shard_moved_and_who_had_it_before() -> None:
    async def scene(here: Town) -> None:
        owners = {s["shardId"]: s["location"] for s in (await shards_told(here))["shards"]}
        names = {home.node.me.address: name for name, home in here.homes.items()}
        lost = {number for number, address in owners.items() if names[address] == "n3"}
        before = datetime.now(UTC)
        await here.kill("n3")
        await here.settled("n1", "n2")
        told = {shard["shardId"]: shard for shard in (await shards_told(here))["shards"]}
        for number in lost:
            assert told[number]["movedFrom"] == "n3"
            assert datetime.fromisoformat(told[number]["movedAt"]) >= before
        assert lost

    together(scene)


async def shards_told(here: Town) -> Json:
    return same(await here.ask(f"{API}/shards"))


def test_a_node_alone_never_moved_anything() -> None:
    async def scene(home: House) -> None:
        told = (await home.ask("GET", f"{API}/shards")).json["shards"]
        assert {(shard["movedAt"], shard["movedFrom"], shard["movingTo"]) for shard in told} == {
            (None, None, None)
        }

    alone(scene)
