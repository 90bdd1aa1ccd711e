"""One engine process: joins the cluster, holds the shards that are its own, and keeps house."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from windlass.core import sharding
from windlass.core.assign.index import Custom
from windlass.core.cluster import Load, Member, NodeId, View
from windlass.core.commands import FinishStep
from windlass.core.errors import NotFound, Refused, Stuck, WindlassError
from windlass.core.log import Bounds, Printed
from windlass.core.names import Key, SessionId, WorkerId, run_key
from windlass.core.orders import Purge
from windlass.core.task import Failure, Outcome, Success, Task
from windlass.engine.callbacks import Callbacks
from windlass.engine.calls import Calls
from windlass.engine.carrier import Carrier
from windlass.engine.clock import Clock
from windlass.engine.crew_secrets import references
from windlass.engine.definitions import Definitions
from windlass.engine.figures import Figures
from windlass.engine.fleet import Fleet, FleetSettings, no_custom
from windlass.engine.followers import Followers
from windlass.engine.following import Following
from windlass.engine.herald import Herald
from windlass.engine.holders import Holders
from windlass.engine.hooks import Hooks
from windlass.engine.host import NodeHost
from windlass.engine.logbook import Logbook
from windlass.engine.membership import ClusterSettings, Membership
from windlass.engine.nudges import Nudges
from windlass.engine.post import NoPost, Post
from windlass.engine.pulses import Pulses
from windlass.engine.router import Router
from windlass.engine.secrets import Secrets
from windlass.engine.slots import BuiltIn
from windlass.engine.stats import Stats
from windlass.engine.surroundings import Settings, Surroundings
from windlass.engine.tending import Tending
from windlass.engine.tenure import Tenure
from windlass.engine.timers import LOOK_S, Timers
from windlass.journal import Store, StoreError
from windlass.journal.committer import Committer
from windlass.leases import Buried, Leases, LeasesAway, NameTaken
from windlass.peers import Host, Lost, Peers, Unreachable
from windlass.registry import Registry
from windlass.vault import Keyring
from windlass.wire import messages
from windlass.wire.messages import (
    IsQuiet,
    Quiet,
    Wrote,
)

log = logging.getLogger(__name__)

SHARDS: Final = 100
PURGED_AT_ONCE: Final = 500
AGAIN_S: Final = 0.25
ASK_S: Final = 2.0
ASTRAY_LOOK_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class NodeSettings:
    shards: int = SHARDS
    shard_of: Callable[[str, int], int] = sharding.of
    run_prefix: Callable[[str], str] = lambda workflow: ""  # what the ids of a workflow's new runs begin with
    cluster_name: str = "windlass"
    shard: Settings = field(default_factory=Settings)
    cluster: ClusterSettings = field(default_factory=ClusterSettings)
    sweep_every_s: float = 10.0
    retention_s: float = 30 * 86400.0
    purge_every_s: float = 600.0
    logs: Bounds = field(default_factory=Bounds)
    namespace_tasks: int = 0  # steps of one namespace that run at once, in the whole cluster; 0: any number
    token_tasks: int = 0  # the same for the runs that one token has started
    fleet: FleetSettings = field(default_factory=FleetSettings)
    look_s: float | None = LOOK_S  # how often the wall clock is looked at; None in a simulation


class Node:
    def __init__(
        self,
        store: Store,
        settings: NodeSettings,
        *,
        leases: Leases,
        registry: Registry,
        peers: Callable[[Host], Peers],
        member: Member,
        wall: Callable[[], float],
        chance: random.Random,
        monotonic: Callable[[], float] | None = None,
        probe: Callable[[], Load] = Load,
        post: Post | None = None,  # how webhooks are sent
        keyring: Keyring | None = None,  # that seals secrets; None: there is no key here
        task_key: bytes = b"",  # that proves to whom a task was given; the same for all nodes of a cluster
        custom: Callable[[str], Custom] = no_custom,  # strategies of the user's, by name
    ) -> None:
        self.store = store
        self.leases = leases
        self.registry = registry
        self.settings = settings
        self.clock = Clock(wall)
        self.secrets = Secrets(registry, keyring or Keyring(), self.clock.now)
        self.committer = Committer(store)
        self.followers = Followers()
        self.log_followers = Followers()  # they hear only that there are more lines
        self.stats = Stats()
        self.timers = Timers(self.clock, look_s=settings.look_s)
        self.definitions = Definitions(store, self.shard_of)
        self.ready = asyncio.Event()  # joined, and every shard that is ours is open
        self._chance = chance
        self._probe = probe
        self.membership = Membership(
            member, settings.cluster, monotonic or asyncio.get_running_loop().time, self._changed
        )
        late = _Late()
        self.peers = peers(late)
        self.calls = Calls(self.peers, lambda: self.membership.members)
        self.fleet = Fleet(
            self,
            self.membership,
            settings.fleet,
            calls=lambda: self.calls,
            chance=chance,
            key=task_key,
            custom=custom,
            bounds=self._tasks_bounds,
            refers_to=references(store, self.definitions, self.shard_of),
        )
        self.dispatcher = self.fleet.dispatcher
        self.router = Router(store, self.definitions, self.shard_of, self.membership, self.calls, self.stats)
        self.runs = Following(self.followers, self.calls, self.membership, self.shard_of)
        self.prints = Following(self.log_followers, self.calls, self.membership, self.shard_of, logs=True)
        self.holders = Holders(self.membership, self.dispatcher, self.calls, self.fleet.astray, self.shard_of)
        self.logbook = Logbook(
            store,
            self.committer,
            self.log_followers,
            bounds=settings.logs,
            shard_of=self.shard_of,
            epoch_of=self._epoch_of,
            clock=self.clock.now,
        )
        self.hooks = Hooks(registry)
        post = post or NoPost()
        self.herald = Herald(
            store,
            self.committer,
            self.hooks,
            post,
            Callbacks(store, self.secrets, post, self.clock),
            clock=self.clock,
            chance=chance,
            may_speak=lambda: self.membership.fresh,
        )
        self.carrier = Carrier(self.router, self.definitions, self.clock)
        self.nudges = Nudges(self.router)
        self._around = Surroundings(
            store=store,
            journal=self.committer,
            definitions=self.definitions,
            dispatcher=self.dispatcher,
            timers=self.timers,
            followers=self.followers,
            clock=self.clock,
            chance=chance,
            stats=self.stats,
            settings=settings.shard,
            lease=self.membership,
            hooks=self.hooks,
            herald=self.herald,
            holders=self.holders.find,
            carrier=lambda: self.carrier,
            nudge=self.nudges.send,
            on_open=self.fleet.opened,
            short=self._short,
            too_new=lambda shard: self.tending.give_back(shard),
        )
        self.tenure = Tenure(
            self._around, self.membership, leases, self.router, self.logbook, self.runs, on_open=self._note
        )
        self.tending = Tending(
            self.membership, leases, self.peers, self.calls, self.tenure, self.stats, self.clock
        )
        self.figures = Figures(
            self.membership,
            self.calls,
            self.stats,
            self.committer,
            self.dispatcher,
            self.router,
            self.timers,
            self.clock,
        )
        self.pulses = Pulses(self.membership, self.calls, self.stats.pulse, self.dispatcher, self.clock)
        late.host = NodeHost(
            self.membership,
            self.router,
            self.fleet,
            self.calls,
            self.logbook,
            self.runs,
            self.prints,
            figures=self.figures.own,
            pulse=self.pulses.own,
            on_linked=self.tending.linked,
            on_unlinked=self.tending.suspect,
            on_met=self.tending.met,
        )

    @property
    def me(self) -> Member:
        return self.membership.me

    def shard_of(self, ident: str) -> int:
        return self.settings.shard_of(ident, self.settings.shards)

    # Its life.

    async def serve(self) -> None:
        """Run until cancelled. Raises NameTaken if a living node has our name."""
        try:
            async with asyncio.TaskGroup() as group:
                self.tenure.group = self.tending.group = group
                try:
                    await self._work(group)
                finally:  # what the links tell from now on begins nothing
                    self.tenure.group = self.tending.group = None
        finally:
            self.fleet.close()
            self.nudges.close()
            self.timers.close()
            await self.peers.close()

    async def _work(self, group: asyncio.TaskGroup) -> None:
        settings = self.settings
        group.create_task(self.committer.serve(), name="committer")
        group.create_task(self.logbook.serve(), name="logbook")
        await self.hooks.first()
        await self.fleet.assignment.look()
        await self._join()
        group.create_task(self._beat(), name="beats")
        group.create_task(self.hooks.serve(), name="webhooks known")
        group.create_task(self.herald.serve(), name="webhooks told")
        group.create_task(self.fleet.serve(), name="fleet")
        group.create_task(self.tending.serve(), name="tending")
        group.create_task(self.runs.serve(), name="following runs")
        group.create_task(self.prints.serve(), name="following logs")
        group.create_task(self._every(settings.sweep_every_s, self._sweep), name="sweeper")
        group.create_task(self._every(settings.purge_every_s, self.purge), name="purger")
        group.create_task(self._every(settings.cluster.audit_s, self._audit), name="auditor")
        await asyncio.Event().wait()

    async def drain(self) -> None:
        """Hand everything over; returns when nothing is ours any more, or nobody is there to take it."""
        await self.tending.drain()

    async def _join(self) -> None:
        while True:
            try:
                await self._enter()
                return
            except LeasesAway as error:
                log.warning("cannot join yet", extra={"reason": str(error)})
                await asyncio.sleep(AGAIN_S)
            except Buried:  # we had joined and did not hear of it; and nobody heard of us for too long
                self.membership.reborn(self._another_life())

    async def _enter(self) -> None:
        asked_at, sure = self.membership.monotonic(), None
        try:
            view = await self.leases.join(self.me)
        except NameTaken:
            sure = await self._same_name()
            asked_at = self.membership.monotonic()
            view = await self.leases.join(self.me, sure=sure)
            if sure is not None:
                self.stats.failovers["replaced"] += 1
        self._heard(asked_at, view)

    async def _same_name(self) -> NodeId | None:
        """The life of a node with our name that has ended. Raises NameTaken if it lives."""
        beat: int | None = None
        monotonic = self.membership.monotonic
        since = monotonic()
        while True:
            view = await self.leases.look()
            other = next((m for m in view.members.values() if m.alive and m.name == self.me.name), None)
            if other is None:
                return None
            # We listen there now, so it does not; unless that is another machine's loopback, or a name that
            # several share. Its beat tells: two who took each other for dead would never stop.
            ours = other.address == self.me.address
            still_s = self.settings.cluster.refused_s if ours else self.settings.cluster.dead_s
            if beat is None:
                beat, since = other.beat, monotonic()
            elif other.beat != beat:
                stop = "stop that one, or give this one another --name"
                share = "let each of the two --advertise an address of its own"
                raise NameTaken(
                    f"a node named {other.name} is alive at {other.address}; {share if ours else stop}"
                )
            elif monotonic() - since >= still_s:
                return other.id
            await asyncio.sleep(AGAIN_S)

    async def _beat(self) -> None:
        while True:
            try:
                await self.leases.beating(self.settings.cluster.beat_s, self._load, self._heard)
            except Buried as buried:
                log.warning("this node was declared dead; it forgets everything and joins anew")
                await self._be_reborn(str(buried))

    async def _be_reborn(self, reason: str) -> None:
        """What we owned is somebody else's, and what our workers hold was given up: nobody waits for it."""
        self.stats.reborn += 1
        self.ready.clear()
        self.membership.reborn(self._another_life())
        await self.tenure.forget_all(reason)
        self.fleet.reborn()
        await self._join()

    def _another_life(self) -> Member:
        another = NodeId(f"{self._chance.getrandbits(48):012x}")
        return msgspec.structs.replace(self.me, id=another, state="up", beat=0)

    def _heard(self, asked_at: float, view: View) -> None:
        if view.at:
            self.clock.steer(asked_at, view.at)
        stale = not self.membership.fresh
        self.membership.beaten(asked_at, view)
        if stale:
            self.dispatcher.match()  # what could not be handed out while we were not sure of our shards

    def _changed(self) -> None:
        """Something is known of the cluster that was not known before."""
        others = self.membership.others()
        self.peers.meet(self.me, others)
        for gone in self.fleet.met():
            self.runs.gone(gone)
            self.prints.gone(gone)
        self.tenure.reconcile()
        self.runs.moved()
        self.prints.moved()
        self.router.changed()
        self.tending.wake()
        self._note()

    def _note(self) -> None:
        """Whether we can serve: every shard has an owner, and ours are open."""
        owned = all(holding.owner is not None for holding in self.membership.shards.values())
        if owned and self.membership.shards and self.tenure.all_open:
            self.ready.set()
        elif len(self.membership.members) < 2:  # nobody else can serve what is closed
            self.ready.clear()

    def _load(self) -> Load:
        shards = self.router.shards()
        free = self.dispatcher.free
        return msgspec.structs.replace(
            self._probe(),
            live=sum(shard.live_count for shard in shards),
            inbox=sum(shard.depth for shard in shards),
            slots=free + len(self.dispatcher.held_here),
            free=free,
        )

    def _tasks_bounds(self) -> tuple[int, int]:
        """Our share of what a namespace, and a token, may have out in the whole cluster."""
        allowed = self.settings.namespace_tasks, self.settings.token_tasks
        if allowed == (0, 0):
            return allowed
        engines = sum(m.engine and m.state == "up" for m in self.membership.members.values())
        of_namespace, of_token = (most and max(1, most // max(1, engines)) for most in allowed)
        return of_namespace, of_token

    def _short(self) -> str:
        load = self.me.load
        if not load.short:
            return ""
        return f"node {self.me.name} is short of memory ({load.memory:.0%} in use) and starts no new runs"

    def _epoch_of(self, number: int) -> int | None:
        shard = self.router.shard(number)
        return None if shard is None else shard.epoch

    # For its workers.

    def employ(self, worker: BuiltIn) -> None:
        self.dispatcher.employ(worker)

    def dismiss(self, session: SessionId, reason: str) -> None:
        """The worker is gone for good; the owners of what it held are told, wherever they are."""
        self.dispatcher.dismiss(session, reason)

    def log(self, task: Task, printed: Printed) -> None:
        """What an attempt printed. Before its result is reported, the worker tells the last of it."""
        number = self.shard_of(task.run)
        owner = self.membership.holding(number).owner
        if owner is None or owner == self.me.id:
            self.logbook.add(task, printed)
        else:
            named = Task(task.run, task.step, task.attempt, task.kind, namespace=task.namespace)
            self.calls.tell(owner, Wrote(messages.encode_task(named), printed))

    async def report(self, worker: WorkerId, task: Task, outcome: Outcome, started_at: float) -> None:
        """A worker's result, back to the owner of its run; returns when it is kept or not wanted.

        Raises Unavailable or Unknown: the worker keeps the result and reports it again.
        """
        key = run_key(task.run, task.namespace)
        self.dispatcher.reported(task.name)
        await self.logbook.hand_over(key)
        finish = FinishStep(
            step=task.step,
            attempt=task.attempt,
            outcome=outcome,
            worker=worker,
            started_at=started_at,
            at=self.clock.now(),
        )
        try:
            await self.router.send(key, finish)
        except (NotFound, Stuck) as nobody:
            log.info("a result came for nobody", extra={"run": task.run, "reason": str(nobody)})
        except Refused as refusal:
            # The journal cannot keep this very result. The step must still end.
            failure = Failure("NotKept", str(refusal), retryable=False)
            if not isinstance(outcome, Failure):
                await self.report(worker, task, failure, started_at)
                return
        took_s = finish.at - started_at
        self.dispatcher.held_here.went(task.name, ok=isinstance(outcome, Success), took_s=took_s)
        self.dispatcher.acknowledged(task.name)

    # For those who look.

    async def is_quiet(self, key: Key) -> bool:
        """Whether everything that the run's attempts printed is in the journal, and none of them prints."""
        owner = self.membership.holding(self.shard_of(key.id)).owner
        if owner is not None and owner != self.me.id:
            try:
                answer = await self.calls.call(owner, IsQuiet(key), timeout_s=ASK_S)
            except (Unreachable, Lost):
                return False
            return isinstance(answer, Quiet) and answer.quiet
        return self.logbook.quiet(key)

    # Housekeeping.

    async def purge(self) -> None:
        """Delete the events of runs that ended longer ago than the retention, down to their rows."""
        before = self.clock.now() - self.settings.retention_s
        for shard in self.router.shards():
            for key in await self._expired(shard.number, before):
                try:
                    await self.router.send(key, Purge())
                except WindlassError as error:
                    log.info("not purged", extra={"entity": key.text(), "error": str(error)})
                else:
                    self.stats.purged += 1

    async def _expired(self, number: int, before: float) -> list[Key]:
        try:
            return await self.store.expired(number, before, PURGED_AT_ONCE)
        except StoreError as error:  # there is no hurry: the next round asks again
            log.info("not purged", extra={"shard": number, "error": str(error)})
            return []

    async def _every(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(seconds)
            await work()

    async def _sweep(self) -> None:
        for shard in self.router.shards():
            shard.sweep()

    async def _audit(self) -> None:
        for shard in self.router.shards():
            await self.holders.audit(shard)
        await self.holders.ask_owners()
        self.fleet.abroad.remind()


class _Late:
    """Stands in for the node while its links are being made: they need each other."""

    host: Host

    async def answer(self, sender: NodeId, request: messages.Request) -> messages.Answer:
        return await self.host.answer(sender, request)

    def hear(self, sender: NodeId, notice: messages.Notice) -> None:
        self.host.hear(sender, notice)

    def linked(self, member: NodeId) -> None:
        self.host.linked(member)

    def unlinked(self, member: NodeId) -> None:
        self.host.unlinked(member)

    def met(self, address: str, id: NodeId) -> None:
        self.host.met(address, id)


def new_id() -> NodeId:
    return NodeId(secrets.token_hex(6))
