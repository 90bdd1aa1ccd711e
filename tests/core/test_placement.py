"""Who should own which shard: the rules, and what always holds of them."""

import random
from collections import Counter
from statistics import mean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from windlass.core import sharding
from windlass.core.cluster import ENGINE, GATEWAY, Holding, Load, Member, Move, NodeId, Plan, State, View
from windlass.core.names import run_id
from windlass.core.placement import active, heirs, plan, remaining

A, B, C, D = (NodeId(f"id-{name}") for name in "abcd")
CALM = Load()


def member(
    node: NodeId, *, state: State = "up", roles: tuple[str, ...] = (ENGINE, GATEWAY), load: Load = CALM
) -> Member:
    name = node.removeprefix("id-")
    return Member(id=node, name=name, address="127.0.0.1:1", state=state, roles=roles, load=load)


def view(counts: dict[NodeId, int], *others: Member, nobodys: int = 0) -> View:
    """Members, of which the others are special, with so many shards each."""
    members = {node: member(node) for node in counts} | {m.id: m for m in others}
    owners: list[NodeId | None] = [node for node, count in counts.items() for _ in range(count)]
    owners += [None] * nobodys
    return View(members=members, shards={shard: Holding(owner, 1) for shard, owner in enumerate(owners)})


def settled(seen: View) -> View:
    """The same, with a plan that knows the members."""
    return replace(seen, plan=Plan(round=4, members=tuple(n for n, m in seen.members.items() if m.alive)))


def planned(seen: View) -> tuple[Move, ...]:
    made = plan(seen, reason="test")
    return made.moves if made else ()


def after(seen: View, moves: tuple[Move, ...]) -> View:
    moved = {move.shard: Holding(move.target, seen.shards[move.shard].epoch + 1) for move in moves}
    return replace(seen, shards=seen.shards | moved)


def counts(seen: View) -> dict[NodeId, int]:
    held = Counter(holding.owner for holding in seen.shards.values() if holding.owner)
    return {node: held[node] for node in seen.members if seen.members[node].alive}


def test_a_new_node_gets_its_share_from_everyone() -> None:
    seen = view({A: 50, B: 50, C: 0})
    moves = planned(seen)
    assert sorted(counts(after(seen, moves)).values()) == [33, 33, 34]
    assert len(moves) == 33
    assert {move.target for move in moves} == {C}


def test_moves_of_different_sources_take_turns() -> None:
    moves = planned(view({A: 30, B: 30, C: 0}))
    assert [move.source for move in moves[:6]] == [A, B, A, B, A, B]
    leaving = [member(A, state="leaving"), member(B, state="leaving")]
    moves = planned(view({A: 4, B: 4, C: 0}, *leaving))
    assert [move.source for move in moves] == [A, B] * 4


def test_a_difference_below_the_threshold_moves_nothing() -> None:
    assert plan(settled(view({A: 10, B: 8})), reason="x") is None
    assert len(planned(settled(view({A: 11, B: 8})))) == 1
    assert plan(settled(view({A: 11, B: 8})), threshold=4, reason="x") is None


def test_whoever_leaves_gives_everything_away_whatever_the_threshold() -> None:
    seen = view({A: 2, B: 2, C: 1}, member(C, state="leaving"))
    assert counts(after(seen, planned(seen))) in ({A: 3, B: 2, C: 0}, {A: 2, B: 3, C: 0})
    assert len(planned(seen)) == 1


def test_a_member_that_is_no_engine_gets_nothing_and_keeps_nothing() -> None:
    seen = view({A: 5, B: 1}, member(B, roles=(GATEWAY,)))
    (move,) = planned(seen)
    assert (move.source, move.target) == (B, A)
    assert plan(settled(view({A: 9, B: 0}, member(B, roles=(GATEWAY,)))), reason="x") is None


def test_with_nobody_to_take_them_the_shards_stay() -> None:
    seen = settled(view({A: 5}, member(A, state="leaving")))
    assert plan(seen, reason="x") is None


def test_nothing_moves_onto_an_overloaded_node() -> None:
    busy = member(C, load=Load(overloaded=True))
    assert plan(settled(view({A: 50, B: 50, C: 0}, busy)), reason="x") is None
    seen = view({A: 60, B: 40, C: 0}, busy)
    assert counts(after(seen, planned(seen))) == {A: 50, B: 50, C: 0}


def test_an_overloaded_node_may_give() -> None:
    seen = view({A: 10, B: 0}, member(A, load=Load(overloaded=True)))
    assert counts(after(seen, planned(seen))) == {A: 5, B: 5}


def test_whoever_leaves_gives_to_overloaded_nodes_rather_than_to_nobody() -> None:
    seen = view({A: 3, B: 0}, member(A, state="leaving"), member(B, load=Load(overloaded=True)))
    assert counts(after(seen, planned(seen))) == {A: 0, B: 3}


