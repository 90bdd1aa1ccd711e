"""The workers of one owner's choice, so arranged that the best one is found without asking each of them.

Tasks that need the same, in the same namespace, choose from one pool. A worker is in a pool for what it can
do, and free in it for how it does: that changes when somebody tells of it, or with time alone. For the latter
each has a moment at which it is looked at again, so that the free ones are always exactly those who may.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Final

from windlass.core.assign import custom as users
from windlass.core.assign import keys
from windlass.core.assign.filters import absent, barred, look_at, resting, unready
from windlass.core.assign.keys import KEPT, Key, Where
from windlass.core.assign.placed import Placed, Ranked
from windlass.core.assign.policy import STRATEGIES
from windlass.core.assign.pool import Pool
from windlass.core.assign.ranking import Candidate, key_in
from windlass.core.assign.wanted import Chance, Choice, Custom, Verdict, Wanted
from windlass.core.cluster import NodeId
from windlass.core.errors import Invalid, Refused
from windlass.core.fleet import Rules, Seen, degraded
from windlass.core.names import SessionId

__all__ = ["TOP", "Chance", "Choice", "Custom", "Index", "Verdict", "Wanted"]

TOP: Final = 5
POOLS_MAX: Final = 256
IDLE_S: Final = 3600.0  # a pool that nobody asked for so long is given up
SAID_MAX: Final = 100

_BUILT_IN: Final = frozenset[str](STRATEGIES)


class Index:
    """Workers are put in, told of, and dropped; the best one for a task is asked for."""

    def __init__(
        self,
        *,
        here: Callable[[], NodeId],
        host: str,
        host_group: str,
        chance: Chance,
        rules: Rules,
        custom: Callable[[str], Custom],  # the user's function of that name; raises Invalid
    ) -> None:
        self.rules = rules
        self._here = here
        self._where = Where(here(), host, host_group)
        self._chance = chance
        self._custom = custom
        self._serial = count()
        self._candidates: dict[SessionId, Candidate] = {}
        self._by_id: dict[str, dict[SessionId, Candidate]] = {}
        self._named: Counter[str] = Counter()  # namespaces that workers limit themselves to
        self._pools: dict[tuple[frozenset[str], str], Pool] = {}
        self._homes: dict[SessionId, list[Pool]] = {}
        self._now = -inf  # the latest moment we were told
        self._looks: list[tuple[float, int, Candidate]] = []  # a heap: who is looked at when
        self._said: dict[str, None] = {}  # to be told at the next tick

    # Who is there.

    def put(self, worker: Seen) -> None:
        """It is there from now on; who has its session is replaced. What it can do, and for whom, stays."""
        self.drop(worker.session)
        candidate = Candidate(worker, next(self._serial))
        self._candidates[worker.session] = candidate
        self._by_id.setdefault(worker.id, {})[worker.session] = candidate
        self._named.update(worker.namespaces)
        self._assess(candidate)
        self._homes[worker.session] = [pool for pool in self._pools.values() if pool.admit(candidate)]

    def drop(self, session: SessionId) -> None:
        candidate = self._candidates.pop(session, None)
        if candidate is None:
            return
        worker = candidate.worker
        candidate.ready, candidate.look_at = False, inf
        of_id = self._by_id[worker.id]
        del of_id[session]
        if not of_id:
            del self._by_id[worker.id]
        for namespace in worker.namespaces:
            self._named[namespace] -= 1
            if not self._named[namespace]:
                del self._named[namespace]
        for pool in self._homes.pop(session):
            pool.forget(candidate)

    def changed(self, worker: Seen) -> None:
        """Its slots, load, health or record are others now."""
        session = worker.session
        candidate = self._candidates.get(session)
        if candidate is not None and candidate.worker is worker:
            self._assess(candidate)
            for pool in self._homes[session]:
                pool.changed(candidate)

    def get(self, session: SessionId) -> Seen | None:
        candidate = self._candidates.get(session)
        return None if candidate is None else candidate.worker

    def find(self, worker_id: str) -> Seen | None:
        """The one that is called so; of several lives, the latest."""
        candidate = self._find(worker_id)
        return None if candidate is None else candidate.worker

    def __len__(self) -> int:
        return len(self._candidates)

    def all(self) -> Iterable[Seen]:
        return [candidate.worker for candidate in self._candidates.values()]

    # Whom to choose.

    def may_fit(self, wanted: Wanted, now: float) -> bool:
        """Whether anybody could have it now; cheap, and asked often."""
        pool = self._pool(wanted, now)
        if not pool.spares:
            return bool(self._everybody(pool, wanted))
        free = pool.free
        return bool(free.all) and (not wanted.excluded or free.without(wanted.excluded) > 0)

    def is_able(self, wanted: Wanted, now: float) -> bool:
        """Whether anybody who is there could have it, now or once a slot is free."""
        members = self._pool(wanted, now).members
        return any(
            session not in wanted.excluded and not absent(one.worker, now, self.rules)
            for session, one in members.items()
        )

    def choose(self, wanted: Wanted, now: float) -> Choice | None:
        """The best. It is not marked as taken: who takes it says so (`active`, then `changed`).

        Raises Refused if a strategy of the user's has no answer; it asks every worker that may have the task,
        all others ask a few of them. `Placed.top` is what `Ranking.best` finds; with `weighted` it is the two
        that were drawn, and with `random` there is none.
        """
        pool = self._pool(wanted, now)
        if not pool.spares:
            return self._among(pool, wanted, self._everybody(pool, wanted), now)
        count = len(pool.free.all) if not wanted.excluded else pool.free.without(wanted.excluded)
        if not count:
            return None
        strategy, shown = self._strategy(pool, wanted, now)
        if strategy not in _BUILT_IN:
            return self._by_custom(wanted, strategy, pool.free.all)
        if count == 1:
            return self._only(pool, wanted, strategy, shown, now)
        if strategy == "random":
            (drawn,) = pool.free.drawn(1, wanted.excluded, self._chance)
            return Choice(drawn.worker, Placed(shown, (), count))
        if strategy == "weighted":
            return self._by_two(pool, wanted, shown, count, now)
        found = pool.ranking(strategy, wanted.policy, self._where).best(TOP, wanted.excluded)
        top = [(key_in(entry), entry[-1]) for entry in found]
        if strategy == "affinity" and (kept := self._kept(pool, wanted)) is not None:
            top = [(KEPT, kept), *(pair for pair in top if pair[1] is not kept)][:TOP]
        key, best = top[0]
        if strategy == "round-robin":
            pool.took_turn(best)
        return Choice(best.worker, Placed(shown, key, count, _ranked((k, one.worker) for k, one in top)))

    def _only(self, pool: Pool, wanted: Wanted, strategy: str, shown: str, now: float) -> Choice:
        """There is nothing to choose: the way of an engine with one worker, which has to be short."""
        free = pool.free.all
        only = free[0]
        if len(free) > 1:
            only = next(one for one in free if one.worker.session not in wanted.excluded)
        key = pool.ranking(strategy, wanted.policy, self._where).key(only.worker)
        if strategy == "round-robin":
            pool.took_turn(only)
        elif strategy == "weighted":
            only.worker.chosen_at = now
        elif strategy == "affinity" and only.worker.id == wanted.affinity:
            key = KEPT
        return Choice(only.worker, Placed(shown, key))

    def _by_two(self, pool: Pool, wanted: Wanted, shown: str, count: int, now: float) -> Choice:
        one, other = pool.free.drawn(2, wanted.excluded, self._chance)
        pair = keys.better(one.worker, other.worker, now)
        pair[0].chosen_at = now
        top = _ranked(((keys.cost(worker),), worker) for worker in pair)
        return Choice(pair[0], Placed(shown, top[0].key, count, top))

    def _everybody(self, pool: Pool, wanted: Wanted) -> list[Candidate]:
        """Also those who would rest if others did better."""
        able = (*pool.free.all, *pool.resting.all)
        return [one for one in able if one.worker.session not in wanted.excluded]

    def _among(self, pool: Pool, wanted: Wanted, able: list[Candidate], now: float) -> Choice | None:
        """The best of these few, one by one."""
        strategy, shown = self._strategy(pool, wanted, now)
        if not able:
            return None
        if strategy not in _BUILT_IN:
            return self._by_custom(wanted, strategy, able)
        if strategy in ("random", "weighted"):
            return Choice(able[self._chance.randrange(len(able))].worker, Placed(shown, (), len(able)))
        found = [(self._key(pool, wanted, strategy, one.worker) or (), one) for one in able]
        found.sort(key=lambda pair: (pair[0], pair[1].worker.order, pair[1].serial))
        key, best = found[0]
        if strategy == "round-robin":
            pool.took_turn(best)
        top = _ranked((key, one.worker) for key, one in found[:TOP]) if len(found) > 1 else ()
        return Choice(best.worker, Placed(shown, key, len(found), top))

    def _by_custom(self, wanted: Wanted, name: str, able: list[Candidate]) -> Choice | None:
        function = self._function(name)
        free = [one.worker for one in able if one.worker.session not in wanted.excluded]
        answers = ((function(wanted, worker), worker) for worker in free)
        found = users.ranked(name, [(key, worker) for key, worker in answers if key is not None])
        if not found:
            return None
        top = _ranked(found[:TOP]) if len(found) > 1 else ()
        return Choice(found[0][1], Placed(name, found[0][0], len(found), top))

    def candidates(self, wanted: Wanted, now: float) -> list[Verdict]:
        """Everybody, with a key or with what bars it: the eligible first, best first."""
        pool = self._pool(wanted, now)
        strategy, _ = self._strategy(pool, wanted, now)
        able, others = list[tuple[Key, Seen]](), list[Verdict]()
        for worker in self.all():
            try:
                key: Key | None = ()
                why = barred(worker, wanted, now, self.rules)
                if why == resting(worker, now, self.rules) and not pool.spares:
                    why = ""
                if not why:
                    key = self._key(pool, wanted, strategy, worker)
                    why = "" if key is not None else f"{strategy} does not want it"
            except Refused as refusal:
                key, why = None, str(refusal)
            if why or key is None:
                others.append(Verdict(worker.id, worker.node, barred=why))
            else:
                able.append((key, worker))
        try:
            able = users.ranked(strategy, able)
        except Refused as refusal:
            others += [Verdict(worker.id, worker.node, barred=str(refusal)) for _, worker in able]
            able = []
        return [Verdict(worker.id, worker.node, key) for key, worker in able] + others

    # Now and then.

    def tick(self, now: float) -> list[str]:
        """Adaptive strategies look around; answers what was switched, and why, and what went wrong.

        In sentences, each once. To be called every second or so.
        """
        self._pass(now)
        for name, pool in list(self._pools.items()):
            if now >= pool.used_at + IDLE_S:
                self._give_up(name)
                continue
            for adaptive in pool.adaptives.values():
                self.complain(pool.look(adaptive, now, self.rules))
        said = list(self._said)
        self._said.clear()
        return said

    def complain(self, sentence: str) -> None:
        """To be told with the next tick, once."""
        if sentence and len(self._said) < SAID_MAX:
            self._said[sentence] = None

    # What it takes.

    def _strategy(self, pool: Pool, wanted: Wanted, now: float) -> tuple[str, str]:
        """What is followed in the end, and how that is shown."""
        strategy = shown = wanted.policy.strategy
        if strategy == "adaptive":
            strategy, said = pool.following(wanted.policy.adaptive, now, self.rules)
            shown = f"adaptive: {strategy}"
            self.complain(said)
        elif strategy == "capability" and wanted.requires <= {wanted.kind}:
            strategy, shown = "load-balanced", "capability: load-balanced"
        if strategy == "locality" and (node := self._here()) != self._where.node:
            self._where = self._where._replace(node=node)
        return strategy, shown

    def _key(self, pool: Pool, wanted: Wanted, strategy: str, worker: Seen) -> Key | None:
        if strategy not in _BUILT_IN:
            return self._function(strategy)(wanted, worker)
        if strategy == "affinity" and worker.id == wanted.affinity:
            return KEPT
        return pool.key_of(strategy, wanted.policy, self._where)(worker)

    def _function(self, name: str) -> Custom:
        try:
            return self._custom(name)
        except Invalid as error:
            raise Refused(str(error)) from error

    def _find(self, worker_id: str) -> Candidate | None:
        of_id = self._by_id.get(worker_id)
        return None if of_id is None else of_id[next(reversed(of_id))]

    def _kept(self, pool: Pool, wanted: Wanted) -> Candidate | None:
        """The one that affinity asks for, if it may have the task."""
        found = self._find(wanted.affinity)
        if found is None or found.worker.session in wanted.excluded or found.worker.session not in pool.free:
            return None
        return found

    def _pool(self, wanted: Wanted, now: float) -> Pool:
        if now > self._now:
            self._pass(now)
        # Namespaces of which no worker speaks are all alike.
        namespace = wanted.namespace if wanted.namespace in self._named else ""
        pool = self._pools.get((wanted.requires, namespace))
        if pool is None:
            pool = self._begin(wanted.requires, namespace)
        pool.used_at = now
        return pool

    def _begin(self, requires: frozenset[str], namespace: str) -> Pool:
        if len(self._pools) >= POOLS_MAX:
            self._give_up(min(self._pools, key=lambda name: self._pools[name].used_at))
        pool = self._pools[requires, namespace] = Pool(requires, namespace)
        for session, candidate in self._candidates.items():
            if pool.admit(candidate):
                self._homes[session].append(pool)
        return pool

    def _give_up(self, name: tuple[frozenset[str], str]) -> None:
        pool = self._pools.pop(name)
        for session in pool.members:
            self._homes[session].remove(pool)

    def _pass(self, now: float) -> None:
        """Time passes, and some workers are others than they were."""
        self._now = max(self._now, now)
        looks = self._looks
        while looks and looks[0][0] <= now:
            at, _, candidate = heappop(looks)
            if candidate.look_at == at:
                candidate.look_at = inf
                self.changed(candidate.worker)

    def _assess(self, candidate: Candidate) -> None:
        worker, now, rules = candidate.worker, self._now, self.rules
        candidate.sound = not (absent(worker, now, rules) or degraded(worker, now, rules))
        if candidate.sound:  # nearly always: only its slots count, until it falls silent
            candidate.ready, candidate.resting = worker.active < worker.facts.slots, False
            look = worker.heard_at + rules.silent_s
        else:
            candidate.ready = not (why := unready(worker, now, rules))
            candidate.resting = bool(why) and why == resting(worker, now, rules)
            look = look_at(worker, now, rules)
        if look < candidate.look_at:
            candidate.look_at = look
            heappush(self._looks, (look, candidate.serial, candidate))


def _ranked(found: Iterable[tuple[Key, Seen]]) -> tuple[Ranked, ...]:
    return tuple(Ranked(worker.id, key) for key, worker in found)
