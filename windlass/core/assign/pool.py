"""The workers that could do tasks of one sort, in the order of each strategy that is followed."""

from __future__ import annotations

from typing import Final

from windlass.core.assign import keys
from windlass.core.assign.adaptive import Adaptive, Followed, Switch, figures_of
from windlass.core.assign.filters import unfit
from windlass.core.assign.keys import FIRST, KeyOf, Where
from windlass.core.assign.policy import AdaptiveRules, Policy
from windlass.core.assign.ranking import Bag, Candidate, Ranking
from windlass.core.fleet import Rules
from windlass.core.names import SessionId

RANKINGS_MAX: Final = 16  # of one pool; the oldest goes
ADAPTIVES_MAX: Final = 4


class Pool:
    """All tasks of a pool need the same, in the same namespace."""

    def __init__(self, requires: frozenset[str], namespace: str) -> None:
        self.requires = requires
        self.namespace = namespace
        self.used_at = 0.0
        self.members: dict[SessionId, Candidate] = {}
        self.free = Bag()
        self.resting = Bag()
        self.sound: set[SessionId] = set()  # members that do well
        self.turns: dict[SessionId, int] = {}  # who had a turn by round-robin, and which one it was
        self.adaptives: dict[AdaptiveRules, Adaptive] = {}
        self._turn = 0
        self._rankings: dict[tuple[object, ...], Ranking] = {}
        # As it was asked for last: most tasks ask for the same one, and names are slow to compare.
        self._last: tuple[Policy, str, Where, Ranking] | None = None

    def admit(self, candidate: Candidate) -> bool:
        """Whether it could do such tasks, and so is one of ours."""
        if unfit(candidate.worker, self.requires, self.namespace):
            return False
        self.members[candidate.worker.session] = candidate
        self.changed(candidate)
        return True

    def changed(self, candidate: Candidate) -> None:
        if candidate.ready:
            self.free.add(candidate)
        else:
            self.free.discard(candidate)
        (self.resting.add if candidate.resting else self.resting.discard)(candidate)
        (self.sound.add if candidate.sound else self.sound.discard)(candidate.worker.session)
        for ranking in self._rankings.values():
            ranking.untidy[candidate] = None

    @property
    def spares(self) -> bool:
        """Whether those who do badly rest. If all of them do, it is the tasks, and nobody rests."""
        return bool(self.sound) or not self.resting.all

    def forget(self, candidate: Candidate) -> None:
        session = candidate.worker.session
        if self.members.pop(session, None) is not None:
            self.free.discard(candidate)
            self.resting.discard(candidate)
            self.sound.discard(session)
            self.turns.pop(session, None)
            for ranking in self._rankings.values():
                ranking.forget(candidate)

    def took_turn(self, candidate: Candidate) -> None:
        self._turn += 1
        self.turns[candidate.worker.session] = self._turn
        ranking = self._rankings.get(("round-robin",))
        if ranking is not None:
            ranking.untidy[candidate] = None

    def ranking(self, strategy: str, policy: Policy, where: Where) -> Ranking:
        last = self._last
        if last is not None and last[0] is policy and last[1] == strategy and last[2] is where:
            return last[3]
        name: tuple[object, ...] = (strategy,)
        if strategy in ("load-balanced", "capability", "locality"):
            name = (strategy, policy.load, policy.weights, policy.memory_weight, policy.fit, where)
        found = self._rankings.get(name)
        if found is None:
            found = Ranking(self.key_of(strategy, policy, where), self.free.all)
            if len(self._rankings) >= RANKINGS_MAX:
                del self._rankings[next(iter(self._rankings))]
            self._rankings[name] = found
        self._last = (policy, strategy, where, found)
        return found

    def key_of(self, strategy: str, policy: Policy, where: Where) -> KeyOf:
        """How the strategy sees a worker, whatever task of this pool it is for."""
        match strategy:
            case "load-balanced":
                return keys.by_load(policy)
            case "locality":
                return keys.by_distance(policy, where)
            case "capability":
                return keys.by_fit(policy, self.requires)
            case "round-robin":
                # Who waits for the longest time: a rotation that stays even when workers come, go and fill.
                return lambda worker: (self.turns.get(worker.session, 0),)
            case "affinity":
                return lambda worker: FIRST
            case "weighted":
                return lambda worker: (keys.cost(worker),)
            case _:
                return lambda worker: ()

    def following(self, rules: AdaptiveRules, now: float, health: Rules) -> tuple[Followed, str]:
        """What adaptive follows here by these rules; and a sentence, if that was just decided."""
        found = self.adaptives.get(rules)
        if found is not None:
            return found.following, ""
        if len(self.adaptives) >= ADAPTIVES_MAX:
            del self.adaptives[next(iter(self.adaptives))]
        found = self.adaptives[rules] = Adaptive(rules)
        said = self.look(found, now, health)
        return found.following, said

    def look(self, adaptive: Adaptive, now: float, health: Rules) -> str:
        """In a sentence, if it follows another one from now on."""
        workers = (candidate.worker for candidate in self.members.values())
        switch = adaptive.look(figures_of(workers, now, health), now)
        return "" if switch is None else self._told(switch)

    def _told(self, switch: Switch) -> str:
        needs = ", ".join(sorted(self.requires)) or "nothing"
        within = f" in {self.namespace}" if self.namespace else ""
        return f"tasks that need {needs}{within}: {switch.before} → {switch.after}, because {switch.why}"
