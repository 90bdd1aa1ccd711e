"""The JSON dialect: `heartbeat`, `execute` and `result` in plain fields.

    client                                        node
      │ register, or the first heartbeat ──────────►│
      │◄──────────── register_ack or heartbeat_ack  │
      │◄──────────── execute: taskId, language, code│
      │ heartbeat, every 10 s ─────────────────────►│
      │◄──────────── heartbeat_ack                  │
      │ result, said again until … ────────────────►│
      │◄──────────── result_ack                     │

What the client tells of itself may change: it then greets its node anew, and goes on with what it holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final, assert_never

import msgspec

from windlass.core import durations, fleet
from windlass.core.errors import Invalid
from windlass.core.needs import CODE_TIME, language_of, offers
from windlass.core.task import Failure, Json
from windlass.gateway import dialect
from windlass.gateway.dialect import Jobs, Misspoken, Words
from windlass.wire import crew
from windlass.wire.crew import (
    Beat,
    Beaten,
    FromNode,
    Greet,
    Kept,
    Leaving,
    Order,
    Rejected,
    Run,
    RunLight,
    Secrets,
    Stop,
    Token,
    Welcome,
)

HELD_MAX: Final = 10_000
UNANSWERED_MAX: Final = 100  # heartbeats whose answer is awaited
LANGUAGES_MAX: Final = 100


class Load(msgspec.Struct, frozen=True, rename="camel"):
    current_tasks: int = 0
    max_concurrent: int = 1
    cpu_usage: float = 0.0
    memory_usage: float = 0.0


class Heartbeat(msgspec.Struct, frozen=True, tag="heartbeat", rename="camel"):
    client_id: str
    timestamp: str | float | None = None
    load: Load = Load()
    capabilities: tuple[str, ...] | None = None  # None: as before
    tasks: tuple[str, ...] | None = None  # ids of what it holds; None: it does not say
    weight: float = 1.0


class Register(Heartbeat, frozen=True, tag="register", rename="camel"):
    """The same, as a first word."""


class Result(msgspec.Struct, frozen=True, tag="result", rename="camel"):
    task_id: str
    success: bool
    output: str | None = None
    error: str | None = None
    exit_code: int | None = None
    execution_time: str | float | None = None


_said: Final[msgspec.json.Decoder[Heartbeat | Register | Result]] = msgspec.json.Decoder(
    Heartbeat | Register | Result
)


class JsonDialect:
    """Implements Dialect."""

    ping_s: float | None = None

    def __init__(self, clock: Callable[[], float], address: str = "") -> None:
        self._clock = clock
        self._address = address
        self._jobs = Jobs(clock)
        self._greet: Greet | None = None  # as it was said last, without what was held
        self._words: dict[str, str] = {}  # language → what this client calls it
        self._first: Heartbeat | None = None  # to be answered once we are welcome
        self._beats = 0
        self._unanswered: dict[int, Heartbeat] = {}

    def begin(self) -> Words:
        return Words()  # it says who it is

    def alive(self) -> Words:
        return Words()  # its beats have more to tell than pings

    def scold(self, message: str) -> Words:
        return Words(client=(_text(type="error", message=message),))

    def hear(self, text: str) -> Words:
        try:
            said = _said.decode(text)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise Misspoken(f"this cannot be read: {str(error)[:200]}") from None
        match said:
            case Heartbeat():  # or Register
                return self._beat(said)
            case Result():
                return self._result(said)
            case _:
                assert_never(said)

    def tell(self, message: FromNode) -> Words:
        match message:
            case Run(body, token):
                return self._run(body, token)
            case Welcome(_, node, beat_s, _, stop):
                return self._welcome(node, beat_s, stop)
            case Beaten(number, stop):
                return Words(client=(*self._answer(number), *self._cancel(stop)))
            case Stop(tokens):
                return Words(client=self._cancel(tokens))
            case Kept(tokens):
                ids = self._jobs.kept(tokens)
                return Words(client=tuple(_text(type="result_ack", taskId=id) for id in ids))
            case Rejected(code, reason, again_s):
                later: dict[str, Json] = {"retryAfter": again_s} if again_s else {}
                return Words(client=(_text(type="error", code=code, message=reason, **later),))
            case Order():
                # The dialect has no word for it: the node gives nothing new, and the client never notices.
                return Words(node=(Leaving(),))
            case Secrets() | RunLight():
                return Words()  # never asked for
            case _:
                assert_never(message)

    # Heartbeats.

    def _beat(self, said: Heartbeat) -> Words:
        load = self._sound(said)
        if self._greet is None:  # later, all that it holds was given over this connection
            self._jobs.adopt(said.tasks or ())
        greet = self._facts(said)
        if greet != self._greet:
            self._greet, self._first = greet, said
            self._unanswered.clear()  # nobody answers what the connection before was asked
            held = self._jobs.holdings()
            full = msgspec.structs.replace(greet, held=held, cpu=load.cpu_usage, memory=load.memory_usage)
            return Words(greet=full)
        returned = () if said.tasks is None else self._jobs.obeyed(said.tasks)
        self._beats += 1
        if len(self._unanswered) < UNANSWERED_MAX:
            self._unanswered[self._beats] = said
        beat = Beat(self._beats, load.cpu_usage, load.memory_usage, self._jobs.tokens())
        return Words(node=(*returned, beat))

    def _sound(self, said: Heartbeat) -> Load:
        """Raises Misspoken for what cannot be."""
        load = said.load
        if self._greet is not None and said.client_id != self._greet.worker:
            raise Misspoken(f"this connection is of client {self._greet.worker}; others connect themselves")
        if not 1 <= load.max_concurrent <= crew.SLOTS_MAX:
            raise Misspoken(f"Invalid maxConcurrent: {load.max_concurrent}; 1 to {crew.SLOTS_MAX} can be")
        try:
            fleet.check_load(load.current_tasks, load.max_concurrent)
        except Invalid as invalid:
            raise Misspoken(str(invalid)) from None
        for name, share in (("cpuUsage", load.cpu_usage), ("memoryUsage", load.memory_usage)):
            if not 0 <= share <= 1:
                raise Misspoken(f"Invalid {name}: {share:g}; 0 to 1 can be")
        if len(said.capabilities or ()) > LANGUAGES_MAX:
            raise Misspoken(f"more than {LANGUAGES_MAX} capabilities")
        if len(said.tasks or ()) > HELD_MAX:
            raise Misspoken(f"more than {HELD_MAX} tasks")
        if self._greet is None and not said.capabilities:
            raise Misspoken("capabilities are missing: the languages that this client runs")
        return load

    def _facts(self, said: Heartbeat) -> Greet:
        if said.capabilities:
            self._words = {language_of(word): word for word in said.capabilities}
        capabilities, slots = (*offers(self._words), CODE_TIME), said.load.max_concurrent
        return Greet(
            crew.LOWEST,
            crew.LOWEST,  # whole tasks alone
            said.client_id,
            session_of(said.client_id, slots, said.weight, *capabilities),
            slots,
            capabilities,
            host=self._address,
            weight=said.weight,
            program="json client",
        )

    def _welcome(self, node: str, beat_s: float, stop: tuple[Token, ...]) -> Words:
        told: tuple[str, ...] = ()
        if self._first is not None:
            told = (_acknowledged(self._first, node=node, heartbeatInterval=dialect.seconds(beat_s)),)
            self._first = None
        # A node that it greets hears of all results that nobody has kept.
        return Words(client=(*told, *self._cancel(stop)), node=self._jobs.unkept())

    def _answer(self, number: int) -> tuple[str, ...]:
        said = self._unanswered.pop(number, None)
        return () if said is None else (_acknowledged(said),)

    # Tasks.

    def _run(self, body: bytes, token: Token) -> Words:
        task = crew.decode_task(body)
        wanted = dialect.execution(task, token)
        if isinstance(wanted, Failure):
            return Words(node=(self._jobs.fail(task, token, wanted),))
        self._jobs.take(wanted.id)
        timeout_s = dialect.TIMEOUT_S if wanted.timeout_s is None else wanted.timeout_s
        stdin: dict[str, Json] = {} if wanted.stdin is None else {"stdin": wanted.stdin}
        execute = _text(
            type="execute",
            taskId=wanted.id,
            language=self._words.get(language_of(wanted.language), wanted.language),
            code=wanted.code,
            resourceLimit={"timeout": dialect.seconds(timeout_s), "memory": wanted.memory},
            **stdin,
        )
        return Words(client=(execute,))

    def _result(self, said: Result) -> Words:
        if self._greet is None:
            raise Misspoken("a heartbeat comes first: nobody knows yet who this is")
        took = said.execution_time
        try:
            took_s = None if took is None else durations.parse(took)
        except ValueError:
            took_s = None  # it is for people; how long it took is known here, too
        told = dialect.outcome(
            said.output or "",
            said.error or "",
            ok=said.success,
            exit_code=said.exit_code or 0,
            took=took if isinstance(took, str) else "" if took_s is None else dialect.seconds(took_s),
        )
        return Words(node=(self._jobs.end(said.task_id, told, took_s),))

    def _cancel(self, tokens: tuple[Token, ...]) -> tuple[str, ...]:
        return tuple(_text(type="cancel", taskId=id) for id in self._jobs.stop(tokens))


def session_of(*facts: object) -> str:
    """The same for a client that comes back as it was: nobody can tell whether its process is another one.

    Who comes back with other facts is another session, which takes over what the client says it holds.
    """
    return f"json:{hashlib.sha256(repr(facts).encode(errors='replace')).hexdigest()[:32]}"


def _acknowledged(said: Heartbeat, **more: Json) -> str:
    kind = "register_ack" if isinstance(said, Register) else "heartbeat_ack"
    return _text(type=kind, clientId=said.client_id, timestamp=said.timestamp, **more)


def _text(**fields: Json) -> str:
    return msgspec.json.encode(fields).decode()
