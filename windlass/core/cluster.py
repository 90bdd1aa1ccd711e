"""The cluster as a value: who is in it, who owns which shard, and what is to move."""

from __future__ import annotations

from typing import Final, Literal, NewType

import msgspec

NodeId = NewType("NodeId", str)  # one life of a node: a process that starts again is another one

ENGINE: Final = "engine"  # owns shards and decides
GATEWAY: Final = "gateway"  # answers HTTP

State = Literal["up", "leaving", "dead"]  # leaving: alive, and handing its shards over


class Load(msgspec.Struct, frozen=True, omit_defaults=True):
    """How busy a node was when it last beat."""

    cpu: float = 0.0  # of the cores it may use, 0 to 1
    memory: float = 0.0  # of what it may use, 0 to 1
    memory_bytes: int = 0  # its own
    live: int = 0  # entities in memory
    inbox: int = 0  # letters that wait
    slots: int = 0  # of its own workers
    free: int = 0  # of these slots
    overloaded: bool = False  # no shard moves to it
    short: bool = False  # it starts no new runs


class Member(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A node as the others know it."""

    id: NodeId
    name: str  # what people call it; no two living nodes have the same
    address: str  # host:port, where nodes and clients reach it
    roles: tuple[str, ...] = (ENGINE, GATEWAY)
    state: State = "up"
    beat: int = 0  # grows while it lives
    started_at: float = 0.0
    load: Load = Load()
    level: int = 1  # the newest formats it reads: see wire.versions
    version: str = ""  # of the program

    @property
    def alive(self) -> bool:
        return self.state != "dead"

    @property
    def engine(self) -> bool:
        return ENGINE in self.roles


class Holding(msgspec.Struct, frozen=True):
    """Who may write a shard. The epoch only grows; whoever knows the higher one knows better."""

    owner: NodeId | None = None
    epoch: int = 0


class Move(msgspec.Struct, frozen=True):
    shard: int
    source: NodeId
    target: NodeId
    epoch: int = 0  # of the shard when this was planned; what happened to it since makes the move void


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is to move. Written by whoever sees the need first; followed by all."""

    round: int = 0
    moves: tuple[Move, ...] = ()
    reason: str = ""
    members: tuple[NodeId, ...] = ()  # that were up or leaving when it was made
    at: float = 0.0
    level: int = 1  # of the formats that are written: what all of them read, and never less than before


class View(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster as one read of the database shows it."""

    members: dict[NodeId, Member]  # the living, and those that died of late
    shards: dict[int, Holding]  # all of them
    plan: Plan = Plan()
    at: float = 0.0  # by the database's clock
    database: str = ""  # which database this is, and of which timeline: changes when another one took over