def test_the_counts_decide_and_the_load_only_breaks_ties() -> None:
    busy, calm = member(B, load=Load(cpu=0.9, live=1)), member(C, load=Load(cpu=0.1, live=9))
    seen = view({A: 7, B: 2, C: 3, D: 7}, busy, calm)
    first = planned(seen)[0]
    assert first.target == B, "busy, but it has the fewest"
    assert heirs([0], view({B: 2, C: 2}, busy, calm, nobodys=1)) == {0: C}
    by_live = [member(B, load=Load(cpu=0.5, live=9)), member(C, load=Load(cpu=0.5, live=1))]
    assert heirs([4], view({B: 2, C: 2}, *by_live, nobodys=1)) == {4: C}
    by_name = view({C: 2, B: 2}, nobodys=1)
    assert heirs([4], by_name) == {4: B}
    source = planned(view({A: 5, B: 5, C: 0}, member(B, load=Load(cpu=0.9))))
    assert Counter(move.source for move in source) == {B: 2, A: 1}, "the busy one is relieved first"


def test_shards_of_the_dead_and_of_nobody_are_not_moved() -> None:
    seen = view({A: 10, B: 1, C: 0}, member(A, state="dead"), nobodys=20)
    assert planned(seen) == ()
    assert counts(after(seen, planned(seen))) == {B: 1, C: 0}


def test_other_members_make_a_new_round_even_if_nothing_moves() -> None:
    seen = settled(view({A: 3, B: 3}))
    assert plan(seen, reason="x") is None
    gone = replace(seen, members={A: seen.members[A], B: replace(seen.members[B], state="dead")}, at=7.0)
    assert plan(gone, reason="b died") == Plan(5, (), "b died", (A,), 7.0)
    leaving = replace(seen, members=seen.members | {B: replace(seen.members[B], state="leaving")})
    made = plan(leaving, reason="b leaves")
    assert made is not None
    assert made.members == (A, B)
    assert len(made.moves) == 3


def test_heirs_get_what_evens_them_out() -> None:
    seen = view({A: 34, B: 36, C: 30})
    lost = [shard for shard, holding in seen.shards.items() if holding.owner == C]
    assert Counter(heirs(lost, seen).values()) == {A: 16, B: 14}


def test_nobody_inherits_from_itself_or_against_the_callers_will() -> None:
    seen = view({A: 2, B: 2, C: 2})
    assert set(heirs([0, 1], seen).values()) == {B, C}
    assert set(heirs([0, 1], seen, without=[B]).values()) == {C}
    assert heirs([0, 1], seen, without=[B, C]) == {}


def test_only_engines_that_stay_inherit() -> None:
    unfit = [member(B, state="leaving"), member(C, roles=(GATEWAY,)), member(D, state="dead")]
    assert heirs([0, 1], view({A: 2, B: 0, C: 0, D: 0}, *unfit)) == {}
    assert heirs([2, 3], view({A: 2, B: 0, C: 0, D: 0}, *unfit, nobodys=2)) == {2: A, 3: A}


def test_overloaded_nodes_inherit_only_if_nobody_else_can() -> None:
    busy = member(B, load=Load(overloaded=True))
    assert heirs([3], view({A: 3, B: 0}, busy, nobodys=1)) == {3: A}
    assert heirs([1], view({A: 1, B: 0}, busy, member(A, state="leaving"), nobodys=1)) == {1: B}


def test_at_most_five_moves_go_on_at_once_in_the_plans_order() -> None:
    seen = view({A: 20, B: 0})
    made = plan(seen, reason="x")
    assert made is not None
    assert active(made, seen.shards) == list(made.moves[:5])
    done = after(seen, (made.moves[0], made.moves[2]))
    assert active(made, done.shards) == [made.moves[n] for n in (1, 3, 4, 5, 6)]
    assert active(made, done.shards, at_once=1) == [made.moves[1]]


def test_a_move_whose_shard_is_not_at_its_source_is_over() -> None:
    made = Plan(1, (Move(0, A, B, 2), Move(1, A, B, 2), Move(2, A, B, 8), Move(3, A, B, 8), Move(9, A, B)))
    shards = {0: Holding(C, 3), 1: Holding(None, 2), 2: Holding(A, 8), 3: Holding(A, 10)}
    assert active(made, shards) == remaining(made, shards) == [Move(2, A, B, 8)], "3 came back meanwhile"
    assert active(Plan(), shards) == []


NAMES = [NodeId(f"id-{n}") for n in range(7)]
loads = st.builds(Load, cpu=st.sampled_from([0.0, 0.5]), live=st.integers(0, 2), overloaded=st.booleans())


@st.composite
def views(draw: st.DrawFn) -> View:
    members = {}
    for node in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=7)):
        state: State = draw(st.sampled_from(["up", "up", "up", "leaving", "dead"]))
        roles = draw(st.sampled_from([(ENGINE,), (ENGINE, GATEWAY), (ENGINE,), (GATEWAY,)]))
        members[node] = member(node, state=state, roles=roles, load=draw(loads))
    owner = st.sampled_from([*members, None]) if members else st.none()
    owners = draw(st.lists(owner, max_size=60))
    return View(members=members, shards={n: Holding(o, n % 3) for n, o in enumerate(owners)})


