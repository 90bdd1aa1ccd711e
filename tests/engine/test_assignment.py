"""How workers are chosen, set while the cluster runs."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from windlass.core.assign.policy import AdaptiveRules, Policy, Weights
from windlass.core.errors import Invalid
from windlass.engine.assignment import EVERY_S, NAME, SWITCHES_MAX, Assignment
from windlass.journal import StoreUnknown
from windlass.registry import SettingRow
from windlass.registry.memory import MemoryRegistry
from windlass.sim.loop import SimLoop, run

USUAL = Policy(strategy="locality")
OTHER = Policy(
    strategy="adaptive",
    load="seed",
    weights=Weights(active=1.0, cpu=0.0, memory=0.5),
    memory_weight=2.5,
    fit="most",
    adaptive=AdaptiveRules(cpu_max=0.5, hold_s=7.0),
)


class Away(MemoryRegistry):
    """Answers while it is there."""

    there = True

    async def setting(self, name: str) -> SettingRow | None:
        if not self.there:
            raise StoreUnknown("no answer")
        return await super().setting(name)


class Hasty(MemoryRegistry):
    """Somebody else is quicker, a few times."""

    times = 0

    async def setting(self, name: str) -> SettingRow | None:
        found = await super().setting(name)
        if self.times:
            self.times -= 1
            await self.put_setting(
                SettingRow(name=name, body=b"", at=1.0), expected=None if found is None else found.version
            )
        return found


class Node:
    """One that follows the assignment, and counts how often it was told of another one."""

    def __init__(self, registry: MemoryRegistry, usual: Policy = USUAL) -> None:
        self.told = 0
        self.assignment = Assignment(registry, usual, self._changed, now=lambda: 5.0)

    def _changed(self) -> None:
        self.told += 1

    @property
    def policy(self) -> Policy:
        return self.assignment.policy


def play(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def main(_loop: SimLoop) -> None:
        await story()

    run(main, seed=1)


def test_what_is_configured_holds_until_something_else_is_set() -> None:
    async def story() -> None:
        node = Node(MemoryRegistry())
        await node.assignment.look()
        assert (node.policy, node.told, node.assignment.set_by) == (USUAL, 0, "")
        assert await node.assignment.set(OTHER, "ann") == OTHER
        assert (node.policy, node.told, node.assignment.set_by) == (OTHER, 1, "ann")
        assert node.assignment.set_at == 5.0

    play(story)


def test_other_nodes_follow_within_a_moment_and_those_that_start_later() -> None:
    async def story() -> None:
        registry = MemoryRegistry()
        here, there = Node(registry), Node(registry, usual=Policy(strategy="random"))
        serving = asyncio.create_task(there.assignment.serve())
        await asyncio.sleep(EVERY_S / 2)
        await here.assignment.set(OTHER, "ann")
        await asyncio.sleep(EVERY_S)
        assert (there.policy, there.told) == (OTHER, 1)
        await asyncio.sleep(10 * EVERY_S)
        assert there.told == 1
        late = Node(registry)
        await late.assignment.look()
        assert late.policy == OTHER
        serving.cancel()

    play(story)


def test_a_node_that_is_told_looks_at_once() -> None:
    async def story() -> None:
        registry = MemoryRegistry()
        here, there = Node(registry), Node(registry)
        await here.assignment.set(OTHER, "ann")
        await there.assignment.look()
        assert there.policy == OTHER

    play(story)


def test_what_was_set_can_be_taken_back_on_all_nodes() -> None:
    async def story() -> None:
        registry = MemoryRegistry()
        here, there = Node(registry), Node(registry, usual=Policy(strategy="random"))
        await here.assignment.set(OTHER, "ann")
        await there.assignment.look()
        await here.assignment.set(None, "bob")
        await there.assignment.look()
        assert (here.policy.strategy, there.policy.strategy) == ("locality", "random")
        assert (there.assignment.set_by, there.assignment.set_at) == ("", None)

    play(story)


def test_what_is_known_stays_known_while_the_registry_is_away() -> None:
    async def story() -> None:
        registry = Away()
        node = Node(registry)
        await node.assignment.set(OTHER, "ann")
        registry.there = False
        serving = asyncio.create_task(node.assignment.serve())
        await asyncio.sleep(10 * EVERY_S)
        assert node.policy == OTHER
        with pytest.raises(StoreUnknown):
            await node.assignment.set(USUAL, "ann")
        assert node.policy == OTHER
        registry.there = True
        await Node(registry).assignment.set(USUAL, "bob")
        await asyncio.sleep(2 * EVERY_S)
        assert node.policy == USUAL
        serving.cancel()

    play(story)


def test_who_speaks_at_the_same_time_as_others_is_heard_all_the_same() -> None:
    async def story() -> None:
        registry = Hasty()
        registry.times = 3
        node = Node(registry)
        await node.assignment.set(OTHER, "ann")
        other = Node(registry)
        await other.assignment.look()
        assert node.policy == other.policy == OTHER

    play(story)


@pytest.mark.parametrize(
    ("policy", "pointer"),
    [
        (Policy(strategy="fastest"), "/strategy"),
        (Policy(strategy="mine:"), "/strategy"),
        (Policy(strategy=""), "/strategy"),
        (Policy(weights=Weights(cpu=1.1)), "/weights/cpu"),
        (Policy(weights=Weights(active=float("nan"))), "/weights/active"),
        (Policy(weights=Weights(active=0, cpu=0, memory=0)), "/weights"),
        (Policy(memory_weight=-1.0), "/memory_weight"),
        (Policy(adaptive=AdaptiveRules(cpu_max=80.0)), "/adaptive/cpu_max"),
        (Policy(adaptive=AdaptiveRules(hold_s=-1.0)), "/adaptive/hold_s"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(policy: Policy, pointer: str) -> None:
    async def story() -> None:
        registry = MemoryRegistry()
        node = Node(registry)
        with pytest.raises(Invalid) as refused:
            await node.assignment.set(policy, "ann")
        assert [fault.pointer for fault in refused.value.faults] == [pointer]
        assert node.policy == USUAL
        assert await registry.setting(NAME) is None

    play(story)


def test_a_strategy_of_ones_own_is_set_only_where_it_is_found() -> None:
    def custom(name: str) -> object:
        if name != "mine:choose":
            raise Invalid(f"{name} is not there")
        return min

    async def story() -> None:
        assignment = Assignment(MemoryRegistry(), USUAL, lambda: None, now=lambda: 5.0, custom=custom)
        with pytest.raises(Invalid, match="mine:other is not there") as refused:
            await assignment.set(Policy(strategy="mine:other"), "ann")
        assert [fault.pointer for fault in refused.value.faults] == ["/strategy"]
        assert assignment.policy == USUAL
        assert (await assignment.set(Policy(strategy="mine:choose"), "ann")).strategy == "mine:choose"
        assert (await assignment.set(Policy(strategy="random"), "ann")).strategy == "random"

    play(story)


@pytest.mark.parametrize("body", [b"\xff", b"{}x", b'{"strategy": 7}', b'{"strategy": "of tomorrow"}'])
def test_what_a_newer_program_has_set_is_left_to_it(body: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        registry = MemoryRegistry()
        await registry.put_setting(SettingRow(name=NAME, body=body, at=1.0), expected=None)
        node = Node(registry)
        for _ in range(3):
            await node.assignment.look()
        assert (node.policy, node.told) == (USUAL, 0)
        await node.assignment.set(OTHER, "ann")
        assert node.policy == OTHER

    play(story)
    assert sum("not understood" in record.message for record in caplog.records) == 1


def test_switches_are_remembered_with_their_reason_and_not_without_end() -> None:
    async def story() -> None:
        node = Node(MemoryRegistry())
        await node.assignment.set(OTHER, "ann")
        await node.assignment.set(OTHER, "bob")
        node.assignment.note("adaptive: round-robin", "adaptive: locality", "round trips of 120 ms", at=9.0)
        told = [(each.at, each.before, each.after, each.why) for each in node.assignment.switches]
        assert told == [
            (5.0, "locality", "adaptive", "set by ann"),
            (9.0, "adaptive: round-robin", "adaptive: locality", "round trips of 120 ms"),
        ]
        for n in range(2 * SWITCHES_MAX):
            node.assignment.note("a", "b", str(n))
        assert len(node.assignment.switches) == SWITCHES_MAX
        assert node.assignment.switches[-1].why == str(2 * SWITCHES_MAX - 1)

    play(story)
