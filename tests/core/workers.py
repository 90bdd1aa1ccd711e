"""Workers to choose from, and the plain way to choose: filter all of them, take the smallest key."""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from math import exp

from windlass.core.assign.adaptive import Adaptive, Figures
from windlass.core.assign.index import Custom, Index, Wanted
from windlass.core.assign.placed import KeyPart
from windlass.core.assign.policy import AdaptiveRules, Policy
from windlass.core.cluster import NodeId
from windlass.core.errors import Invalid
from windlass.core.fleet import DECAY_S, Facts, Rules, Seen, known
from windlass.core.names import SessionId, WorkerId

HERE = NodeId("here")
THERE = NodeId("there")
HOST, GROUP = "host-1", "rack-1"
RULES = Rules()

Key = tuple[KeyPart, ...]


def worker(
    name: str,
    *capabilities: str,
    slots: int = 10,
    order: int = 0,
    node: NodeId = HERE,
    namespaces: Iterable[str] = (),
    host: str = "",
    host_group: str = "",
    weight: float = 1.0,
    session: str = "",
    now: float = 0.0,
) -> Seen:
    """One that may be chosen."""
    facts = Facts(
        id=WorkerId(name),
        session=SessionId(session or f"{name}/1"),
        slots=slots,
        capabilities=capabilities,
        namespaces=tuple(namespaces),
        host=host,
        host_group=host_group,
        weight=weight,
    )
    seen = known(facts, node, order=order, now=now)
    seen.registered = True
    return seen


def no_custom(name: str) -> Custom:
    raise Invalid(f"there is no strategy {name}")


def index(
    *workers: Seen,
    seed: int = 0,
    rules: Rules = RULES,
    here: Callable[[], NodeId] = lambda: HERE,
    custom: Callable[[str], Custom] = no_custom,
) -> Index:
    made = Index(
        here=here, host=HOST, host_group=GROUP, chance=random.Random(seed), rules=rules, custom=custom
    )
    for one in workers:
        made.put(one)
    return made


def wanted(
    strategy: str = "load-balanced",
    *requires: str,
    namespace: str = "default",
    affinity: str = "",
    excluded: Iterable[str] = (),
    kind: str = "",
    policy: Policy | None = None,
) -> Wanted:
    return Wanted(
        frozenset(requires),
        namespace,
        policy or Policy(strategy=strategy),
        affinity,
        frozenset(map(SessionId, excluded)),
        kind=kind,
    )


def chosen(from_: Index, task: Wanted, now: float = 1.0) -> str:
    choice = from_.choose(task, now)
    return "nobody" if choice is None else choice.worker.id


def take(from_: Index, task: Wanted, now: float = 1.0) -> Seen | None:
    """Choose, and mark it as taken."""
    choice = from_.choose(task, now)
    if choice is None:
        return None
    free(from_, choice.worker, by=1)
    return choice.worker


def free(of: Index, seen: Seen, *, by: int = -1) -> None:
    seen.active += by
    of.changed(seen)


