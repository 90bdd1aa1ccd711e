"""What a worker and its node say to each other. See docs/worker-protocol.md.

    worker                                   node
      │ Greet: who I am, what I hold ─────────►│
      │◄────────── Welcome, or Rejected        │
      │◄────────── Run: a task, and its token  │
      │ Progress, Printed, Beat ──────────────►│  each with the token
      │ Ended: the result, until … ───────────►│
      │◄────────── Kept                        │

A frame is a list of messages; a message is a list that begins with its name. What users write is JSON inside.
A task's token proves that the cluster gave this task to this worker: what is said of a task has to show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from windlass.core.log import Printed as PrintedLines
from windlass.core.task import Outcome, Task, TaskName

LOWEST: Final = 1  # versions of the protocol that this program speaks
LIGHT: Final = 2  # from this version on, nodes may send tasks without their large values
HIGHEST: Final = LIGHT
PATH: Final = "/workers"
FRAME_BYTES_MAX: Final = 16 * 1024 * 1024
GREETING_BYTES_MAX: Final = 1024 * 1024
SLOTS_MAX: Final = 10_000
WORDS_MAX: Final = 200  # capabilities, labels and namespaces of a worker, each

Token = str  # see core.task_tokens


class Message(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    pass


# From the worker.


class Holding(Message, frozen=True):
    name: TaskName
    token: Token


class Greet(Message, tag="Greet", frozen=True):
    """First of all, and only once."""

    lowest: int
    highest: int
    worker: str  # its name: no two that are connected have the same
    session: str  # made anew when the process starts, and kept as long as it lives
    slots: int
    capabilities: tuple[str, ...]
    held: tuple[Holding, ...] = ()  # what it runs, and what it has results of
    namespaces: tuple[str, ...] = ()
    labels: dict[str, str] = {}
    host: str = ""
    host_group: str = ""
    weight: float = 1.0
    program: str = ""
    cpu: float = 0.0
    memory: float = 0.0


class Beat(Message, tag="Beat", frozen=True):
    """Alive: how busy, and what is held. Answered by Beaten."""

    number: int
    cpu: float
    memory: float
    held: tuple[Token, ...] = ()
    trip_s: float = (
        0.0  # from the beat before this one to its answer, by the worker's clock; 0: not known yet
    )


class Progress(Message, tag="Progress", frozen=True):
    """A task lives, and this is how far it is."""

    token: Token
    details: bytes = b"null"  # JSON


class Printed(Message, tag="Printed", frozen=True):
    token: Token
    printed: PrintedLines


class Ended(Message, tag="Ended", frozen=True):
    """A result. It is said again, to any node, until it is Kept."""

    name: TaskName
    token: Token
    outcome: bytes  # JSON
    started_at: float  # by the worker's clock
    took_s: float = 0.0  # the node counts back from its own clock


class Returned(Message, tag="Returned", frozen=True):
    """A task that was not begun, or was given up: somebody else may have it."""

    name: TaskName
    token: Token
    reason: str


class Leaving(Message, tag="Leaving", frozen=True):
    """Nothing new, please: what I hold I finish, or return."""


class NeedSecrets(Message, tag="NeedSecrets", frozen=True):
    """The values of secrets that this task refers to. Answered by Secrets."""

    number: int
    token: Token
    names: tuple[str, ...]


class Goodbye(Message, tag="Goodbye", frozen=True):
    """I hold nothing and leave."""


FromWorker = Greet | Beat | Progress | Printed | Ended | Returned | Leaving | NeedSecrets | Goodbye


# From the node.


class Welcome(Message, tag="Welcome", frozen=True):
    version: int
    node: str
    beat_s: float  # how often it wants to hear a Beat
    silent_s: float  # after so much silence it gives the worker no more tasks
    stop: tuple[Token, ...] = ()  # of what was said to be held: nobody wants these


class Rejected(Message, tag="Rejected", frozen=True):
    """And the connection is closed."""

    code: Literal["version", "greeting", "name", "namespace", "full", "kicked", "replaced", "protocol"]
    reason: str
    again_s: float = 0.0  # come back after that; 0: only once something was changed


class Run(Message, tag="Run", frozen=True):
    task: bytes  # JSON
    token: Token


class RunLight(Message, tag="RunLight", frozen=True):
    """A task without its large values, which others have in common with it: see wire.bulk."""

    task: bytes  # JSON
    token: Token
    places: dict[str, str]  # where in the task which value belongs: "input" or "parents/STEP" → its name
    bodies: dict[str, bytes] = {}  # values that were not sent over this connection before, as JSON, by name
    forget: tuple[str, ...] = ()  # names that will not be used any more


class Stop(Message, tag="Stop", frozen=True):
    """Nobody wants these results: end the tasks for real, or forget the results."""

    tokens: tuple[Token, ...]


class Kept(Message, tag="Kept", frozen=True):
    """The results of these tasks are kept, or not wanted: forget them."""

    tokens: tuple[Token, ...]


class Beaten(Message, tag="Beaten", frozen=True):
    number: int
    stop: tuple[Token, ...] = ()  # of what the beat said is held


class Secrets(Message, tag="Secrets", frozen=True):
    number: int
    values: dict[str, str] = {}
    error: str = ""  # NotFound, Locked or Unavailable
    text: str = ""


class Order(Message, tag="Order", frozen=True):
    """An operator wants this."""

    order: Literal["drain"]


FromNode = Welcome | Rejected | Run | RunLight | Stop | Kept | Beaten | Secrets | Order

_pack: Final = msgspec.msgpack.Encoder()
_json: Final = msgspec.json.Encoder()
_from_worker: Final[msgspec.msgpack.Decoder[list[FromWorker]]] = msgspec.msgpack.Decoder(list[FromWorker])
_from_node: Final[msgspec.msgpack.Decoder[list[FromNode]]] = msgspec.msgpack.Decoder(list[FromNode])
_task: Final[msgspec.json.Decoder[Task]] = msgspec.json.Decoder(Task)
_outcome: Final[msgspec.json.Decoder[Outcome]] = msgspec.json.Decoder(Outcome)


def encode(messages: Sequence[FromWorker | FromNode]) -> bytes:
    return _pack.encode(messages)


def from_worker(frame: bytes) -> list[FromWorker]:
    """Raises msgspec.DecodeError (or UnicodeError) for what is no frame."""
    return _from_worker.decode(frame)


def from_node(frame: bytes) -> list[FromNode]:
    return _from_node.decode(frame)


def encode_task(task: Task) -> bytes:
    return _json.encode(task)


def decode_task(body: bytes) -> Task:
    return _task.decode(body)


def encode_outcome(outcome: Outcome) -> bytes:
    return _json.encode(outcome)


def decode_outcome(body: bytes) -> Outcome:
    return _outcome.decode(body)
