"""The raw dialect: a frame is a request to run code, and the result comes by HTTP.

    worker                                            node
      │◄──────── {id, language, codeBlock, callBackUrl} │
      │ POST callBackUrl {id, result, err} ────────────►│  200 once it is kept
      │ {"Type": "responseDuration", "Data": ms} ──────►│
      │ ping, every 2 s ───────────────────────────────►│

Such workers say nothing of themselves but their weight: they run all five languages, one task at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, assert_never

import msgspec

from windlass.core.needs import language_of, offers
from windlass.core.task import Failure, Json, Outcome
from windlass.gateway import dialect
from windlass.gateway.dialect import Execution, Jobs, Misspoken, Words
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
    Welcome,
)

PING_S: Final = 5.0
SOON_S: Final = 0.25  # until the node says how often it wants to hear of workers
SLOTS: Final = 1  # its reading waits while it runs something

Members = dict[str, Json]


class RawDialect:
    """Implements Dialect. `post` answers the address to which the result of a task may be sent, by its id;
    `kept` is told of those that need none any more.
    """

    ping_s: float | None = SOON_S
    program = "raw client"

    def __init__(
        self,
        name: str,
        weight: int,
        *,
        clock: Callable[[], float],
        post: Callable[[str], str],
        kept: Callable[[str], None],
        address: str = "",
    ) -> None:
        self._greet = Greet(
            crew.LOWEST,
            crew.LOWEST,  # whole tasks alone
            name,
            name,
            SLOTS,
            tuple(offers(dialect.LANGUAGES)),
            host=address,
            weight=float(max(1, weight)),
            program=self.program,
        )
        self._jobs = Jobs(clock)
        self._post = post
        self._kept = kept
        self._beats = 0

    def begin(self) -> Words:
        return Words(greet=self._greet)

    def alive(self) -> Words:
        self._beats += 1
        return Words(node=(Beat(self._beats, 0.0, 0.0, self._jobs.tokens()),))

    def scold(self, message: str) -> Words:
        return Words()  # such a worker takes whatever it is told for code to run

    def hear(self, text: str) -> Words:
        said = members(text)
        if str(said.get("type", "")).lower() != "responseduration":
            raise Misspoken(f"nobody knows the type {dialect.shown(str(said.get('type')))}")
        return self.alive()

    def tell(self, message: FromNode) -> Words:
        match message:
            case Run(body, token):
                task = crew.decode_task(body)
                wanted = dialect.execution(task, token)
                if isinstance(wanted, Execution) and wanted.stdin is not None:
                    wanted = Failure(
                        "NoStdin", "clients of this dialect hand no stdin to code", retryable=False
                    )
                if isinstance(wanted, Failure):
                    return Words(node=(self._jobs.fail(task, token, wanted),))
                self._jobs.take(wanted.id)
                return Words(client=(self._execute(wanted),))
            case Welcome(_, _, beat_s, _, stop):
                self.ping_s = min(PING_S, beat_s)
                self._jobs.stop(stop)
                return Words()
            case Beaten(_, stop):
                self._jobs.stop(stop)
                return Words()
            case Stop(tokens):
                self._jobs.stop(tokens)  # it cannot be told; it is cut off if it takes too long
                return Words()
            case Kept(tokens):
                for id in self._jobs.kept(tokens):
                    self._kept(id)
                return Words()
            case Order():
                return Words(node=(Leaving(),))
            case Rejected(_, reason):
                return self.scold(reason)
            case Secrets() | RunLight():
                return Words()  # never asked for
            case _:
                assert_never(message)

    def result(self, id: str, told: Members) -> Words:
        """A result came by HTTP. Raises Misspoken."""
        return Words(node=(self._jobs.end(id, outcome(told)),))

    def _execute(self, wanted: Execution) -> str:
        return msgspec.json.encode(request(wanted, self._post(wanted.id))).decode()


def request(wanted: Execution, url: str = "") -> Members:
    """An ExecuteRequest; what is empty is left out."""
    language = language_of(wanted.language)
    callback: Members = {"callBackUrl": url} if url else {}
    return {"id": wanted.id, "language": language, "codeBlock": wanted.code, **callback}


def outcome(told: Members) -> Outcome:
    """Of an ExecuteResponse. How the code exited is not in it: only that it could not be run is an error."""
    error, output = told.get("err") or "", told.get("result") or ""
    if not isinstance(error, str) or not isinstance(output, str):
        raise Misspoken("result and err are texts")
    return dialect.outcome(output, error, ok=not error, exit_code=None, took="")


def members(text: str | bytes) -> Members:
    """An object with its keys in small letters: such workers care for no case. Raises Misspoken."""
    try:
        said = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Misspoken(f"this cannot be read: {str(error)[:200]}") from None
    if not isinstance(said, dict):
        raise Misspoken("an object is expected")
    return {key.lower(): value for key, value in said.items()}
