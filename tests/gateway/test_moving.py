"""Which shards are about to change hands, as the plan has it."""

from windlass.core.cluster import Holding, Member, Move, NodeId, Plan, State, View
from windlass.gateway.cluster import moving

ONE, TWO = NodeId("1"), NodeId("2")


def seen(held: Holding, *, target: State = "up") -> dict[int, str]:
    members = {
        ONE: Member(id=ONE, name="n1", address="a:1"),
        TWO: Member(id=TWO, name="n2", address="a:2", state=target),
    }
    plan = Plan(moves=(Move(shard=7, source=ONE, target=TWO, epoch=3),))
    return moving(View(members=members, shards={7: held, 8: Holding(ONE, 3)}, plan=plan))


def test_a_shard_that_the_plan_moves_names_the_node_that_gets_it() -> None:
    assert seen(Holding(ONE, 3)) == {7: "n2"}


def test_a_shard_that_has_moved_is_not_moving() -> None:
    assert seen(Holding(TWO, 4)) == {}


def test_a_move_that_another_change_overtook_is_none() -> None:
    assert seen(Holding(ONE, 5)) == {}


def test_nothing_moves_to_the_dead() -> None:
    assert seen(Holding(ONE, 3), target="dead") == {}
