"""The leases in PostgreSQL, on the real thing: races, frozen processes, a database that comes and goes."""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import asyncpg
import pytest
from msgspec.structs import replace

from tests.leases import SHARDS, member, owned, settle_in
from tests.waiting import until
from windlass.core.cluster import Holding, Load, NodeId, View
from windlass.core.detector import Detector
from windlass.core.names import run_key, workflow_key
from windlass.journal import Document, Fact, Group, Store
from windlass.journal.postgres import PostgresStore
from windlass.leases import Buried, ClusterEvent, Leases, LeasesAway
from windlass.leases.postgres import ANSWER_S, AnotherCluster, ClusterSettings, PostgresLeases
from windlass.leases.shared import EVENTS_MAX
from windlass.own_postgres import USER, OwnPostgres
from windlass.postgres import DatabaseUnusable, Place, connect

A, B, C = member("a"), member("b"), member("c")
CALM = Load()
SETTINGS = ClusterSettings(shards=SHARDS)
SLACK_S = 3.0  # what a busy machine may add to any time


class House:
    """A place, its leases, and a look behind the curtain."""

    def __init__(self, place: Place, store: Store, cx: asyncpg.Connection) -> None:
        self.place = place
        self.store = store
        self.cx = cx
        self._opened: list[PostgresLeases] = []

    async def node(self) -> PostgresLeases:
        self._opened.append(await PostgresLeases.open(self.place, SETTINGS))
        return self._opened[-1]

    async def two_nodes(self) -> tuple[PostgresLeases, PostgresLeases]:
        """A and B; the even shards are A's, the odd ones B's, all at epoch 1."""
        a, b = await self.node(), await self.node()
        await a.join(A)
        await b.join(B)
        await a.take({shard: B.id if shard % 2 else A.id for shard in range(SHARDS)})
        return a, b

    async def waits(self) -> bool:
        """Whether somebody waits for a lock in this schema."""
        found = (
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = $1"
        )
        return bool(await self.cx.fetchval(found, "windlass leases"))

    async def pids(self, application: str) -> list[int]:
        found = "SELECT pid FROM pg_stat_activity WHERE application_name = $1"
        return [row["pid"] for row in await self.cx.fetch(found, application)]

    async def close(self) -> None:
        for leases in self._opened:
            await leases.close()
        await self.store.close()
        await self.cx.close()


def at_home(story: Callable[[House], Awaitable[None]]) -> Callable[[Place], None]:
    async def play(place: Place) -> None:
        async with asyncio.timeout(60):
            store = await PostgresStore.open(place, readers=1)
            cx = await connect(place, application="test")
            house = House(place, store, cx)
            try:
                await story(house)
            finally:
                await house.close()

    def test(place: Place) -> None:
        asyncio.run(play(place))

    test.__name__ = story.__name__
    return test


async def until_async(condition: Callable[[], Awaitable[object]], within_s: float = 10.0) -> None:
    deadline = time.monotonic() + within_s
    while not await condition():
        assert time.monotonic() < deadline, f"not within {within_s:g} s"


@at_home
async def test_the_first_node_makes_the_cluster_and_all_have_its_secret(house: House) -> None:
    made = await asyncio.gather(*(house.node() for _ in range(5)))
    assert len({leases.secret for leases in made}) == 1
    assert len(made[0].secret) == 64
    assert await house.cx.fetchval("SELECT count(*) FROM cluster") == 1
    view = await made[0].look()
    assert view.shards == dict.fromkeys(range(SHARDS), Holding())
    assert view.database == (await made[1].look()).database
    assert view.at == pytest.approx(time.time(), abs=60)


