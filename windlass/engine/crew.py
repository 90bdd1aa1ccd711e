"""The crew: the workers that are connected to this node.

    connection ──► greeting ──► checked ──► welcome, REGISTERING ──► kept in the registry ──► gets tasks
                      │ 5 s, 1 MB                                         many at once
                      └──► rejected, with the reason

A session is one life of a worker's process. Its connection may end and another one come: what it holds goes
on. A newer session of a worker closes the older.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from typing import Final, Literal

import msgspec

from windlass.core import fleet
from windlass.core.fleet import Facts, Rules, Told
from windlass.core.names import SessionId, WorkerId
from windlass.engine import greeting
from windlass.engine.crew_link import Link, frame_of, say_last
from windlass.engine.crew_mate import Mate, Ship
from windlass.engine.crew_ports import CrewBounds, CrewTally, Dispatching, Home
from windlass.engine.crew_results import Results
from windlass.engine.crew_roll import Roll
from windlass.engine.crew_said import share
from windlass.engine.crew_secrets import RefersTo, refers_to_unknown
from windlass.engine.greeting import Arrival, Rejection
from windlass.registry import WorkerRow
from windlass.wire import crew
from windlass.wire.crew import GREETING_BYTES_MAX, Greet, Rejected, Welcome
from windlass.wire.lightening import Lightener
from windlass.wire.pipe import Broken, Malformed, Pipe

log = logging.getLogger(__name__)

Order = Literal["drain", "pause", "resume", "kick"]

GREETING_S: Final = 5.0
AT_ONCE: Final = 10  # greetings in one turn of the loop: a thousand of them stop nobody else
LOOK_S: Final = 0.5
LOOKED_AT_ONCE: Final = 200
FULL_S: Final = (2.0, 10.0)  # come back after that; not all at the same time
SOON_S: Final = 1.0
QUIET_S: Final = 5.0  # between two complaints about one address
COMPLAINTS_MAX: Final = 1_000
PAUSED_MAX: Final = 10_000


class Crew:
    """`serve` while the node lives; `take` for every connection."""

    def __init__(
        self,
        home: Home,
        dispatcher: Dispatching,
        *,
        key: bytes,
        chance: random.Random,
        rules: Callable[[], Rules] = Rules,
        bounds: CrewBounds | None = None,
        clock: Callable[[], float] | None = None,  # monotonic; that of `Seen.heard_at`, too
        refers_to: RefersTo | None = None,
    ) -> None:
        self.tally = CrewTally()
        self.bounds = bounds or CrewBounds()
        self._home = home
        self._dispatcher = dispatcher
        self._chance = chance
        self._rules = rules
        self._key = key
        self._clock = clock or asyncio.get_running_loop().time
        self._group: asyncio.TaskGroup | None = None
        self._roll = Roll(lambda: home.registry, self._registered, me=lambda: home.me.id)
        self._ship = Ship(
            home=home,
            dispatcher=dispatcher,
            results=Results(home, chance, self._start),
            key=key,
            rules=rules,
            bounds=self.bounds,
            tally=self.tally,
            clock=self._clock,
            start=self._start,
            refers_to=refers_to or refers_to_unknown,
            lightener=Lightener(),
        )
        self._by_session: dict[SessionId, Mate] = {}
        self._by_name: dict[WorkerId, Mate] = {}
        self._paused: OrderedDict[WorkerId, None] = OrderedDict()
        self._links: dict[Link, None] = {}
        self._registering: set[SessionId] = set()
        self._strangers = 0
        self._count = 0
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._complaints: OrderedDict[str, float] = OrderedDict()

    # Its life.

    async def serve(self) -> None:
        """Until cancelled; then every connection is closed, and the workers go elsewhere."""
        try:
            async with asyncio.TaskGroup() as self._group:
                self._group.create_task(self._roll.serve(), name="workers registered")
                self._group.create_task(self._watch(), name="workers watched")
        finally:
            self._group = None
            self.close()

    def close(self) -> None:
        """Nobody new comes in, and those who are here are let go, with what they hold."""
        for link in list(self._links):
            link.drop("the node stops")

    def send_away(self) -> None:
        """The node is another one from now on: they come back with what they hold, here or elsewhere."""
        for mate in list(self._by_session.values()):
            self._remove(mate)
            self._dispatcher.part(mate.session, "its node joined anew", witnessed=False)
            if mate.link is not None:
                mate.link.drop("the node joins anew")

    async def take(self, pipe: Pipe, arrival: Arrival) -> None:
        """Serve a connection until it ends. Who made the pipe closes it then."""
        link = Link(pipe, self._clock)
        try:
            greet = await self._greeting(pipe)
            async with self._gate:
                await asyncio.sleep(0)
                mate = self._welcome(greet, arrival, link)
        except Rejection as rejection:
            self._complain(arrival, rejection)
            rejected = Rejected(rejection.code, rejection.reason, rejection.again_s)
            return await say_last(pipe, rejected)
        except Broken:
            return
        self._links[link] = None
        try:
            await link.serve(mate.hear, mate.room)
        finally:
            del self._links[link]
            self._ended(mate, link, arrival)

    # For operators, and those who look.

    def told(self) -> list[Told]:
        now = self._clock()
        return [mate.told(now) for mate in self._by_session.values()]

    def order(self, worker: WorkerId, order: Order) -> Told | None:
        """None: it is not here."""
        mate = self._by_name.get(worker)
        if mate is None:
            return None
        match order:
            case "pause":
                self._paused[worker] = None
                self._paused.move_to_end(worker)
                while len(self._paused) > PAUSED_MAX:
                    self._paused.popitem(last=False)
                mate.seen.halt = mate.seen.halt or "paused"
            case "resume":
                self._paused.pop(worker, None)
                # One that drains is on its way out: nobody calls it back.
                mate.seen.halt = "" if mate.seen.halt == "paused" else mate.seen.halt
            case "drain":
                mate.seen.halt = "draining"
                if mate.link is not None:
                    mate.link.give(crew.Order("drain"))
            case "kick":
                told = mate.told(self._clock())
                self._dismiss(mate, "an operator has sent it away", Rejected("kicked", "by an operator"))
                return told
        self._dispatcher.refresh(mate.session)
        return mate.told(self._clock())

    def forget(self, session: SessionId, *, elsewhere: bool = False) -> None:
        """It is gone: what it held is lost by now, or it is `elsewhere`, and its row is that node's."""
        mate = self._by_session.get(session)
        if mate is None:
            return
        self._remove(mate)
        if elsewhere:
            self._roll.forget(session)
        if mate.link is not None:
            mate.link.drop("it is elsewhere")

    @property
    def connected(self) -> int:
        return len(self._links)

    @property
    def registering(self) -> int:
        return len(self._registering)

    @property
    def reporting(self) -> int:
        """Results that are not kept yet."""
        return len(self._ship.results)

    # A worker comes.

    async def _greeting(self, pipe: Pipe) -> Greet:
        """Its first words. Raises Rejection or Broken."""
        if self._group is None:
            raise Rejection("full", "this node is not ready", self._later(SOON_S, 2 * SOON_S))
        if self._strangers >= self.bounds.strangers:
            raise Rejection("full", "too many connections have not greeted yet", self._later(*FULL_S))
        self._strangers += 1
        try:
            async with asyncio.timeout(GREETING_S):
                frame = await pipe.receive()
            if len(frame) > GREETING_BYTES_MAX:
                raise Malformed(f"a greeting has at most {GREETING_BYTES_MAX} bytes")
            messages = frame_of(frame)
        except TimeoutError:
            raise Rejection("protocol", f"no greeting within {GREETING_S:g}s") from None
        except Malformed as malformed:
            raise Rejection("protocol", str(malformed)) from None
        finally:
            self._strangers -= 1
        match messages:
            case [Greet() as greet]:
                return greet
            case _:
                raise Rejection("protocol", "a worker greets first, and greets alone")

    def _welcome(self, greet: Greet, arrival: Arrival, link: Link) -> Mate:
        """It is one of the crew, or Rejection is raised and nothing has changed."""
        if self._group is None:
            raise Rejection("full", "this node is not ready", self._later(SOON_S, 2 * SOON_S))
        version = greeting.version_of(greet)
        facts = greeting.facts_of(greet, arrival)
        good, bad = greeting.proven(greet, self._key)
        older = self._older(facts, arrival)
        now, rules = self._clock(), self._rules()
        same = older is not None and older.session == facts.session
        mate = self._hire(facts, arrival, now) if older is None or not same else older
        if older is not None and older.link is not None:
            older.link.drop("replaced", Rejected("replaced", "the same worker has greeted again"))
        mate.attach(link, version, facts, now)
        mate.seen.cpu, mate.seen.memory = share(greet.cpu), share(greet.memory)
        missing = mate.adopt(good, now)
        registered, mate.seen.registered = mate.seen.registered, False  # nothing comes before the welcome
        # First the newer has what it holds; only then what is left of the older is lost.
        nobodys = self._dispatcher.connect(mate, [held.name for held in good])
        for hold in missing:
            self._dispatcher.give_back(hold.name, mate.session, f"worker {mate.id} came back without it")
        if older is not None and not same:
            self._remove(older)
            self._dispatcher.dismiss(older.session, f"worker {mate.id} was started anew", witnessed=True)
        self._by_session[mate.session] = self._by_name[mate.id] = mate
        stop = (*mate.unwanted(nobodys, now), *(held.token for held in bad))
        if bad:
            fields = {"worker": mate.id, "address": arrival.address, "tasks": len(bad)}
            log.warning("a worker says it holds what it was not given", extra=fields)
        link.give(Welcome(version, self._home.me.name, rules.beat_s, rules.silent_s, stop))
        mate.seen.registered = registered
        self._register(mate)
        self.tally.greeted += 1
        log.info("a worker came", extra={"worker": mate.id, "session": mate.session, "slots": facts.slots})
        return mate

    def _older(self, facts: Facts, arrival: Arrival) -> Mate | None:
        """Who has this name now. Raises Rejection if it may not be replaced, or there is no room."""
        named, known = self._by_name.get(facts.id), self._by_session.get(facts.session)
        if named is not None and named.by != arrival.by:
            raise Rejection("name", f"another worker is called {facts.id}", self._later(SOON_S, 2 * SOON_S))
        if known is not None and known is not named:
            raise Rejection("name", "this session is that of another worker")
        if named is None:
            if len(self._by_session) >= self.bounds.workers:
                raise Rejection("full", "this node has as many workers as it can", self._later(*FULL_S))
            if len(self._registering) >= self.bounds.registering:
                raise Rejection("full", "too many workers come at once", self._later(*FULL_S))
        return named

    def _hire(self, facts: Facts, arrival: Arrival, now: float) -> Mate:
        self._count += 1
        seen = fleet.known(facts, self._home.me.id, order=self._count, now=now)
        seen.by = arrival.by
        if facts.id in self._paused:
            seen.halt = "paused"
        return Mate(seen, arrival.by, self._ship)

    def _register(self, mate: Mate) -> None:
        """Its row says where it is; until that is kept it gets nothing."""
        facts = mate.seen.facts
        if mate.seen.registered:
            self._dispatcher.refresh(mate.session)
        else:
            self._registering.add(mate.session)
        self._roll.put(
            WorkerRow(
                session=mate.session,
                worker=mate.id,
                node=mate.seen.node,
                by=mate.by,
                address=facts.address,
                at=self._home.clock.now(),
                facts=msgspec.json.encode(facts),
            )
        )

    def _registered(self, sessions: Sequence[SessionId]) -> None:
        for session in sessions:
            self._registering.discard(session)
            mate = self._by_session.get(session)
            if mate is not None and not mate.seen.registered:
                mate.seen.registered = True
                self._dispatcher.refresh(session)

    # A worker goes.

    def _ended(self, mate: Mate, link: Link, arrival: Arrival) -> None:
        """Its connection has."""
        if link.rejection is not None:
            self._complain(arrival, link.rejection)
        if mate.link is not link:
            return  # another one has taken over
        mate.link, mate.seen.connected = None, False
        if self._by_session.get(mate.session) is not mate:
            return
        log.info("a worker went", extra={"worker": mate.id, "session": mate.session, "reason": link.ended})
        if mate.left:
            self._dismiss(mate, mate.left)
        else:
            reason = f"the connection of worker {mate.id} ended: {link.ended}"
            self._dispatcher.part(mate.session, reason, witnessed=link.broke)

    def _dismiss(self, mate: Mate, reason: str, last: Rejected | None = None) -> None:
        self._remove(mate)
        if mate.link is not None:
            mate.link.drop(reason, last)
        self._dispatcher.dismiss(mate.session, f"worker {mate.id}: {reason}", witnessed=False)

    def _remove(self, mate: Mate) -> None:
        mate.seen.connected = False
        self._registering.discard(mate.session)
        self._roll.drop(mate.session)
        if self._by_session.get(mate.session) is mate:
            del self._by_session[mate.session]
        if self._by_name.get(mate.id) is mate:
            del self._by_name[mate.id]

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            mates = list(self._by_session.values())
            for at in range(0, len(mates), LOOKED_AT_ONCE):
                now, rules = self._clock(), self._rules()
                for mate in mates[at : at + LOOKED_AT_ONCE]:
                    self._look(mate, now, rules)
                await asyncio.sleep(0)

    def _look(self, mate: Mate, now: float, rules: Rules) -> None:
        if self._by_session.get(mate.session) is not mate:
            return
        if fleet.gone(mate.seen, now, rules):
            self._dismiss(mate, f"it said nothing for {rules.gone_s:g}s")
        else:
            mate.look(now)

    # Small things.

    def _start(self, work: Coroutine[None, None, None]) -> None:
        if self._group is None:  # the node stops; the worker says it again elsewhere
            work.close()
        else:
            self._group.create_task(work)

    def _later(self, low_s: float, high_s: float) -> float:
        return self._chance.uniform(low_s, high_s)

    def _complain(self, arrival: Arrival, rejection: Rejection) -> None:
        """Once per address and a few seconds: whoever is wrong is wrong again at once."""
        self.tally.rejected += 1
        now = self._clock()
        if now - self._complaints.get(arrival.address, float("-inf")) < QUIET_S:
            return
        self._complaints[arrival.address] = now
        self._complaints.move_to_end(arrival.address)
        if len(self._complaints) > COMPLAINTS_MAX:
            self._complaints.popitem(last=False)
        fields = {"address": arrival.address, "code": rejection.code, "reason": rejection.reason[:200]}
        log.warning("a worker was rejected", extra=fields)
