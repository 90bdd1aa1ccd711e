"""What nodes say to each other: registered types with tags, in a binary codec; users' values are JSON inside.

Request ──► Answer      somebody waits
Notice                  nobody does: what is lost is made good by the next look at the database
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from windlass.core.assign.chosen import Chosen, Sought
from windlass.core.assign.index import Verdict
from windlass.core.cluster import Holding, NodeId
from windlass.core.explain_workers import Outside
from windlass.core.fleet import Told
from windlass.core.log import Printed
from windlass.core.names import Key, StepId
from windlass.core.node_figures import NodeFigures
from windlass.core.orders import Order, Reply
from windlass.core.pulse import Counted
from windlass.core.task import Json, Task, TaskName

WorkerOrder = Literal["drain", "pause", "resume", "kick"]

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
    session: str = ""  # of the worker that shall; empty: any of yours
    places: dict[str, str] = {}  # of large values that are not in it, each with its name: see wire.bulk
    bodies: dict[str, bytes] = {}  # of those that you may not have, as JSON, by name


class AreWanted(Message, tag="AreWanted", frozen=True):
    """My workers have these tasks of a shard you own: shall they go on?"""

    shard: int
    names: tuple[TaskName, ...]


class LookOutside(Message, tag="LookOutside", frozen=True):
    """What do the tasks of this run wait for?"""

    key: Key


class LookCrew(Message, tag="LookCrew", frozen=True):
    """How are your workers?"""


class OrderWorker(Message, tag="OrderWorker", frozen=True):
    """An operator wants this of a worker of yours."""

    worker: str
    order: WorkerOrder


class LookForWorkers(Message, tag="LookForWorkers", frozen=True):
    """Who could run this step, which waits?"""

    key: Key
    step: StepId


class LookChoices(Message, tag="LookChoices", frozen=True):
    """Of level 5: to whom did you give tasks lately?"""

    sought: Sought


class LookFigures(Message, tag="LookFigures", frozen=True):
    """Of level 5: what have you counted?"""


class LookPulse(Message, tag="LookPulse", frozen=True):
    """Of level 5: how did the runs of this namespace go lately?"""

    namespace: str


class IsQuiet(Message, tag="IsQuiet", frozen=True):
    """Is everything that the run printed in the journal?"""

    key: Key


class Relay(Message, tag="Relay", frozen=True):
    """I cannot reach that node: ask it for me."""

    to: NodeId
    request: bytes
    timeout_s: float


Request = (
    Ask | WhoHolds | Offer | AreWanted | LookOutside | LookCrew | OrderWorker | LookForWorkers | IsQuiet
    | LookChoices | LookFigures | LookPulse | Relay
)  # fmt: skip


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
    survives: bool = False  # that worker outlives its node


class Held(Message, tag="Held", frozen=True):
    tasks: tuple[HeldTask, ...] = ()


class Taken(Message, tag="Taken", frozen=True):
    """The task runs here."""

    worker: str
    session: str
    survives: bool = False  # that worker outlives its node


class Declined(Message, tag="Declined", frozen=True):
    """The task does not run here."""

    reason: str
    stale: bool = False  # a newer owner has spoken
    done: bool = False  # it has been run here, and is over


class Missing(Message, tag="Missing", frozen=True):
    """The task cannot be looked at without these values: offer it again, with them."""

    names: tuple[str, ...]


class Unwanted(Message, tag="Unwanted", frozen=True):
    """Of the tasks you asked about: nobody waits for these."""

    epoch: int
    names: tuple[TaskName, ...] = ()


class LooksLike(Message, tag="LooksLike", frozen=True):
    outside: Outside


class CrewTold(Message, tag="CrewTold", frozen=True):
    workers: tuple[Told, ...] = ()


class Candidates(Message, tag="Candidates", frozen=True):
    verdicts: tuple[Verdict, ...] | None = None  # None: it does not wait


class ChoicesTold(Message, tag="ChoicesTold", frozen=True):
    choices: tuple[Chosen, ...] = ()  # the newest first


class FiguresTold(Message, tag="FiguresTold", frozen=True):
    figures: NodeFigures


class PulseTold(Message, tag="PulseTold", frozen=True):
    counted: Counted


class Quiet(Message, tag="Quiet", frozen=True):
    quiet: bool


class Relayed(Message, tag="Relayed", frozen=True):
    answer: bytes


class Unrelayed(Message, tag="Unrelayed", frozen=True):
    """I cannot reach it either."""

    sent: bool  # it may have been done


Answer = (
    Replied | Failed | Held | Taken | Declined | Missing | Unwanted | LooksLike | CrewTold | Candidates
    | Quiet | ChoicesTold | FiguresTold | PulseTold | Relayed | Unrelayed
)  # fmt: skip


# Notices.


class Owns(Message, tag="Owns", frozen=True):
    """These shards have new owners."""

    shards: dict[int, Holding]


class Crewed(Message, tag="Crewed", frozen=True):
    """These workers are with me."""

    workers: tuple[Told, ...]
    whole: bool = False  # and no others


class Busy(Message, tag="Busy", frozen=True):
    """So many slots of my workers are taken, by session."""

    active: dict[str, int]


class Parted(Message, tag="Parted", frozen=True):
    """These workers are not with me any more."""

    sessions: tuple[str, ...]


class HeadTold(Message, frozen=True):
    rank: float
    requires: tuple[str, ...]
    namespace: str
    count: int


class Heads(Message, tag="Heads", frozen=True):
    """What waits here first, of each kind: I know of nobody who can have it. Or nothing waits any more."""

    heads: tuple[HeadTold, ...] = ()


class Room(Message, tag="Room", frozen=True):
    """I keep a slot of this worker free for the first of your tasks that it can run, for a moment."""

    worker: Told


class Unused(Message, tag="Unused", frozen=True):
    """The slot that you kept for me: I have nothing for it."""

    session: str


class Holds(Message, tag="Holds", frozen=True):
    """These workers have come to me, and have tasks of a shard that you own."""

    tasks: tuple[HeldTask, ...]


class Gone(Message, tag="Gone", frozen=True):
    """A worker that was with me does not have the task any more."""

    name: TaskName
    worker: str
    session: str
    reason: str
    witnessed: bool = False
    returned: bool = False


class Progressed(Message, tag="Progressed", frozen=True):
    """How far a task of yours is."""

    name: TaskName
    details: bytes  # JSON


class Assigned(Message, tag="Assigned", frozen=True):
    """The rule by which workers are chosen was changed: look it up."""


class Slots(Message, tag="Slots", frozen=True):
    """Of level 1, and not heeded any more: my workers could take so many tasks now."""

    worker: str
    session: str
    capabilities: tuple[str, ...]
    free: int


class Hungry(Message, tag="Hungry", frozen=True):
    """Of level 1, and not heeded any more: I have tasks that nobody here can take."""

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


Notice = (
    Owns | Crewed | Busy | Parted | Heads | Room | Unused | Holds | Gone | Progressed | Assigned | Slots
    | Hungry | Stop | Wrote | Follow | News
)  # fmt: skip


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


def encode_json(value: Json) -> bytes:
    return _json.encode(value)


def decode_json(body: bytes) -> Json:
    return msgspec.json.decode(body)
