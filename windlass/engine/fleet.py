"""Everything about workers on one node: who is here and elsewhere, who is chosen, who is missed.

connections ──► crew ──► desk ──► dispatcher ◄── shards
                                    │    ▲
              assignment, index ────┘    └──── abroad ◄──► other nodes
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Protocol

from windlass.core.assign.chosen import Chosen, Sought
from windlass.core.assign.index import Custom, Index, Verdict
from windlass.core.assign.policy import Policy
from windlass.core.cluster import NodeId
from windlass.core.errors import Invalid, NotFound, Refused, Unavailable
from windlass.core.explain_workers import Outside
from windlass.core.fleet import Rules, Told
from windlass.core.names import Key, SessionId, StepId, WorkerId
from windlass.engine.abroad import Abroad
from windlass.engine.asking import ask_all
from windlass.engine.assignment import Assignment
from windlass.engine.astray import Astray
from windlass.engine.calls import Calls
from windlass.engine.choices import Choices
from windlass.engine.choosing import Choosing
from windlass.engine.crew import Crew
from windlass.engine.crew_ports import CrewBounds, Home
from windlass.engine.crew_secrets import RefersTo
from windlass.engine.desk import Desk
from windlass.engine.dispatcher import Dispatcher
from windlass.engine.membership import Membership
from windlass.engine.outlook import candidates, outlook
from windlass.engine.partings import Partings
from windlass.engine.queues import AGE_S, Owner
from windlass.engine.roster import Roster
from windlass.engine.slots import Slots
from windlass.engine.table import FAIR_LABEL, Table
from windlass.peers import Lost, Unreachable
from windlass.registry import Registry
from windlass.wire.messages import (
    Assigned,
    Candidates,
    ChoicesTold,
    CrewTold,
    LookChoices,
    LookCrew,
    LookForWorkers,
    LookOutside,
    LooksLike,
    OrderWorker,
    WorkerOrder,
)

log = logging.getLogger(__name__)

ASK_S: Final = 2.0
LOOK_S: Final = 1.0
TIDY_S: Final = 10.0
ASTRAY_LOOK_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class FleetSettings:
    rules: Rules = field(default_factory=Rules)  # when a worker is healthy
    policy: Policy = field(default_factory=Policy)  # how workers are chosen, until somebody says otherwise
    hold_s: float = 300.0  # a task that its worker has not listed for so long is void
    workers_max: int = 10_000  # connected here
    age_s: float = AGE_S  # of waiting, for one point of priority
    fair_label: str = FAIR_LABEL  # of runs: those of one value are one share, and shares get equal turns
    host: str = ""  # the machine, and where it stands: for locality
    host_group: str = ""


def no_custom(name: str) -> Custom:
    raise Invalid(f"there is no strategy {name} here")


class Place(Home, Protocol):
    """The node."""

    @property
    def registry(self) -> Registry: ...

    def shard_of(self, ident: str) -> int: ...


class Fleet:
    def __init__(
        self,
        place: Place,
        membership: Membership,
        settings: FleetSettings,
        *,
        calls: Callable[[], Calls],
        chance: random.Random,
        key: bytes,
        custom: Callable[[str], Custom],
        bounds: Callable[[], tuple[int, int]],
        refers_to: RefersTo,  # the secrets of a task that was given by another node
    ) -> None:
        clock = membership.monotonic
        self.membership = membership
        self.assignment = Assignment(
            place.registry,
            settings.policy,
            lambda: self.dispatcher.match(),
            now=place.clock.now,
            custom=custom,
        )
        index = Index(
            here=lambda: membership.me.id,
            host=settings.host,
            host_group=settings.host_group,
            chance=chance,
            rules=settings.rules,
            custom=custom,
        )
        self.dispatcher = Dispatcher(
            Slots(index, clock, lambda: membership.me.id),
            Choosing(index, clock, lambda: self.assignment.policy, choices=Choices(place.clock.now)),
            Table(bounds, settings.age_s, settings.fair_label),
            shard_of=place.shard_of,
        )
        self.dispatcher.matching.may_grant = lambda: membership.fresh
        self.roster = Roster(self.dispatcher, clock)
        self.partings = Partings(self.dispatcher, on_gone=self._gave_up)
        self.astray = Astray(place.registry, membership.alive, clock)
        self.crew = Crew(
            place,
            Desk(self.dispatcher, self.partings),
            key=key,
            chance=chance,
            rules=lambda: settings.rules,
            bounds=CrewBounds(workers=settings.workers_max, hold_s=settings.hold_s),
            clock=clock,
            refers_to=refers_to,
        )
        self.abroad = Abroad(
            self.dispatcher,
            calls(),
            self.roster,
            me=lambda: membership.me,
            owner_of=lambda run: membership.holding(place.shard_of(run)).owner,
            clock=clock,
            on_moved=self._moved_on,
        )
        self.dispatcher.news = self.abroad
        self.dispatcher.matching.on_matched = self.abroad.matched
        self.dispatcher.matching.lends = self.abroad.lending.lends
        self.dispatcher.on_missing = self.partings.await_holder
        self._shard_of = place.shard_of

    async def serve(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.assignment.serve(), name="assignment")
            group.create_task(self.crew.serve(), name="crew")
            group.create_task(_every(TIDY_S, self.astray.tidy), name="workers astray")
            group.create_task(_every(LOOK_S, self._look_around), name="workers looked at")

    def close(self) -> None:
        self.abroad.close()
        self.partings.close()

    # What happens to nodes and shards.

    def met(self) -> list[NodeId]:
        """The members are others than before; answers who is gone."""
        gone = self.abroad.meet(self.membership.members)
        for node, name in gone:
            self.partings.node_died(node, f"the node {name} that ran it is gone")
        return [node for node, _ in gone]

    def reborn(self) -> None:
        """What our workers hold was given up, or will be: who survives us comes back with it."""
        self.crew.send_away()
        for name in self.dispatcher.held_here:
            self.dispatcher.held_here.stop(name)

    def opened(self, shard: Owner) -> None:
        """What waits in a shard that was just opened is handed out, once nobody astray can have it."""
        self.abroad.spawn(self._when_nobody_is_astray(shard))

    async def _when_nobody_is_astray(self, shard: Owner) -> None:
        clock = self.membership.monotonic
        until = await self.astray.until()
        while clock() < until:
            await asyncio.sleep(min(ASTRAY_LOOK_S, until - clock()))
            until = min(until, await self.astray.until())
        self.dispatcher.let_go(shard)

    def _moved_on(self, session: SessionId) -> None:
        """A worker that was with us has greeted another node."""
        self.crew.forget(session, elsewhere=True)
        self.dispatcher.moved(session)

    def _gave_up(self, session: SessionId) -> None:
        """A worker that was with us has not come back in time; unless it is known to be elsewhere."""
        self.crew.forget(session, elsewhere=self.dispatcher.index.get(session) is not None)

    async def _look_around(self) -> None:
        """Adaptive strategies look around; and who was silent for too long is out of choosing."""
        for why in self.dispatcher.index.tick(self.membership.monotonic()):
            self.assignment.note("adaptive", "adaptive", why)
            log.info("assignment", extra={"why": why})
        self.dispatcher.match()

    # For those who look, and those who order.

    async def outlook(self, key: Key) -> Outside:
        """What the tasks of a run wait for, as its owner sees it."""
        owner = self._elsewhere(key)
        if owner is None:
            return outlook(self.dispatcher, key)
        try:
            answer = await self.abroad.calls.call(owner, LookOutside(key), timeout_s=ASK_S)
        except (Unreachable, Lost):
            return Outside()
        return answer.outside if isinstance(answer, LooksLike) else Outside()

    async def candidates(self, key: Key, step: StepId) -> list[Verdict] | None:
        """Who could run a step that waits, and why not the others; None: it does not wait."""
        owner = self._elsewhere(key)
        if owner is None:
            return candidates(self.dispatcher, key, step)
        try:
            answer = await self.abroad.calls.call(owner, LookForWorkers(key, step), timeout_s=ASK_S)
        except (Unreachable, Lost) as error:
            raise Unavailable(f"the node that owns the run does not answer: {error}") from None
        if not isinstance(answer, Candidates):
            raise Unavailable("the run is moving to another node")
        return None if answer.verdicts is None else list(answer.verdicts)

    async def workers(self) -> list[Told]:
        """All of the cluster; of a node that does not answer, what it said last."""
        answers = await asyncio.gather(*(self._crew_of(node) for node in self.membership.others()))
        return [*self.roster.all(), *(told for crew in answers for told in crew)]

    async def order(self, worker: WorkerId, order: WorkerOrder) -> Told:
        """Raises NotFound, Refused, or Unavailable if its node does not answer."""
        told = self.crew.order(worker, order)
        if told is not None:
            return told
        known = next((told for told in await self.workers() if told.facts.id == worker), None)
        if known is None:
            raise NotFound(f"there is no worker {worker}")
        if known.built_in:
            raise Refused(f"{worker} is the built-in worker of a node; see `windlass drain` for that")
        try:
            answer = await self.abroad.calls.call(known.node, OrderWorker(worker, order), timeout_s=ASK_S)
        except (Unreachable, Lost) as error:
            raise Unavailable(f"the node of {worker} does not answer: {error}") from None
        if isinstance(answer, CrewTold) and answer.workers:
            return answer.workers[0]
        raise NotFound(f"there is no worker {worker} any more")

    async def choices(self, sought: Sought) -> tuple[list[Chosen], list[str]]:
        """The newest of the whole cluster, newest first; and the names of nodes that did not tell theirs."""
        others, silent = await ask_all(self.membership, self.abroad.calls, LookChoices(sought), ChoicesTold)
        lists = [self.dispatcher.choosing.choices.latest(sought), *(list(told.choices) for told in others)]
        merged = heapq.merge(*lists, key=lambda chosen: chosen.at, reverse=True)
        return list(islice(merged, sought.limit)), silent

    async def assign(self, policy: Policy | None, by: str) -> Policy:
        """For the whole cluster, from the next task on; None: as the configuration says."""
        answer = await self.assignment.set(policy, by)
        self.abroad.tell_all(Assigned())
        return answer

    def _elsewhere(self, key: Key) -> NodeId | None:
        """Who else owns the run."""
        owner = self.membership.holding(self._shard_of(key.id)).owner
        return None if owner == self.membership.me.id else owner

    async def _crew_of(self, node: NodeId) -> list[Told]:
        try:
            answer = await self.abroad.calls.call(node, LookCrew(), timeout_s=ASK_S)
        except (Unreachable, Lost):
            answer = None
        if isinstance(answer, CrewTold):
            return list(answer.workers)
        return [self.roster.told(seen) for seen in self.dispatcher.index.all() if seen.node == node]


async def _every(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        await work()
