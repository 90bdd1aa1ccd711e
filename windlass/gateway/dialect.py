"""What all dialects of older workers share: ids of tasks, what a client holds, and code that it may run.

A dialect is a pure translator. It hears texts and says messages of `wire.crew`, and the other way round; the
crew does not know that its worker speaks something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from windlass.core import durations, secret_refs
from windlass.core.names import Attempt, RunId, StepId
from windlass.core.needs import CODE
from windlass.core.task import VALUE_BYTES_MAX, Failure, Json, Outcome, Success, Task
from windlass.wire import crew
from windlass.wire.crew import Ended, FromNode, FromWorker, Greet, Holding, Returned, Token

LANGUAGES: Final = ("golang", "python", "javascript", "java", "c")  # that clients of today run, all of them
TIMEOUT_S: Final = 30.0  # what a client is told where the step has no timeout
MEMORY: Final = "256MB"
TEXT_BYTES_MAX: Final = VALUE_BYTES_MAX  # of what a client says at once
DETAIL_MAX: Final = 10_000
MESSAGE_MAX: Final = 2_000
TOOK_MAX: Final = 40

# Between the parts of a task's id; no part of a name holds one.
_BETWEEN: Final = "~"


class Misspoken(Exception):
    """What a client said makes no sense; the message says why."""


class Words(NamedTuple):
    """What follows from something that was said."""

    client: tuple[str, ...] = ()  # for the client, as texts
    node: tuple[FromWorker, ...] = ()
    greet: Greet | None = None  # it greets the node, or greets it anew with other facts


class Dialect(Protocol):
    """One conversation in one dialect."""

    ping_s: float | None  # its beats are pings: one is answered, and asked for after so much silence

    def begin(self) -> Words:
        """The client is here, and has said nothing yet."""

    def hear(self, text: str) -> Words:
        """From the client. Raises Misspoken."""

    def alive(self) -> Words:
        """A ping of the client came, or its answer to one."""

    def tell(self, message: FromNode) -> Words:
        """From the node."""

    def scold(self, message: str) -> Words:
        """What is said to a client that has misspoken."""


class Execution(NamedTuple):
    """Code to run, as all dialects see it."""

    id: str
    language: str
    code: str
    stdin: str | None
    timeout_s: float | None
    memory: str = MEMORY


@dataclass(slots=True)
class Job:
    id: str
    holding: Holding
    sent_at: float | None = None  # None: it was given over another connection
    stopped: bool = False
    ended: Ended | None = None  # said, and not yet kept


class Jobs:
    """What one client holds: each task has an id that shows its name and its token.

    So a client can be believed what it says of a task, also when it comes back over another connection.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._held: dict[Token, Job] = {}

    def take(self, id: str) -> None:
        """The client is given this task."""
        holding = read_id(id)
        self._held[holding.token] = Job(id, holding, sent_at=self._clock())

    def fail(self, task: Task, token: Token, failure: Failure) -> Ended:
        """The client is not given it, because it could not run it."""
        return self._ended(Holding(task.name, token), failure, 0.0)

    def adopt(self, ids: Iterable[str]) -> None:
        """The client says that it holds these. Raises Misspoken."""
        for holding in [read_id(id) for id in ids]:
            self._held.setdefault(holding.token, Job(id_of(holding), holding))

    def holdings(self) -> tuple[Holding, ...]:
        return tuple(job.holding for job in self._held.values())

    def tokens(self) -> tuple[Token, ...]:
        return tuple(self._held)

    def end(self, id: str, outcome: Outcome, took_s: float | None = None) -> Ended:
        """The client has a result, also of what it was given long ago. Raises Misspoken."""
        holding = read_id(id)
        job = self._held.setdefault(holding.token, Job(id_of(holding), holding))
        if took_s is None:
            took_s = 0.0 if job.sent_at is None else max(0.0, self._clock() - job.sent_at)
        job.ended = self._ended(job.holding, outcome, took_s)
        return job.ended

    def unkept(self) -> tuple[Ended, ...]:
        """Results that a node heard and nobody has kept: the next node hears them again."""
        return tuple(job.ended for job in self._held.values() if job.ended is not None)

    def stop(self, tokens: Iterable[Token]) -> list[str]:
        """Nobody wants these; answers the ids of those that still run."""
        jobs = [self._held[token] for token in tokens if token in self._held]
        for job in jobs:
            job.stopped = True
            if job.ended is not None:
                del self._held[job.holding.token]
        return [job.id for job in jobs if job.ended is None]

    def kept(self, tokens: Iterable[Token]) -> list[str]:
        """Their results are kept; answers the ids of those that the client has ended.

        If the node ended one by itself, the client may be running it still, and has to be known as busy.
        """
        jobs = [self._held[token] for token in tokens if token in self._held]
        for job in jobs:
            job.stopped = True
        return [self._held.pop(job.holding.token).id for job in jobs if job.ended is not None]

    def obeyed(self, ids: Iterable[str]) -> tuple[Returned, ...]:
        """Of what was to be stopped, what is not among these, which are all that the client holds."""
        held = set(ids)
        gone = [job for job in self._held.values() if job.stopped and not job.ended and job.id not in held]
        for job in gone:
            del self._held[job.holding.token]
        return tuple(Returned(job.holding.name, job.holding.token, "stopped") for job in gone)

    def _ended(self, holding: Holding, outcome: Outcome, took_s: float) -> Ended:
        told = crew.encode_outcome(outcome)
        return Ended(holding.name, holding.token, told, started_at=self._clock() - took_s, took_s=took_s)