@at_home
async def test_a_node_with_other_settings_is_told_which_and_what_to_do(house: House) -> None:
    await (await PostgresLeases.open(house.place, ClusterSettings("prod", 12, "hash"))).close()
    for settings, said in (
        (ClusterSettings("prod", 100, "hash"), r"shards 12, .* use 100; .*--shards 12, or choose another"),
        (ClusterSettings("test", 12, "hash"), r"name prod, .* use test; .*--cluster prod"),
        (ClusterSettings("prod", 12, "prefix"), r"strategy hash, .* use prefix; .*--strategy hash"),
    ):
        with pytest.raises(AnotherCluster, match=said):
            await PostgresLeases.open(house.place, settings)
    assert await house.cx.fetchval("SELECT count(*) FROM shards") == 12


def test_a_database_that_is_not_there_is_unusable() -> None:
    with pytest.raises(DatabaseUnusable):
        asyncio.run(PostgresLeases.open(Place("postgresql://nobody@127.0.0.1:1/x"), SETTINGS))


@at_home
async def test_what_is_settled_or_deleted_is_no_entity(house: House) -> None:
    a, _ = await house.two_nodes()
    await settle_in(house.store, await a.look(), 0, ["r1", "r2"], ("w", "gone"))
    gone = Document(key=workflow_key("gone"), version=2, hash="", body=b"", at=1, created_at=1, deleted=True)
    newer = replace(gone, key=workflow_key("w"), deleted=False)
    await house.store.commit([Group(shard=0, epoch=1, documents=[gone, newer])])
    await house.cx.execute("UPDATE runs SET settled = true WHERE id = 'r1'")
    assert (await a.census()).entities[0] == 2
    assert [key.text() for key in await a.entities(0, 9)] == ["run/default/r2", "workflow/default/w"]


@at_home
async def test_of_many_who_bury_at_once_one_does_it(house: House) -> None:
    a, b = await house.two_nodes()
    for life in range(2, 12):
        victim = await house.node()
        await victim.join(member("v", life))
        await a.take({0: NodeId(f"v-{life}")})
        calls = [
            leases.bury(NodeId(f"v-{life}"), beat=0, heirs={0: heir.id}, reason="x")
            for leases, heir in ((a, A), (b, B))
        ]
        assert sorted(await asyncio.gather(*calls)) == [False, True]
    assert len(await a.events(before=None, limit=99, type="failover")) == 10


@at_home
async def test_a_beat_and_a_burial_at_the_same_time_never_both_succeed(house: House) -> None:
    _, b = await house.two_nodes()
    victim = await house.node()
    outcomes = set()
    for life in range(30):
        await victim.join(member("v", life))
        calls = (victim.beat(CALM), b.bury(NodeId(f"v-{life}"), beat=0, heirs={}, reason="x"))
        beaten, buried = await asyncio.gather(*calls, return_exceptions=True)
        assert buried is isinstance(beaten, Buried)
        outcomes.add(buried)
        if not buried:
            assert isinstance(beaten, View)
            await victim.leave()


@at_home
async def test_a_shard_given_to_a_node_that_is_being_buried_never_stays_with_the_dead(house: House) -> None:
    a, b = await house.two_nodes()
    c = await house.node()
    for life in range(20):
        heir = NodeId(f"c-{life}")
        await c.join(member("c", life))
        epoch = (await a.look()).shards[0].epoch
        give = a.give(0, epoch=epoch, to=heir, reason="x")
        given, buried = await asyncio.gather(give, b.bury(heir, beat=0, heirs={0: A.id}, reason="x"))
        assert buried
        view = await b.look()
        assert heir not in {holding.owner for holding in view.shards.values()}
        assert view.shards[0] == Holding(A.id, epoch if given is None else epoch + 2)


@at_home
async def test_a_node_that_leaves_while_it_is_given_something_leaves_nothing_behind(house: House) -> None:
    a, _ = await house.two_nodes()
    c = await house.node()
    for life in range(20):
        heir = NodeId(f"c-{life}")
        await c.join(member("c", life))
        view = await a.look()
        epoch = view.shards[0].epoch
        await asyncio.gather(a.give(0, epoch=epoch, to=heir, reason="x"), c.leave())
        view = await a.look()
        assert view.shards[0].owner in (A.id, None)
        await a.take({0: A.id})


