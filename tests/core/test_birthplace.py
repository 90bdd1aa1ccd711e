"""Where runs begin whose ids the server chooses."""

from __future__ import annotations

import msgspec

from windlass.core.birthplace import CPU_MARGIN, LIVE_MARGIN, at_home
from windlass.core.cluster import GATEWAY, Load, Member, NodeId, State

ME = NodeId("me")


def members(*loads: Load, state: State = "up") -> dict[NodeId, Member]:
    """Ourselves first."""
    names = [ME, *(NodeId(f"other-{n}") for n in range(1, len(loads)))]
    found = {id: Member(id=id, name=id, address=id, load=load) for id, load in zip(names, loads, strict=True)}
    return found | {ME: msgspec.structs.replace(found[ME], state=state)}


def test_a_lone_node_keeps_what_is_asked_of_it_however_busy_it_is() -> None:
    assert at_home(ME, members(Load(cpu=0.8, live=100_000)))


def test_nodes_that_are_equally_busy_keep_what_is_asked_of_them() -> None:
    assert at_home(ME, members(*[Load(cpu=0.8, live=5_000)] * 3))


def test_a_node_that_is_clearly_busier_than_the_others_lets_chance_choose() -> None:
    assert at_home(ME, members(Load(cpu=0.2), Load(), Load()))
    assert not at_home(ME, members(Load(cpu=1.5 * CPU_MARGIN + 0.01), Load(), Load()))


def test_a_node_that_has_clearly_more_runs_than_the_others_lets_chance_choose() -> None:
    assert at_home(ME, members(Load(live=LIVE_MARGIN), Load(), Load()))
    assert not at_home(ME, members(Load(live=2 * LIVE_MARGIN), Load(), Load()))


def test_a_node_that_is_overloaded_short_or_leaving_keeps_nothing() -> None:
    assert not at_home(ME, members(Load(overloaded=True)))
    assert not at_home(ME, members(Load(short=True)))
    assert not at_home(ME, members(Load(), state="leaving"))


def test_a_gateway_that_owns_nothing_keeps_nothing() -> None:
    found = members(Load(), Load())
    assert not at_home(ME, found | {ME: msgspec.structs.replace(found[ME], roles=(GATEWAY,))})