def id_of(holding: Holding) -> str:
    """task~default~exec_0192~build~1~token: for people to read, and for us to check."""
    return _BETWEEN.join(("task", *map(str, holding.name), holding.token))


def read_id(id: str) -> Holding:
    parts = id.split(_BETWEEN)
    if len(parts) != 6 or parts[0] != "task" or not (parts[4].isascii() and parts[4].isdigit()):
        raise Misspoken(f"{shown(id)} is no task of ours; send taskId back as it came")
    _, namespace, run, step, attempt, token = parts
    return Holding((namespace, RunId(run), StepId(step), Attempt(int(attempt[:9]))), token)


def execution(task: Task, token: Token) -> Execution | Failure:
    """What the client is to run; or why no client of its kind can."""
    if task.kind != CODE:
        return Failure("NotCode", f"clients of this dialect run code, not {task.kind}", retryable=False)
    if secret_refs.names(task.with_):
        return Failure(
            "NoSecrets",
            "the step refers to secrets, which are not given to clients of older dialects",
            retryable=False,
        )
    stdin = task.with_.get("stdin")
    limits = task.with_.get("limits") or {}
    timeout_s = durations.parse(limits["timeout"]) if "timeout" in limits else task.timeout_s
    return Execution(
        id_of(Holding(task.name, token)),
        task.with_["language"],
        task.with_["code"],
        stdin,
        timeout_s,
        str(limits.get("memory", MEMORY)),
    )


def outcome(output: str, error: str, *, ok: bool, exit_code: int | None, took: str) -> Outcome:
    """The result of code, as steps of kind `code` have it."""
    value: Json = {"output": plain(output), "error": plain(error), "exitCode": exit_code}
    value["executionTime"] = plain(took)[:TOOK_MAX]
    if ok and not exit_code:
        return Success(value)
    said = plain(error).strip()
    detail = plain(output)[-DETAIL_MAX:]
    if exit_code:
        message = bounded(said or f"the code ended with {exit_code}")
        return Failure("ExitCode", message, detail=detail, value=value)
    message = bounded(said or "the client says that it failed")
    return Failure("CodeFailed", message, detail=detail, value=value)


def plain(text: str) -> str:
    """What any store can keep: programs print what they like."""
    safe = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return safe.encode(errors="replace").decode()


def bounded(text: str) -> str:
    return text if len(text) <= MESSAGE_MAX else f"{text[: MESSAGE_MAX - 1]}…"


def shown(text: str) -> str:
    return repr(text if len(text) <= 100 else f"{text[:99]}…")


def seconds(length_s: float) -> str:
    """30s, 1.2s: always in seconds, which readers of any language understand."""
    return f"{length_s:.3f}".rstrip("0").rstrip(".") + "s"