@asynccontextmanager
async def stranger(house: House) -> AsyncIterator[asyncpg.Connection]:
    """A connection of another role than ours, which may write to the journal."""
    schema = house.place.schema
    await house.cx.execute(f"""
        DO $$ BEGIN CREATE ROLE stranger LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
        GRANT USAGE ON SCHEMA {schema} TO stranger;
        GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO stranger""")
    theirs = Place(house.place.url.replace(f"//{USER}@", "//stranger@"), schema)
    cx = await connect(theirs, application="stranger")
    assert await cx.fetchval("SELECT current_user") == "stranger"
    try:
        yield cx
    finally:
        cx.terminate()


@at_home
async def test_nothing_is_kept_after_a_burial_and_nothing_that_was_is_lost(house: House) -> None:
    _, b = await house.two_nodes()
    key = run_key("r")
    told: list[int] = []

    async def write() -> None:
        for seq in itertools.count(1):
            fact = Fact(key, seq, 1.0, "Noted", 1, b"{}")
            if await house.store.commit([Group(shard=0, epoch=1, facts=[fact])]) != [True]:
                return
            told.append(seq)

    writing = asyncio.create_task(write())
    await until(lambda: len(told) >= 10)
    assert await b.bury(A.id, beat=0, heirs={0: B.id}, reason="x")
    found = "SELECT seq FROM events ORDER BY seq"
    at_burial = [row["seq"] for row in await house.cx.fetch(found)]
    await writing
    assert [row["seq"] for row in await house.cx.fetch(found)] == at_burial == told


@at_home
async def test_a_burial_waits_for_an_append_in_flight_and_counts_what_it_kept(house: House) -> None:
    _, b = await house.two_nodes()
    async with stranger(house) as cx:
        append = cx.transaction()
        await append.start()
        assert await cx.fetchval("SELECT epoch FROM shards WHERE shard = 0 FOR SHARE") == 1
        burial = asyncio.create_task(b.bury(A.id, beat=0, heirs={0: B.id}, reason="x"))
        await until_async(house.waits)
        assert not burial.done()
        assert (await (await house.node()).look()).members[A.id].state == "up"
        await cx.execute(
            "INSERT INTO documents VALUES (0, 'default', 'late', 1, 0, 'h', '{}', 1.0, 1.0, false)"
        )
        await append.commit()
        assert await burial
    (failover,) = await b.events(before=None, limit=1, type="failover")
    assert failover.listed == ("workflow/default/late",)
    assert (await b.look()).shards[0] == Holding(B.id, 2)


@at_home
async def test_a_claim_never_ends_a_strangers_transaction_and_gives_up_in_time(house: House) -> None:
    a, b = await house.two_nodes()
    async with stranger(house) as cx, cx.transaction():
        await cx.fetchval("SELECT epoch FROM shards WHERE shard = 0 FOR SHARE")
        began = time.monotonic()
        with pytest.raises(LeasesAway):
            await b.bury(A.id, beat=0, heirs={0: B.id}, reason="x")
        assert time.monotonic() - began < ANSWER_S + SLACK_S
        assert await cx.fetchval("SELECT 1") == 1
    assert (await a.beat(CALM)).shards[0] == Holding(A.id, 1), "nothing of it was done"
    assert await b.bury(A.id, beat=1, heirs={0: B.id}, reason="x"), "and the way is free again"


