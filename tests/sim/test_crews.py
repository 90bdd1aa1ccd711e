"""Workers that are processes of their own, while nodes die under them."""

from __future__ import annotations

import asyncio
import dataclasses
import traceback

import pytest

from windlass.core.cluster import NodeId
from windlass.core.fleet import Seen
from windlass.core.task import Task, TaskName
from windlass.engine.astray import Astray
from windlass.engine.dispatcher import Dispatcher
from windlass.engine.node import NodeSettings
from windlass.engine.queues import Holder
from windlass.engine.slots import Slots
from windlass.journal import Group
from windlass.sim.checks import Violation
from windlass.sim.crewmen import SimCrewman
from windlass.sim.loop import SimLoop, run
from windlass.sim.world import CREW, CREW_SLOTS, FAULTS_S, World

Begun = tuple[str, str, int]


class OnlyNodesDie(World):
    """Nothing goes wrong but this: nodes are killed. Workers live on, and what they began is theirs."""

    def __init__(self, loop: SimLoop, seed: int, nodes: int) -> None:
        super().__init__(loop, seed, nodes=nodes)
        self.faults.calm = True
        self.begun: dict[Begun, NodeId] = {}  # by workers of crews
        self.paused: set[str] = set()  # runs that ever were: what no grant tells of is then taken back
        self.kills = 0

    def kept(self, writer: NodeId, groups: list[Group]) -> None:
        super().kept(writer, groups)
        self.paused |= {fact.key.id for group in groups for fact in group.facts if fact.type == "RunPaused"}

    def _crewmen(self, nodes: int) -> list[SimCrewman]:
        addresses = [home.name for home in self.homes]
        return [
            SimCrewman(self, f"w{i}", addresses, slots=CREW_SLOTS, capabilities=("noop", *CREW))
            for i in range(3)
        ]

    def settings(self) -> NodeSettings:
        """Grants are recorded late, so that nodes often die with one that was not."""
        usual = super().settings()
        return dataclasses.replace(usual, shard=dataclasses.replace(usual.shard, grant_delay_s=2.0))

    @property
    def places(self) -> list[str]:
        return list(CREW)

    async def _mischief(self) -> None:
        while self.loop.time() < FAULTS_S:
            await asyncio.sleep(self.chance.uniform(1.0, 6.0))
            self.kills += 1
            self.chance.choice(self.homes).crash()

    def crew_started(self, task: Task, life: NodeId) -> None:
        super().crew_started(task, life)
        self.guarded(lambda: self._first(task, life))
        self.begun[task.run, task.step, task.attempt] = life

    def handed_out(self, task: Task, node: NodeId, *, epoch: int, offered: bool) -> None:
        super().handed_out(task, node, epoch=epoch, offered=offered)
        self.guarded(lambda: self._first(task, node))

    def _first(self, task: Task, where: NodeId) -> None:
        if task.run in self.paused:
            return
        for attempt in range(1, task.attempt + 1):
            before = self.begun.get((task.run, task.step, attempt))
            if before is not None:
                what = f"{task.run}/{task.step}"
                raise Violation(f"{before} lives and had begun with {what}, and it is begun anew on {where}")


def play(seeds: range, nodes: int) -> list[OnlyNodesDie]:
    worlds: list[OnlyNodesDie] = []

    async def story(loop: SimLoop) -> None:
        worlds.append(OnlyNodesDie(loop, seed, nodes))
        await worlds[-1].play()

    for seed in seeds:
        run(story, seed)
    return worlds


@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("first", range(0, 20, 5))
def test_what_a_living_worker_has_begun_is_never_begun_again_because_nodes_died(
    first: int, nodes: int
) -> None:
    worlds = play(range(first, first + 5), nodes)
    assert all(world.kills > 5 for world in worlds)
    assert sum(len(world.begun) for world in worlds) > 30, "the crews had something to do"


async def nobody(self: Astray) -> float:
    return self.clock()


def never(self: Dispatcher, name: TaskName, holder: Holder) -> bool:
    return False


def all_free(self: Slots, seen: Seen) -> None:
    seen.active = 0
    self.index.changed(seen)


@pytest.mark.parametrize(
    ("kind", "method", "planted", "nodes", "found"),
    [
        (Astray, "until", nobody, 1, "begun anew"),
        (Dispatcher, "adopt", never, 3, "begun anew"),
        (Slots, "_count", all_free, 3, "no free slot"),
    ],
)
def test_a_planted_fault_of_crews_is_found(
    monkeypatch: pytest.MonkeyPatch, kind: type, method: str, planted: object, nodes: int, found: str
) -> None:
    monkeypatch.setattr(kind, method, planted)
    with pytest.raises(BaseException) as caught:  # it may come in a group
        play(range(30), nodes)
    assert found in "".join(traceback.format_exception(caught.value))
