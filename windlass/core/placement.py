"""Which node should own which shard.

Counts decide. Load only breaks ties, and keeps an overloaded node from getting more. The same view gives the
same answer on every node, so that it does not matter who asks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, zip_longest

import msgspec

from windlass.core.cluster import Holding, Member, Move, NodeId, Plan, View


def heirs(shards: Iterable[int], view: View, *, without: Collection[NodeId] = ()) -> dict[int, NodeId]:
    """Who gets these shards, that are nobody's or soon will be: whoever has the fewest, one by one.

    Nobody inherits from itself; `without` names others that must get none, such as those that are about to
    be buried too. Where nobody is left, the answer is empty.
    """
    wanted = sorted(set(shards))
    leaving_them = {view.shards[shard].owner for shard in wanted if shard in view.shards}
    able = [m for m in _takers(view) if m.id not in without and m.id not in leaving_them]
    return _deal(wanted, _calm(able) or able, {m.id: len(held) for m, held in _held(view)})


def plan(view: View, *, threshold: int = 3, reason: str) -> Plan | None:
    """The next round; None if nothing has to move and the members are those of the present one.

    Whoever leaves, or is no engine, gives everything away. The others level out to a difference of one, but
    only if it was `threshold` or more. It moves as few shards as that takes, and only those of the living.
    Asked in the middle of a round, it plans the rest of the way anew: ask when a round is over, or when the
    members have changed.
    """
    members = tuple(sorted(m.id for m in view.members.values() if m.alive))
    moves = tuple(_interleave(_moves(view, threshold)))
    if not moves and set(members) == set(view.plan.members):
        return None
    level = max(view.plan.level, min((view.members[node].level for node in members), default=1))
    return Plan(view.plan.round + 1, moves, reason, members, view.at, level)


def active(plan: Plan, shards: Mapping[int, Holding], *, at_once: int = 5) -> list[Move]:
    """The moves that may go on now: the first whose shard is still at its source, in the plan's order."""
    return remaining(plan, shards)[:at_once]


def remaining(plan: Plan, shards: Mapping[int, Holding]) -> list[Move]:
    """The moves that have not happened, in the plan's order. None: the round is over."""
    return [move for move in plan.moves if shards.get(move.shard) == Holding(move.source, move.epoch)]


def _moves(view: View, threshold: int) -> list[Move]:
    takers = _takers(view)
    held = {m.id: list(shards) for m, shards in _held(view)}
    counts = {node: len(shards) for node, shards in held.items()}
    source_of = {shard: node for node, shards in held.items() for shard in shards}

    able = {m.id for m in takers}
    given = sorted(shard for shard, node in source_of.items() if node not in able)
    targets = _deal(given, _calm(takers) or takers, counts)
    moves = [Move(shard, source_of[shard], target) for shard, target in targets.items()]
    moves += _level(takers, held, counts, threshold)
    return [msgspec.structs.replace(move, epoch=view.shards[move.shard].epoch) for move in moves]


def _level(
    takers: list[Member], held: Mapping[NodeId, list[int]], counts: dict[NodeId, int], threshold: int
) -> list[Move]:
    """From the fullest to the emptiest, one by one, until they differ by one.

    What somebody is about to get is never moved on: they who get something are never the fullest by two.
    """
    moves: list[Move] = []
    calm = _calm(takers)
    apart = threshold
    while calm:
        fullest = min(takers, key=lambda m: (-counts[m.id], -m.load.cpu, -m.load.live, m.name, m.id))
        emptiest = _emptiest(calm, counts)
        if counts[fullest.id] - counts[emptiest.id] < apart:
            break
        apart = 2
        moves.append(Move(held[fullest.id].pop(0), fullest.id, emptiest.id))
        counts[fullest.id] -= 1
        counts[emptiest.id] += 1
    return moves


def _deal(shards: Iterable[int], takers: list[Member], counts: dict[NodeId, int]) -> dict[int, NodeId]:
    """Each shard to whoever has the fewest then; the counts go along."""
    dealt: dict[int, NodeId] = {}
    for shard in shards if takers else ():
        dealt[shard] = _emptiest(takers, counts).id
        counts[dealt[shard]] += 1
    return dealt


def _emptiest(members: list[Member], counts: Mapping[NodeId, int]) -> Member:
    return min(members, key=lambda m: (counts[m.id], m.load.cpu, m.load.live, m.name, m.id))


def _takers(view: View) -> list[Member]:
    """Who may own shards. Not who is too old to read what is written in them."""
    return [m for m in view.members.values() if m.state == "up" and m.engine and m.level >= view.plan.level]


def _calm(members: list[Member]) -> list[Member]:
    return [m for m in members if not m.load.overloaded]


def _held(view: View) -> list[tuple[Member, list[int]]]:
    """What each living member has, in order of shards."""
    held: dict[NodeId, list[int]] = {m.id: [] for m in view.members.values() if m.alive}
    for shard, holding in sorted(view.shards.items()):
        if holding.owner in held:
            held[holding.owner].append(shard)
    return [(view.members[node], shards) for node, shards in held.items()]


def _interleave(moves: list[Move]) -> Iterator[Move]:
    """One of each source after the other, so that those that go on at once burden different nodes."""
    by_source: dict[NodeId, list[Move]] = {}
    for move in moves:
        by_source.setdefault(move.source, []).append(move)
    rounds = zip_longest(*(by_source[source] for source in sorted(by_source)))
    return (move for move in chain.from_iterable(rounds) if move is not None)
