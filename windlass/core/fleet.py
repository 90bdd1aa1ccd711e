"""Workers, as last heard of: what they offer, how busy they are, how well they do, in which state that is.

    OFFLINE ──► REGISTERING ──► ONLINE ◄──► BUSY        all slots taken
                                  ▲ │
                                  │ ▼
                               DEGRADED                 too many of its results were failures
    any ──► OFFLINE                                     silent, closed, or gone

Nothing here is decided by a message: the state follows from what is known, so it cannot be wrong for long.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import exp, inf, log
from typing import Final, Literal

import msgspec

from windlass.core.cluster import NodeId
from windlass.core.errors import Invalid
from windlass.core.names import SessionId, WorkerId

Status = Literal["OFFLINE", "REGISTERING", "ONLINE", "BUSY", "DEGRADED"]
Halt = Literal["", "paused", "draining"]  # by an operator, or by the worker itself

BEAT_S: Final = 10.0
SILENT_S: Final = 30.0  # unhealthy
GONE_S: Final = 90.0  # it leaves the registry
SUCCESS_MIN: Final = 0.5
RESULTS_MIN: Final = 10
PROBE_S: Final = 10.0  # between two tasks of one that is degraded
_MANY: Final = 2**31  # results: enough for any rule
_FORGOTTEN: Final = 0.01  # results that weigh less than this together say nothing
DECAY_S: Final = 600.0  # what is older than this counts for little
RECENT_S: Final = 10.0  # the same, of the averages by which `weighted` compares


class Facts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a worker says of itself when it greets a node."""

    id: WorkerId
    session: SessionId  # one life of its process: it may greet several nodes, one after the other
    slots: int
    capabilities: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()  # that it works for; empty: all
    labels: dict[str, str] = {}
    host: str = ""
    host_group: str = ""
    weight: float = 1.0
    program: str = ""  # what it is, and its version
    address: str = ""  # from where it came


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """When a worker is healthy, and when it does badly."""

    beat_s: float = BEAT_S
    silent_s: float = SILENT_S
    gone_s: float = GONE_S
    success_min: float = SUCCESS_MIN
    results_min: int = RESULTS_MIN
    probe_s: float = PROBE_S


@dataclass(slots=True)
class Record:
    """How well it does: averages in which a result counts the less the older it is."""

    results: float = 0.0  # decayed count
    good: float = 0.0
    latency_s: float = 0.0  # decayed mean of how long its tasks took
    at: float = 0.0  # when it was last brought up to date
    count: int = 0  # of all results; nothing decays here
    recent_success: float = 1.0  # as `weighted` sees it: over seconds,
    recent_s: float = 0.0  # and how long tasks took in these

    def note(self, *, ok: bool, took_s: float, now: float) -> None:
        """A result that came `now`, after so long."""
        took_s, past_s = max(0.0, took_s), max(0.0, now - self.at)
        kept = exp(-past_s / DECAY_S)
        self.results = self.results * kept + 1.0
        self.good = self.good * kept + ok
        self.latency_s += (took_s - self.latency_s) / self.results
        kept = exp(-past_s / RECENT_S) if self.count else 0.0
        self.recent_s = self.recent_s * kept + took_s * (1.0 - kept)
        kept = max(kept, 0.5)  # one result alone is no judgement
        self.recent_success = self.recent_success * kept + ok * (1.0 - kept)
        self.at = max(self.at, now)
        self.count += 1

    def success(self, now: float) -> float:
        """From 0 to 1; 1 of one that has shown nothing yet, or nothing that still counts."""
        return self.good / self.results if self.results and now < self._until(_FORGOTTEN) else 1.0

    def weight(self, now: float) -> float:
        """What its results count for together by now."""
        return self.results * exp(-max(0.0, now - self.at) / DECAY_S)

    def degraded_until(self, rules: Rules) -> float:
        """Until when it does badly if no results come: those that did count less and less. -inf: it does not.

        It takes `results_min` of them to judge it; they are forgotten when they weigh less than half of that.
        """
        if self.count < rules.results_min or self.good >= rules.success_min * self.results:
            return -inf
        return self._until(max(_FORGOTTEN, rules.results_min / 2))

    def _until(self, weight: float) -> float:
        """When all its results together will weigh no more than this."""
        return self.at + DECAY_S * log(self.results / weight)


@dataclass(slots=True, eq=False)
class Seen:
    """A worker as one node knows it. Who changes it tells the index (`assign.Index.changed`)."""

    facts: Facts
    node: NodeId  # where it is connected
    order: int = 0  # as which one it came: the earlier wins ties
    capabilities: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    active: int = 0  # slots taken
    cpu: float = 0.0  # of its machine, 0 to 1
    memory: float = 0.0
    trip_s: float = 0.0  # to it and back
    heard_at: float = 0.0
    registered: bool = False
    connected: bool = True
    halt: Halt = ""
    built_in: bool = False  # it dies with its node
    by: str = ""  # who connected it
    since: float = 0.0  # when it came to that node, by the cluster's clock: of two nodes, the later has it
    probed_at: float = -inf  # when it was given a task as one that is degraded
    chosen_at: float = -inf  # when `weighted` took it last
    record: Record = field(default_factory=Record)  # by which it is judged
    shown: Record | None = None  # what people are told instead, of one that is not judged

    @property
    def id(self) -> WorkerId:
        return self.facts.id

    @property
    def session(self) -> SessionId:
        return self.facts.session

    @property
    def slots(self) -> int:
        return self.facts.slots

    @property
    def free(self) -> int:
        return max(0, self.slots - self.active)


