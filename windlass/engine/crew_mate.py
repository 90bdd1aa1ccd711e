"""One worker of the crew: what it says is checked and passed on, what it holds is watched.

It lasts as long as the worker's session is known here, over however many connections that takes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from windlass.core import fleet, task_tokens
from windlass.core.errors import Refused
from windlass.core.fleet import Facts, Rules, Seen, Told
from windlass.core.names import SessionId, WorkerId
from windlass.core.task import Failure, Success, Task, TaskName
from windlass.engine import crew_said as said
from windlass.engine import crew_secrets
from windlass.engine.crew_holds import Hold, Holds, adopted
from windlass.engine.crew_link import Link, body_of
from windlass.engine.crew_ports import CrewBounds, CrewTally, Dispatching, Home
from windlass.engine.crew_results import Results
from windlass.engine.crew_secrets import NotHis, RefersTo
from windlass.engine.greeting import HELD_MAX, Rejection
from windlass.wire import crew
from windlass.wire.bulk import Recent
from windlass.wire.crew import FromWorker, Holding, Token
from windlass.wire.lightening import Lightener

log = logging.getLogger(__name__)

ABUSES_MAX: Final = 20  # words about tasks of others, then it has to go
RESULTS_BYTES_MAX: Final = 64 * 1024 * 1024  # not kept yet; until they are, nothing more is read
SECRETS_AT_ONCE: Final = 100
TOLD_TASKS: Final = 100
REASON_MAX: Final = 200  # characters
ENVELOPE_BYTES: Final = 64 * 1024  # around a task and its values: tokens, names, places


@dataclass(frozen=True, slots=True)
class Ship:
    """What all of the crew have in common."""

    home: Home
    dispatcher: Dispatching
    results: Results
    key: bytes
    rules: Callable[[], Rules]
    bounds: CrewBounds
    tally: CrewTally
    clock: Callable[[], float]  # monotonic: all that is counted in seconds
    start: Callable[[Coroutine[None, None, None]], object]  # a task that somebody owns
    refers_to: RefersTo
    lightener: Lightener


class Mate:
    """Implements the dispatcher's Worker, and Teller."""

    def __init__(self, seen: Seen, by: str, ship: Ship) -> None:
        self.seen = seen
        self.by = by  # whose token it has shown
        self.link: Link | None = None
        self.left = ""  # why it is dismissed by its own word
        self.room = asyncio.Event()  # for results that are not kept yet
        self.room.set()
        self.holds = Holds()
        self._said: Recent | None = None  # large values, over this connection; None: it cannot keep any
        self._ship = ship
        self._healthy = True
        self._results_bytes = 0
        self._asking = 0
        self._abuses = 0

    @property
    def id(self) -> WorkerId:
        return self.seen.id

    @property
    def session(self) -> SessionId:
        return self.seen.session

    @property
    def connected(self) -> bool:
        return self.link is not None and not self.link.ended

    # For the dispatcher.

    def start(self, task: Task) -> None:
        if self.link is None or self.link.ended:
            raise Refused(f"worker {self.id} is not connected here")
        now, token = self._ship.clock(), self._token(task.name)
        hold = Hold(task, token, at=now, listed_at=now, lively_at=now)
        self.holds.put(hold)
        # Packed when it is its turn: it may be given more at once than there is room for.
        self.link.later(lambda: self._packed(hold))

    def stop(self, name: TaskName) -> None:
        hold = self.holds.get(self._token(name))
        if hold is not None and not hold.ended:
            self._stop(hold, self._ship.clock())

    # For the crew.

    def attach(self, link: Link, version: int, facts: Facts, now: float) -> None:
        """It goes on over this connection."""
        self._said = Recent() if version >= crew.LIGHT else None
        self.link, self.left, self._abuses = link, "", 0
        seen = self.seen
        seen.facts, seen.connected, seen.heard_at = facts, True, now
        seen.since = self._ship.home.clock.now()
        seen.capabilities, seen.namespaces = frozenset(facts.capabilities), frozenset(facts.namespaces)

    def adopt(self, held: Sequence[Holding], now: float) -> list[Hold]:
        """It greets with these. Answers what we gave it and it does not have: that got lost on its way."""
        kept, before = {one.token for one in held}, list(self.holds)
        for one in held:
            if self.holds.get(one.token) is None:
                self.holds.put(adopted(one.name, one.token, now))
        missing = [hold for hold in before if hold.token not in kept and not hold.ended]
        for hold in missing:
            self.holds.pop(hold.token)
        for hold in self.holds:
            hold.listed_at, hold.listed = now, True
        return missing

    def unwanted(self, names: Iterable[TaskName], now: float) -> list[Token]:
        """Of what it greeted with: nobody wants these."""
        tokens = [self._token(name) for name in names]
        for token in tokens:
            hold = self.holds.get(token)
            if hold is not None:
                hold.stopped_at = now
        return tokens

    def look(self, now: float) -> None:
        """Now and then: does it live, and does it do what it was told?"""
        if self.link is not None:
            self.link.look(now)
        self._note_health(now)
        if not self.connected:
            return
        for hold in list(self.holds) if len(self.holds) else ():
            if hold.ended or hold.stopped_at is not None:
                continue
            fault = hold.fault(now)
            if fault is not None:
                self._overdue(hold, fault, now)
            elif now - hold.listed_at > self._ship.bounds.hold_s:
                self._void(hold, now)

    def told(self, now: float) -> Told:
        names = (hold.name for hold, _ in zip(self.holds, range(TOLD_TASKS), strict=False))
        return fleet.tell(self.seen, now, self._ship.rules(), names)

    # For results.

    def kept(self, token: Token, size_bytes: int) -> None:
        self._unload(size_bytes)
        hold = self.holds.get(token)
        if hold is not None and not hold.ended:
            return  # we ended it; the worker is still at it, and its slot is not free yet
        self.holds.pop(token)
        if self.link is not None:
            self.link.join(crew.Kept, token)

    def unkept(self, token: Token, size_bytes: int) -> None:
        self._unload(size_bytes)
        hold = self.holds.get(token)
        if hold is None:
            return
        hold.ended = False
        if hold.overdue:  # when it comes back with that, it is to be ended again
            hold.overdue, hold.stopped_at = False, None

    # What the worker says.

    def hear(self, message: FromWorker) -> None:
        """Raises Rejection for what no worker of ours would say."""
        now = self._ship.clock()
        fleet.heartbeat(self.seen, now)
        if not self._healthy:
            self._note_health(now)
        match message:
            case crew.Beat():
                self._beat(message, now)
            case crew.Progress(token, details):
                self._progress(token, details, now)
            case crew.Printed():
                self._printed(message)
            case crew.Ended():
                self._ended(message, now)
            case crew.Returned():
                self._returned(message)
            case crew.NeedSecrets():
                self._need_secrets(message)
            case crew.Leaving():
                self.seen.halt = "draining"
                self._ship.dispatcher.refresh(self.session)
            case crew.Goodbye():
                self.left = "it said goodbye"
                self._link.drop(self.left)
            case crew.Greet():
                raise Rejection("protocol", "it has greeted already")
            case _:
                assert_never(message)

    def _beat(self, beat: crew.Beat, now: float) -> None:
        if len(beat.held) > HELD_MAX:
            raise Rejection("protocol", f"a beat lists at most {HELD_MAX} tasks")
        seen = self.seen
        seen.cpu, seen.memory = said.share(beat.cpu), said.share(beat.memory)
        seen.trip_s = said.trip_s(seen.trip_s, beat.trip_s)
        stop, gone, ignored = self.holds.listed(beat.held, now)
        for hold in gone:
            self._ship.dispatcher.freed(self.session, hold.name)
        self._ship.dispatcher.refresh(self.session)
        if ignored:
            self._ship.tally.cut_off += 1
            self.left = "it did not stop what it was told to stop"
            log.warning("a worker ignores a recall", extra={"worker": self.id, "session": self.session})
            return self._link.drop(self.left, crew.Rejected("kicked", self.left))
        self._link.give(crew.Beaten(beat.number, tuple(stop)))

    def _progress(self, token: Token, details: bytes, now: float) -> None:
        hold = self._held(token)
        if hold is None:
            return
        hold.lively_at = now
        self._ship.dispatcher.progress(hold.name, self.session, said.details(details))

    def _printed(self, message: crew.Printed) -> None:
        hold = self._held(message.token)
        if hold is not None:
            self._ship.home.log(hold.task, said.printed(message.printed))

    def _ended(self, message: crew.Ended, now: float) -> None:
        if not self._proves(message.name, message.token, "a result"):
            return
        hold, outcome = self.holds.get(message.token), said.outcome(message.outcome)
        took_s, size = said.took_s(message.took_s), len(message.outcome)
        if hold is not None and not hold.ended:
            hold.ended = True
            self.seen.record.note(ok=isinstance(outcome, Success), took_s=took_s, now=now)
            self._ship.dispatcher.freed(self.session, message.name)
        task = (hold or adopted(message.name, message.token, now)).task
        started_at = self._ship.home.clock.now() - took_s  # by our clock: those of workers differ
        if self._ship.results.begin(
            self, message.token, task, outcome, started_at=started_at, size_bytes=size
        ):
            self._results_bytes += size
            if self._results_bytes > RESULTS_BYTES_MAX:
                self.room.clear()

    def _returned(self, said: crew.Returned) -> None:
        if not self._proves(said.name, said.token, "a return"):
            return
        hold = self.holds.get(said.token)
        if hold is not None and hold.ended:
            return
        self.holds.pop(said.token)
        self._ship.dispatcher.freed(self.session, said.name)
        self._ship.dispatcher.give_back(
            said.name, self.session, said.reason[:200] or "the worker returned it"
        )

    def _need_secrets(self, asked: crew.NeedSecrets) -> None:
        hold = self._held(asked.token)
        if hold is None or hold.ended:
            text = f"worker {self.id} does not hold this task"
            self._link.give(crew.Secrets(asked.number, error="NotFound", text=text))
        elif self._asking >= SECRETS_AT_ONCE:
            self._link.give(crew.Secrets(asked.number, error="Unavailable", text="too many are asked for"))
        else:
            self._asking += 1
            self._ship.start(self._open(asked, hold))

    async def _open(self, asked: crew.NeedSecrets, hold: Hold) -> None:
        try:
            answer = await crew_secrets.answer(asked, hold, self._ship.home.secrets, self._ship.refers_to)
        except NotHis as error:
            self._abuse(hold.token, "a secret that is none of its task's", stop=False)
            answer = crew.Secrets(asked.number, error="NotFound", text=str(error))
        finally:
            self._asking -= 1
        if self.link is not None:
            self.link.give(answer)

    # What the node does about it.

    def _overdue(self, hold: Hold, fault: Failure, now: float) -> None:
        """The worker should have ended it by itself."""
        self._ship.tally.overdue += 1
        hold.overdue = True
        self._stop(hold, now)
        self.seen.record.note(ok=False, took_s=now - hold.at, now=now)
        started_at = self._ship.home.clock.now() - (now - hold.at)
        self._ship.results.begin(self, hold.token, hold.task, fault, started_at=started_at)

    def _void(self, hold: Hold, now: float) -> None:
        self._ship.tally.void += 1
        reason = f"worker {self.id} has not listed it for {self._ship.bounds.hold_s:g}s"
        self._link.join(crew.Stop, hold.token)
        self.holds.pop(hold.token)
        self._ship.dispatcher.freed(self.session, hold.name)
        self._ship.dispatcher.give_back(hold.name, self.session, reason)

    def _stop(self, hold: Hold, now: float) -> None:
        if hold.stopped_at is None:
            hold.stopped_at = now
        if self.link is not None:
            self.link.join(crew.Stop, hold.token)

    def _packed(self, hold: Hold) -> bytes:
        """The order to run it. What cannot be sent has failed: no other worker could be sent it either."""
        hold.at = hold.listed_at = hold.lively_at = self._ship.clock()
        try:
            order = self._order(hold)
            if order is not None:
                return order
            fault = "the task and what it was given are too large for a worker; pass large data by reference"
        except (TypeError, ValueError, OverflowError) as error:
            fault = f"the task cannot be sent: {error}"
        hold.ended = True
        self._ship.dispatcher.freed(self.session, hold.name)
        failure, now = Failure("TooLarge", fault, retryable=False), self._ship.home.clock.now()
        self._ship.results.begin(self, hold.token, hold.task, failure, started_at=now)
        return b""

    def _order(self, hold: Hold) -> bytes | None:
        """None if it is too large to be sent."""
        if self._said is None:
            body = body_of(crew.Run(crew.encode_task(hold.task), hold.token))
            return body if len(body) + 1 < crew.FRAME_BYTES_MAX else None
        light = self._ship.lightener.lighten(hold.task)
        task, bodies = light.encode(), light.bodies_but(self._said)
        if len(task) + sum(map(len, bodies.values())) + ENVELOPE_BYTES > crew.FRAME_BYTES_MAX:
            return None
        if not light.places:
            return body_of(crew.Run(task, hold.token))
        for name, body in light.bodies.items():
            self._said.use(name, len(body))
        forget = tuple(self._said.shrink(spare=light.bodies))
        return body_of(crew.RunLight(task, hold.token, light.places, bodies, forget))

    def _held(self, token: Token) -> Hold | None:
        """The task that is spoken of. One that is unknown may have been recalled: it is said again."""
        hold = self.holds.get(token)
        if hold is None:
            self._link.join(crew.Stop, token[:64])
        return hold

    def _proves(self, name: TaskName, token: Token, what: str) -> bool:
        hold = self.holds.get(token)
        if hold is not None and hold.name == name:
            return True
        if task_tokens.proves(self._ship.key, token, name, self.id):
            return True
        self._abuse(token, what)
        return False

    def _abuse(self, token: Token, what: str, *, stop: bool = True) -> None:
        self._abuses += 1
        self._ship.tally.refused += 1
        if self._abuses == 1:
            fields = {"worker": self.id, "session": self.session, "address": self.seen.facts.address}
            log.warning("a worker speaks of a task that is not its own", extra={"said": what, **fields})
        if stop and self.link is not None:
            self.link.join(crew.Stop, token[:64])
        if self._abuses > ABUSES_MAX and self.link is not None:
            self.link.reject(Rejection("protocol", "it speaks of tasks that are not its own"))

    def _note_health(self, now: float) -> None:
        healthy = fleet.healthy(self.seen, now, self._ship.rules())
        if healthy != self._healthy:
            self._healthy = healthy
            self._ship.dispatcher.refresh(self.session)

    def _unload(self, size_bytes: int) -> None:
        self._results_bytes -= size_bytes
        if self._results_bytes <= RESULTS_BYTES_MAX:
            self.room.set()

    def _token(self, name: TaskName) -> Token:
        return task_tokens.token(self._ship.key, name, self.id)

    @property
    def _link(self) -> Link:
        assert self.link is not None, "only who is connected says anything"
        return self.link
