"""What a node has counted since it started, and what is there now: gathered when somebody asks."""

from __future__ import annotations

from dataclasses import dataclass

from windlass.core.node_figures import NodeFigures
from windlass.core.spread import shares
from windlass.engine.asking import ask_all
from windlass.engine.calls import Calls
from windlass.engine.clock import Clock
from windlass.engine.dispatcher import Dispatcher
from windlass.engine.membership import Membership
from windlass.engine.router import Router
from windlass.engine.stats import Stats
from windlass.engine.timers import Timers
from windlass.journal.committer import Committer
from windlass.wire.messages import FiguresTold, LookFigures


@dataclass(frozen=True, slots=True)
class Figures:
    membership: Membership
    calls: Calls
    stats: Stats
    committer: Committer
    dispatcher: Dispatcher
    router: Router
    timers: Timers
    clock: Clock

    def own(self) -> NodeFigures:
        stats, tasks, tally, shards = self.stats, self.dispatcher, self.committer.tally, self.router.shards()
        return NodeFigures(
            node=self.membership.me.name,
            at=self.clock.now(),
            lease_fresh=self.membership.fresh,
            trouble=tally.busy,
            commits=tally.commits,
            rows=tally.rows,
            refused=tally.refused,
            unknown=tally.unknown,
            commit_s=shares(tally.latency),
            events=sum(stats.events.values()),
            snapshots=stats.snapshots,
            live=sum(shard.live_count for shard in shards),
            inbox=sum(shard.depth for shard in shards),
            timers=len(self.timers),
            runs_started=stats.runs_started,
            runs_ended=sum(stats.runs_ended.values()),
            recovered=stats.recovered,
            restarts=stats.restarts,
            waiting=tasks.waiting,
            running=len(tasks.held_here),
            lost=tasks.tally.lost,
            routing_s=shares(stats.routing),
        )

    async def all(self) -> tuple[list[NodeFigures], list[str]]:
        """Of all nodes, by name; and the names of those that did not tell theirs."""
        told, silent = await ask_all(self.membership, self.calls, LookFigures(), FiguresTold)
        found = [self.own(), *(answer.figures for answer in told)]
        return sorted(found, key=lambda figures: figures.node), silent