def known(facts: Facts, node: NodeId, *, order: int = 0, built_in: bool = False, now: float = 0.0) -> Seen:
    return Seen(
        facts=facts,
        node=node,
        order=order,
        capabilities=frozenset(facts.capabilities),
        namespaces=frozenset(facts.namespaces),
        heard_at=now,
        built_in=built_in,
        shown=Record() if built_in else None,
    )


def status(worker: Seen, now: float, rules: Rules) -> Status:
    if not worker.connected or not healthy(worker, now, rules):
        return "OFFLINE"
    if not worker.registered:
        return "REGISTERING"
    if degraded(worker, now, rules):
        return "DEGRADED"
    return "BUSY" if worker.active >= worker.slots else "ONLINE"


# Moments are compared with moments, `now` alone on one side: who waits for one to come sees it come.


def healthy(worker: Seen, now: float, rules: Rules) -> bool:
    """Whether it was heard of lately."""
    return now < worker.heard_at + rules.silent_s


def gone(worker: Seen, now: float, rules: Rules) -> bool:
    """Whether it was silent for so long that the registry need not know it."""
    return now >= worker.heard_at + rules.gone_s


def degraded(worker: Seen, now: float, rules: Rules) -> bool:
    return now < worker.record.degraded_until(rules)


def is_available(worker: Seen, now: float, rules: Rules) -> bool:
    """Whether it would take a task as any other; one that is degraded takes one now and then."""
    return status(worker, now, rules) == "ONLINE" and not worker.halt


def can_handle(worker: Seen, requires: Iterable[str]) -> bool:
    return worker.capabilities.issuperset(requires)


def load_factor(worker: Seen) -> float:
    """The share of its slots that are taken; one without slots is full."""
    return worker.active / worker.slots if worker.slots > 0 else 1.0


def register(worker: Seen, capabilities: Iterable[str], now: float) -> None:
    """It is written down with what it can do: from now on it may be chosen."""
    worker.capabilities = frozenset(capabilities)
    worker.registered = True
    heartbeat(worker, now)


def heartbeat(worker: Seen, now: float) -> None:
    worker.heard_at = max(worker.heard_at, now)


def update_load(worker: Seen, active: int) -> None:
    """Raises Invalid("Invalid load: n") for what cannot be."""
    check_load(active, worker.slots)
    worker.active = active


def check_load(active: int, slots: int) -> None:
    """Raises Invalid for what cannot be."""
    if active < 0 or active > slots:
        raise Invalid(f"Invalid load: {active}")


def tell(worker: Seen, now: float, rules: Rules, tasks: Iterable[tuple[str, str, str, int]] = ()) -> Told:
    """`tasks`: what it runs, if that is to be told."""
    record = worker.shown or worker.record
    return Told(
        facts=worker.facts,
        node=worker.node,
        status=status(worker, now, rules),
        active=worker.active,
        cpu=worker.cpu,
        memory=worker.memory,
        trip_s=worker.trip_s,
        silent_for_s=max(0.0, now - worker.heard_at) if worker.heard_at != inf else 0.0,
        connected=worker.connected,
        halt=worker.halt,
        built_in=worker.built_in,
        success=record.success(now),
        results=record.weight(now),
        latency_s=record.latency_s,
        by=worker.by,
        since=worker.since,
        tasks=tuple(tasks),
    )


def record(told: Told, now: float) -> Record:
    """How well a worker does, as far as its node has told: that one judges it, we do not."""
    if told.built_in:
        return Record()  # nobody judges it
    count = _MANY if told.status == "DEGRADED" else 0
    good = told.results * told.success
    return Record(told.results, good, told.latency_s, now, count, told.success, told.latency_s)


class Told(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A worker as its node tells of it: to other nodes, and to people."""

    facts: Facts
    node: NodeId
    status: Status = "ONLINE"
    active: int = 0
    cpu: float = 0.0
    memory: float = 0.0
    trip_s: float = 0.0
    silent_for_s: float = 0.0  # since it was last heard of
    connected: bool = True
    halt: Halt = ""
    built_in: bool = False
    success: float = 1.0
    results: float = 0.0  # decayed count behind `success`
    latency_s: float = 0.0
    by: str = ""  # who connected it
    since: float = 0.0  # when it came to that node
    tasks: tuple[tuple[str, str, str, int], ...] = ()  # names of what it runs, the first of them
