"""Whom a task goes to: the strategy that holds for it, and what it has to know."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from windlass.core.assign.index import Choice, Index, Verdict, Wanted
from windlass.core.assign.policy import Policy, merged
from windlass.core.errors import Refused
from windlass.core.fleet import Seen
from windlass.core.names import Key, SessionId, StepId
from windlass.core.task import Task
from windlass.engine.affinity import Affinities
from windlass.engine.choices import Choices
from windlass.engine.queues import Entry, Kind

USUAL: Final = Policy()
NOBODY: Final[frozenset[SessionId]] = frozenset()
EXCLUDED_S: Final = 1.0  # doubled each time
BLAMED_S: Final = 5.0  # the same for one that an attempt failed by the fault of
EXCLUDED_MAX_S: Final = 30.0
EXCLUDED_MAX: Final = 10_000
KEEPING: Final = ("affinity", "adaptive")  # strategies that keep the steps of a run together, or may

Name = tuple[Key, StepId]


class Exclusion(NamedTuple):
    until: float
    for_s: float
    blamed: bool = False  # for how an attempt ended: it may still be better than nobody


@dataclass(slots=True)
class Choosing:
    index: Index
    clock: Callable[[], float]
    policy: Callable[[], Policy] = lambda: USUAL  # of the cluster, now
    affinities: Affinities = field(default_factory=Affinities)
    choices: Choices = field(default_factory=Choices)
    # Who would not have an attempt at a step, and until when it is not asked again.
    _excluded: OrderedDict[Name, dict[SessionId, Exclusion]] = field(default_factory=OrderedDict)

    def note_earlier(self, entry: Entry, earlier: Callable[[], str]) -> None:
        """`earlier`: who ran the last step of its run. Asked only if that matters."""
        if self._policy(entry).strategy in KEEPING:
            self.affinities.remember(entry.key, earlier)

    def exclude(self, entry: Entry, session: SessionId, *, blamed: bool = False) -> None:
        """It would not have it, or did badly: the next attempts are for others, for a while."""
        of_step = self._excluded.setdefault((entry.key, entry.step), {})
        before = of_step.get(session)
        least_s = BLAMED_S if blamed else EXCLUDED_S
        for_s = least_s if before is None else min(EXCLUDED_MAX_S, 2 * before.for_s)
        of_step[session] = Exclusion(self.clock() + for_s, for_s, blamed)
        if len(self._excluded) > EXCLUDED_MAX:
            self._excluded.popitem(last=False)

    def may_fit(self, kind: Kind) -> bool:
        """Whether anybody could have such a task now."""
        return self.index.may_fit(Wanted(kind.requires, kind.namespace, USUAL), self.clock())

    def can_run(self, requires: frozenset[str], namespace: str) -> bool:
        """Whether anybody in the cluster who is connected and well offers all of this, however busy."""
        return self.index.is_able(Wanted(requires, namespace, USUAL), self.clock())

    def choose(self, entry: Entry) -> Choice | None:
        """Nothing is taken yet."""
        wanted = self._wanted(entry)
        try:
            return self.index.choose(wanted, self.clock())
        except Refused as refusal:  # of a strategy of the user's
            self.index.complain(str(refusal))
            return None

    def chosen(self, entry: Entry, worker: str) -> None:
        if self._policy(entry).strategy in KEEPING:
            self.affinities.chosen(entry.key, entry.assign, worker)

    def given(self, entry: Entry, task: Task, seen: Seen) -> None:
        """It is theirs: remembered for those who ask why."""
        self.choices.note(entry, task.workflow, seen, self.policy().strategy, len(self.index))

    def candidates(self, entry: Entry) -> list[Verdict]:
        return self.index.candidates(self._wanted(entry), self.clock())

    def _policy(self, entry: Entry) -> Policy:
        policy = self.policy()
        return policy if entry.assign is None else merged(policy, None, entry.assign)

    def _wanted(self, entry: Entry) -> Wanted:
        policy = self._policy(entry)
        affinity = ""
        if policy.strategy in KEEPING:
            affinity = self.affinities.of(entry.key, entry.assign, entry.kind, self.index.all)
        return Wanted(
            entry.requires,
            entry.key.namespace,
            policy,
            affinity,
            self._excluded_from(entry),
            run=entry.key.id,
            step=entry.step,
            kind=entry.work,
        )

    def _excluded_from(self, entry: Entry) -> frozenset[SessionId]:
        of_step = self._excluded.get((entry.key, entry.step)) if self._excluded else None
        if of_step is None:
            return NOBODY
        now = self.clock()
        if all(exclusion.until + exclusion.for_s <= now for exclusion in of_step.values()):
            del self._excluded[entry.key, entry.step]  # long enough ago to be forgotten
        excluded = frozenset(session for session, exclusion in of_step.items() if exclusion.until > now)
        others = Wanted(entry.requires, entry.key.namespace, USUAL, excluded=excluded)
        if all(of_step[session].blamed for session in excluded) and not self.index.is_able(others, now):
            return NOBODY
        return excluded