def takers(seen: View, *, calm: bool = False) -> set[NodeId]:
    return {
        node
        for node, m in seen.members.items()
        if m.state == "up" and m.engine and not (calm and m.load.overloaded)
    }


@given(views())
def test_a_plan_keeps_what_it_must_not_touch_and_names_every_shard_once(seen: View) -> None:
    moves = planned(seen)
    assert len({move.shard for move in moves}) == len(moves)
    for move in moves:
        assert seen.shards[move.shard].owner == move.source != move.target
        assert seen.members[move.source].alive
        assert move.target in takers(seen)
    assert sum(counts(after(seen, moves)).values()) == sum(counts(seen).values())


@given(views())
def test_after_a_plan_the_nodes_are_even_and_those_who_go_have_nothing(seen: View) -> None:
    held = counts(after(seen, planned(seen)))
    able, calm = takers(seen), takers(seen, calm=True)
    if able:
        assert all(held[node] == 0 for node in held if node not in able)
    if calm:
        assert max(held[node] for node in able) - min(held[node] for node in calm) < 3


@given(views())
def test_a_plan_has_as_few_moves_as_can_be(seen: View) -> None:
    able = takers(seen)
    if able != takers(seen, calm=True) or not able:
        return
    held = counts(seen)
    forced = sum(count for node, count in held.items() if node not in able)
    moves = planned(seen)
    if len(moves) == forced:
        return
    share, rest = divmod(sum(held.values()), len(able))
    fullest_first = sorted((held[node] for node in able), reverse=True)
    fewest = sum(max(0, count - share - (n < rest)) for n, count in enumerate(fullest_first))
    assert len(moves) == forced + fewest
    evened = [count for node, count in counts(after(seen, moves)).items() if node in able]
    assert max(evened) - min(evened) <= 1


@given(views())
def test_after_a_plan_nothing_is_left_to_move(seen: View) -> None:
    made = plan(seen, reason="x")
    if made is None:
        return
    done = replace(after(seen, made.moves), plan=made)
    assert remaining(made, done.shards) == []
    assert plan(done, reason="x") is None


@given(views(), st.randoms(use_true_random=False))
def test_the_order_in_which_things_are_listed_changes_nothing(seen: View, chance: random.Random) -> None:
    members, shards = list(seen.members.items()), list(seen.shards.items())
    chance.shuffle(members)
    chance.shuffle(shards)
    shuffled = replace(seen, members=dict(members), shards=dict(shards))
    assert plan(shuffled, reason="x") == plan(seen, reason="x")
    wanted = [shard for shard, holding in shards if holding.owner is None]
    assert heirs(wanted, shuffled) == heirs(sorted(wanted), seen)


@given(views())
def test_heirs_leave_nothing_over_and_even_out_as_far_as_they_can(seen: View) -> None:
    wanted = [shard for shard, holding in seen.shards.items() if holding.owner is None]
    dealt = heirs(wanted, seen)
    able = takers(seen, calm=True) or takers(seen)
    assert set(dealt) == (set(wanted) if able else set())
    assert set(dealt.values()) <= able
    before, given_to = counts(seen), Counter(dealt.values())
    for node in set(dealt.values()):
        lowest = min(before[other] + given_to[other] for other in able)
        assert before[node] + given_to[node] <= lowest + 1


def placed(nodes: int, *, joining: bool, shards: int = 100) -> View:
    """Shards on so many nodes: all at once, or on nodes that came one after the other."""
    names = [NodeId(f"node-{n}") for n in range(nodes)]
    seen = View(members={}, shards={shard: Holding() for shard in range(shards)})
    for known in range(1, nodes + 1) if joining else [nodes]:
        seen = replace(seen, members={name: member(name) for name in names[:known]})
        free = [shard for shard, holding in seen.shards.items() if holding.owner is None]
        taken = {shard: Holding(node, 1) for shard, node in heirs(free, seen).items()}
        seen = replace(seen, shards=seen.shards | taken)
        seen = after(seen, planned(seen))
    return seen


def some_ids(family: str, count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    match family:
        case "counted":
            return [f"workflow-{n}" for n in range(seed * count, (seed + 1) * count)]
        case "runs":
            return [run_id(1.7e9 + n * 0.013, chance.getrandbits(48)) for n in range(count)]
        case _:
            return [f"{chance.getrandbits(128):032x}" for _ in range(count)]


@pytest.mark.accepts("S0.41")
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("family", ["counted", "runs", "random"])
@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 10])
@pytest.mark.parametrize("joining", [False, True], ids=["at-once", "one-by-one"])
def test_entities_are_spread_evenly_over_the_nodes(nodes: int, family: str, seed: int, joining: bool) -> None:
    seen = placed(nodes, joining=joining)
    ids = some_ids(family, 3_000 if nodes == 10 else 1_000, seed)
    owners = Counter(seen.shards[sharding.of(ident, 100)].owner for ident in ids)
    assert set(owners) == set(seen.members)
    assert pstdev(owners.values()) < 0.2 * mean(owners.values())