HOLDER = """
import asyncio, sys, asyncpg
async def main():
    cx = await asyncpg.connect(sys.argv[1])
    await cx.execute("BEGIN")
    await cx.execute(f"SELECT 1 FROM {sys.argv[2]}.shards WHERE shard = 0 FOR SHARE")
    print("held", flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


@contextmanager
def frozen_holder(place: Place) -> Iterator[None]:
    """A process that was stopped in the middle of a transaction, with a shard in its hands."""
    command = [sys.executable, "-c", HOLDER, place.url, place.schema]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"held\n"
            process.send_signal(signal.SIGSTOP)
            yield
        finally:
            process.kill()


@at_home
async def test_a_frozen_process_does_not_keep_its_shards_from_their_heirs(house: House) -> None:
    a, b = await house.two_nodes()
    with frozen_holder(house.place):
        began = time.monotonic()
        assert await b.bury(A.id, beat=0, heirs={0: B.id}, reason="x")
        assert 0.5 <= time.monotonic() - began < ANSWER_S
    assert (await b.look()).shards[0] == Holding(B.id, 2)
    with pytest.raises(Buried):
        await a.beat(CALM)


@at_home
async def test_who_only_waits_in_the_same_queue_is_left_alone(house: House) -> None:
    a, b = await house.two_nodes()
    c = await house.node()
    await c.join(C)
    with frozen_holder(house.place):
        renewal = a.renew({0: 1})
        burial = b.bury(A.id, beat=0, heirs={0: B.id}, reason="x")
        other = c.bury(C.id, beat=9, heirs={}, reason="x")  # has to wait for the one before it
        renewed, buried, _ = await asyncio.gather(renewal, burial, other)
        assert renewed in ({0: 2}, {})
        assert buried
    assert (await c.look()).shards[0] == Holding(B.id, 3 if renewed else 2)


@at_home
async def test_a_lost_connection_is_made_anew(house: House) -> None:
    a, _ = await house.two_nodes()
    for pid in await house.pids("windlass leases"):
        await house.cx.execute("SELECT pg_terminate_backend($1)", pid)
    seen: list[View] = []

    async def answered() -> bool:
        try:
            seen.append(await a.beat(CALM))
        except LeasesAway:
            return False
        return True

    await until_async(answered)
    assert seen[0].members[A.id].alive


@at_home
async def test_a_server_that_swallows_everything_is_given_up_in_time(house: House) -> None:
    a, _ = await house.two_nodes()
    pids = await house.pids("windlass leases")
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        with pytest.raises(LeasesAway):
            await a.beat(CALM)
        assert time.monotonic() - began < ANSWER_S + SLACK_S
        assert (await a.beat(CALM)).members[A.id].beat >= 1, "by another connection"
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


@at_home
async def test_a_call_that_is_cancelled_leaves_a_line_that_works(house: House) -> None:
    _, b = await house.two_nodes()
    async with stranger(house) as cx, cx.transaction():
        await cx.fetchval("SELECT epoch FROM shards WHERE shard = 0 FOR SHARE")
        burial = asyncio.create_task(b.bury(A.id, beat=0, heirs={}, reason="x"))
        await until_async(house.waits)
        burial.cancel()
        with pytest.raises(asyncio.CancelledError):
            await burial
        assert (await b.beat(CALM)).members[B.id].beat == 1


@at_home
async def test_a_heart_beats_on_by_another_connection_and_ends_in_a_black_hole(house: House) -> None:
    a, b = await house.two_nodes()
    heard: list[View] = []
    beating = asyncio.create_task(a.beating(0.05, Load, lambda _, view: heard.append(view)))
    await until(lambda: len(heard) >= 2)
    frozen = await house.pids("windlass heart")
    try:
        os.kill(frozen[0], signal.SIGSTOP)
        count = len(heard)
        await until(lambda: len(heard) > count + 2)
        (second,) = set(await house.pids("windlass heart")) - set(frozen)
        frozen.append(second)
        os.kill(second, signal.SIGSTOP)
        began = time.monotonic()
        beating.cancel()
        with pytest.raises(asyncio.CancelledError):
            await beating
        assert time.monotonic() - began < SLACK_S
    finally:
        for pid in frozen:
            os.kill(pid, signal.SIGCONT)
    assert (await b.look()).members[A.id].beat >= len(heard)


class Watcher:
    """A node that beats and watches the others, faster than usual."""

    def __init__(self, leases: Leases, me: NodeId) -> None:
        self.leases = leases
        self.me = me
        self.detector = Detector(dead_s=1.5, gap_s=1.0)
        self.heard = 0
        self.dead: list[tuple[NodeId, int]] = []

    def hear(self, asked_at: float, view: View) -> None:
        now = time.monotonic()
        beats = {node: m.beat for node, m in view.members.items() if m.alive and node != self.me}
        self.detector.observe(now, beats, asked_at=asked_at)
        self.heard += 1
        self.dead += self.detector.dead(now)

    async def beat(self) -> None:
        await self.leases.beating(0.1, Load, self.hear)


def test_after_an_outage_of_the_database_nobody_is_called_dead(server: OwnPostgres, place: Place) -> None:
    async def story() -> None:
        store = await PostgresStore.open(place, readers=1)
        house = House(place, store, await connect(place, application="test"))
        a, b = await house.two_nodes()
        watchers = [Watcher(a, A.id), Watcher(b, B.id)]
        beating = [asyncio.create_task(watcher.beat()) for watcher in watchers]
        await until(lambda: all(watcher.heard >= 5 for watcher in watchers))
        server.stop("immediate")
        down_since = time.monotonic()
        await until(lambda: time.monotonic() - down_since > 1.7)
        counts = [watcher.heard for watcher in watchers]
        server.start()
        await until(lambda: all(w.heard >= n + 20 for w, n in zip(watchers, counts, strict=True)))
        assert [watcher.dead for watcher in watchers] == [[], []]
        view = await a.look()
        assert (owned(view, A), owned(view, B)) == ([0, 2, 4, 6], [1, 3, 5, 7])

        beating[1].cancel()
        await until(lambda: watchers[0].dead)
        assert {node for node, _ in watchers[0].dead} == {B.id}, "but who is silent while others read is"
        beating[0].cancel()
        await asyncio.gather(*beating, return_exceptions=True)
        await house.store.close()
        for leases in (a, b):
            await leases.close()
        house.cx.terminate()

    asyncio.run(story())


@at_home
async def test_the_long_dead_are_forgotten_when_the_next_node_joins(house: House) -> None:
    a, b = await house.two_nodes()
    await a.bury(B.id, beat=0, heirs={}, reason="x")
    assert set((await (await house.node()).join(C)).members) == {A.id, B.id, C.id}
    await house.cx.execute("UPDATE nodes SET beaten_at = beaten_at - 3601")
    view = await b.join(member("b", 2))
    assert set(view.members) == {A.id, C.id, NodeId("b-2")}, "of the living, none"


@at_home
async def test_old_events_are_deleted_now_and_then(house: House) -> None:
    a = await house.node()
    await house.cx.execute("""
        INSERT INTO cluster_events (type, at, body)
        SELECT 'rebalance', now_s() - (CASE WHEN n % 10 = 0 THEN 31 * 86400 ELSE 0 END), '{"reason": "x"}'
        FROM generate_series(1, 12050) n""")
    for _ in range(50):
        await a.note(ClusterEvent(type="rebalance", at=0.0, reason="new"))
    kept = await house.cx.fetchval("SELECT count(*) FROM cluster_events")
    assert EVENTS_MAX * 0.85 < kept <= EVENTS_MAX
    oldest = await house.cx.fetchval("SELECT min(at) FROM cluster_events")
    assert oldest > time.time() - 30 * 86_400
    assert [event.reason for event in await a.events(before=None, limit=51)] == ["new"] * 50 + ["x"]


@at_home
async def test_a_node_that_names_no_start_gets_the_databases_time(house: House) -> None:
    a = await house.node()
    view = await a.join(replace(A, started_at=0.0))
    assert view.members[A.id].started_at == pytest.approx(view.at, abs=60)


@at_home
async def test_a_beat_is_cheap_with_many_shards(house: House) -> None:
    leases = await PostgresLeases.open(house.place, ClusterSettings(shards=1000))
    await leases.join(A)
    await leases.take(dict.fromkeys(range(1000), A.id))
    began = time.process_time()
    for _ in range(50):
        await leases.beat(CALM)
    assert (time.process_time() - began) / 50 < 0.01
    await leases.close()