class Plain:
    """What `Index` promises, said in the plainest way; only what is remembered between choices is kept."""

    def __init__(self, rules: Rules, custom: Callable[[str], Custom]) -> None:
        self.rules = rules
        self.custom = custom
        self.workers: dict[SessionId, Seen] = {}
        self.turns: dict[tuple[frozenset[str], str], dict[SessionId, int]] = {}
        self.turn = Counter[tuple[frozenset[str], str]]()
        self.adaptives: dict[tuple[frozenset[str], str, AdaptiveRules], Adaptive] = {}

    def put(self, seen: Seen) -> None:
        self.drop(seen.session)
        self.workers[seen.session] = seen

    def drop(self, session: SessionId) -> None:
        self.workers.pop(session, None)
        for turns in self.turns.values():
            turns.pop(session, None)

    def able(self, task: Wanted, now: float) -> list[Seen]:
        there = [seen for seen in self.workers.values() if self.is_there(seen, task, now)]
        # Those who do badly rest between two tries; unless all do badly.
        some_do_well = any(now >= seen.record.degraded_until(self.rules) for seen in there)
        return [
            seen
            for seen in there
            if seen.active < seen.slots
            and seen.session not in task.excluded
            and (
                not some_do_well
                or now >= seen.record.degraded_until(self.rules)
                or now >= seen.probed_at + self.rules.probe_s
            )
        ]

    def is_there(self, seen: Seen, task: Wanted, now: float) -> bool:
        return (
            seen.connected
            and seen.registered
            and now < seen.heard_at + self.rules.silent_s
            and not seen.halt
            and task.requires <= seen.capabilities
            and (not seen.namespaces or task.namespace in seen.namespaces)
        )

    def ranked(self, task: Wanted, now: float) -> tuple[str, list[tuple[Key, Seen]]]:
        """What is followed, and all that may have the task, best first."""
        strategy = self.followed(task, now)
        pairs = [(self.key(strategy, task, seen), seen) for seen in self.able(task, now)]
        found = [(key, seen) for key, seen in pairs if key is not None]
        return strategy, sorted(found, key=lambda pair: (pair[0], pair[1].order))

    def took(self, strategy: str, task: Wanted, seen: Seen) -> None:
        if strategy == "round-robin":
            sort = self.sort(task)
            self.turn[sort] += 1
            self.turns.setdefault(sort, {})[seen.session] = self.turn[sort]

    def followed(self, task: Wanted, now: float) -> str:
        strategy = task.policy.strategy
        if strategy == "capability" and not task.requires - {task.kind}:
            return "load-balanced"
        if strategy != "adaptive":
            return strategy
        name = (*self.sort(task), task.policy.adaptive)
        if name not in self.adaptives:
            self.adaptives[name] = Adaptive(task.policy.adaptive)
            self.look(name, now)
        return self.adaptives[name].following

    def tick(self, now: float) -> list[str]:
        """What is followed instead of what, for each that was switched."""
        return [told for name in self.adaptives if (told := self.look(name, now))]

    def look(self, name: tuple[frozenset[str], str, AdaptiveRules], now: float) -> str:
        requires, namespace, _ = name
        there = [
            seen
            for seen in self.workers.values()
            if seen.connected and seen.registered and not seen.halt
            if now < seen.heard_at + self.rules.silent_s
            if requires <= seen.capabilities and (not seen.namespaces or namespace in seen.namespaces)
        ]
        if not there:
            figures = Figures()
        else:
            kept = [exp(-(now - seen.record.at) / DECAY_S) for seen in there]
            results = sum(seen.record.results * k for seen, k in zip(there, kept, strict=True))
            good = sum(seen.record.good * k for seen, k in zip(there, kept, strict=True))
            figures = Figures(
                (results - good) / max(results, self.rules.results_min),
                sum(seen.cpu for seen in there) / len(there),
                sum(seen.trip_s for seen in there) / len(there),
            )
        switch = self.adaptives[name].look(figures, now)
        return "" if switch is None else f"{switch.before} → {switch.after}"

    def sort(self, task: Wanted) -> tuple[frozenset[str], str]:
        spoken_of = any(task.namespace in seen.namespaces for seen in self.workers.values())
        return task.requires, task.namespace if spoken_of else ""

    def key(self, strategy: str, task: Wanted, seen: Seen) -> Key | None:
        policy = task.policy
        load = (
            policy.weights.active * seen.active / seen.slots
            + policy.weights.cpu * seen.cpu
            + policy.weights.memory * seen.memory
        )
        if policy.load == "seed":
            load = round(seen.active + 100 * seen.cpu + 100 * seen.memory * policy.memory_weight, 6)
        near = [seen.node == HERE, seen.facts.host == HOST, seen.facts.host_group == GROUP, True]
        match strategy:
            case "round-robin":
                return (self.turns.get(self.sort(task), {}).get(seen.session, 0),)
            case "load-balanced":
                return (load,)
            case "affinity":
                return (0,) if seen.id == task.affinity else (1,)
            case "capability" if policy.fit == "most":
                return (-len(seen.capabilities),)
            case "capability":
                return (len(seen.capabilities - task.requires), load)
            case "locality":
                return (near.index(True), load)
            case _:
                return self.custom(strategy)(task, seen)
