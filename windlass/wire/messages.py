"""What nodes say to each other: registered types with tags, in a binary codec; users' values are JSON inside.

Request ──► Answer      somebody waits
Notice                  nobody does: what is lost is made good by the next look at the database
"""

from __future__ import annotations

from typing import Final

import msgspec

from windlass.core.cluster import Holding, NodeId
from windlass.core.explain import Outside
from windlass.core.log import Printed
from windlass.core.names import Key
from windlass.core.orders import Order, Reply
from windlass.core.task import Task, TaskName

# JSON inside: integers beyond 64 bits are fine in a step's output, and no binary codec has them.
_json: Final = msgspec.json.Encoder()
_order: Final[msgspec.json.Decoder[Order]] = msgspec.json.Decoder(Order)
_task: Final[msgspec.json.Decoder[Task]] = msgspec.json.Decoder(Task)


class Message(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    pass


# Requests.


class Ask(Message, tag="Ask", frozen=True):
    """An order for an entity you own, or know the owner of."""

    key: Key
    order: bytes  # JSON
    timeout_s: float  # how long the sender still waits
    hops: int = 0


class WhoHolds(Message, tag="WhoHolds", frozen=True):
    """I own this shard now: which of its tasks do your workers have? No older owner counts from now on."""

    shard: int
    epoch: int


class Offer(Message, tag="Offer", frozen=True):
    """Run this."""

    shard: int
    epoch: int
    task: bytes  # JSON


class AreWanted(Message, tag="AreWanted", frozen=True):
    """My workers have these tasks of a shard you own: shall they go on?"""

    shard: int
    names: tuple[TaskName, ...]


class LookOutside(Message, tag="LookOutside", frozen=True):
    """What do the tasks of this run wait for?"""

    key: Key


class IsQuiet(Message, tag="IsQuiet", frozen=True):
    """Is everything that the run printed in the journal?"""

    key: Key


class Relay(Message, tag="Relay", frozen=True):
    """I cannot reach that node: ask it for me."""

    to: NodeId
    request: bytes
    timeout_s: float


Request = Ask | WhoHolds | Offer | AreWanted | LookOutside | IsQuiet | Relay


# Answers.


class Replied(Message, tag="Replied", frozen=True):
    reply: Reply


class Failed(Message, tag="Failed", frozen=True):
    """An error of ours, by the name of its class."""

    error: str
    text: str
    retry_after_s: float = 1.0


class HeldTask(Message, frozen=True):
    name: TaskName
    worker: str
    session: str


class Held(Message, tag="Held", frozen=True):
    tasks: tuple[HeldTask, ...] = ()


class Taken(Message, tag="Taken", frozen=True):
    """The task runs here."""

    worker: str
    session: str


class Declined(Message, tag="Declined", frozen=True):
    """The task does not run here."""

    reason: str
    stale: bool = False  # a newer owner has spoken
    done: bool = False  # it has been run here, and is over


class Unwanted(Message, tag="Unwanted", frozen=True):
    """Of the tasks you asked about: nobody waits for these."""

    epoch: int
    names: tuple[TaskName, ...] = ()


class LooksLike(Message, tag="LooksLike", frozen=True):
    outside: Outside


class Quiet(Message, tag="Quiet", frozen=True):
    quiet: bool


class Relayed(Message, tag="Relayed", frozen=True):
    answer: bytes


class Unrelayed(Message, tag="Unrelayed", frozen=True):
    """I cannot reach it either."""

    sent: bool  # it may have been done


Answer = Replied | Failed | Held | Taken | Declined | Unwanted | LooksLike | Quiet | Relayed | Unrelayed


# Notices.


class Owns(Message, tag="Owns", frozen=True):
    """These shards have new owners."""

    shards: dict[int, Holding]


class Slots(Message, tag="Slots", frozen=True):
    """My workers could take so many tasks now. `session` changes when what they held is lost."""

    worker: str
    session: str
    capabilities: tuple[str, ...]
    free: int


class Hungry(Message, tag="Hungry", frozen=True):
    """I have tasks that nobody here can take: tell me when your slots change. Or no longer."""

    hungry: bool


class Stop(Message, tag="Stop", frozen=True):
    """Nobody wants these results any more."""

    shard: int
    epoch: int
    names: tuple[TaskName, ...]


class Wrote(Message, tag="Wrote", frozen=True):
    """What an attempt of a run you own printed here."""

    task: bytes  # JSON
    printed: Printed


class Follow(Message, tag="Follow", frozen=True):
    """Tell me what happens to this run, or what it prints. Or no longer."""

    key: Key
    logs: bool = False
    wanted: bool = True


class News(Message, tag="News", frozen=True):
    """What happened to a run you follow. No events: look into the journal."""

    key: Key
    first_seq: int = 0
    events: tuple[bytes, ...] = ()  # JSON, as the journal keeps them, of the format both of us read
    logs: bool = False


Notice = Owns | Slots | Hungry | Stop | Wrote | Follow | News


# A frame is a list of these.


class Calling(Message, tag="?", frozen=True):
    number: int
    request: Request


class Answering(Message, tag="!", frozen=True):
    number: int
    answer: Answer | None  # None: the call broke over there


class Telling(Message, tag=".", frozen=True):
    notice: Notice


Envelope = Calling | Answering | Telling

_pack: Final = msgspec.msgpack.Encoder()
_frame: Final[msgspec.msgpack.Decoder[list[Envelope]]] = msgspec.msgpack.Decoder(list[Envelope])
_request: Final[msgspec.msgpack.Decoder[Request]] = msgspec.msgpack.Decoder(Request)
_answer: Final[msgspec.msgpack.Decoder[Answer]] = msgspec.msgpack.Decoder(Answer)


def encode_frame(envelopes: list[Envelope]) -> bytes:
    return _pack.encode(envelopes)


def decode_frame(frame: bytes) -> list[Envelope]:
    return _frame.decode(frame)


def encode_request(request: Request) -> bytes:
    return _pack.encode(request)


def decode_request(body: bytes) -> Request:
    return _request.decode(body)


def encode_answer(answer: Answer) -> bytes:
    return _pack.encode(answer)


def decode_answer(body: bytes) -> Answer:
    return _answer.decode(body)


def encode_order(order: Order) -> bytes:
    return _json.encode(order)


def decode_order(body: bytes) -> Order:
    return _order.decode(body)


def encode_task(task: Task) -> bytes:
    return _json.encode(task)


def decode_task(body: bytes) -> Task:
    return _task.decode(body)
