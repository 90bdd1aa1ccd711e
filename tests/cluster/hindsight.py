"""What became of the tasks, as the journal tells it afterwards."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.cluster.machines import Cluster

STORY = (
    "SELECT a.at, a.shard, a.entity, a.type, e.body "
    "FROM audit_events a JOIN events e USING (shard, entity, seq) "
    "WHERE a.type IN ('StepGranted', 'StepSucceeded', 'AttemptLost', 'AttemptFailed') ORDER BY a.n"
)

SLACK_S = 0.5  # a death is noted a moment before it comes


class Death(NamedTuple):
    """A node was killed, or could not be heard of for longer than the others wait, or was told to stop."""

    at: float
    name: str
    killed: bool
    life: str  # the id it had as a member
    shards: frozenset[int]


class Told(NamedTuple):
    at: float
    shard: int
    task: tuple[str, str, int]  # entity, step, attempt
    type: str
    worker: str  # of a grant
    reason: str  # of a loss


@dataclass
class Hindsight:
    """Made when all is over."""

    story: list[Told]
    deaths: list[Death]

    def given_up(self, death: Death) -> float | None:
        """How long it took until the last task of a dead worker was known to be lost; None: it had none."""
        end = min([d.at for d in self.deaths if d.at > death.at], default=float("inf"))
        lost = [
            told.at
            for told in self.story
            if told.type == "AttemptLost" and death.at < told.at < end and f" {death.name} " in told.reason
        ]
        return max(lost) - death.at if lost else None

    def adopted(self, death: Death) -> int:
        """Tasks of its shards that others ran, and that were still theirs when the next one died."""
        end = min([d.at for d in self.deaths if d.at > death.at], default=float("inf"))
        out: dict[tuple[str, str, int], str] = {}
        lost = set()
        for told in self.story:
            if told.shard not in death.shards or told.at >= end:
                continue
            if told.at <= death.at:
                out.pop(told.task, None)
                if told.type == "StepGranted" and told.worker != death.name:
                    out[told.task] = told.worker
            elif told.type == "AttemptLost":
                lost.add(told.task)
        return len(out.keys() - lost)

    def lost_alive(self) -> Counter[str]:
        """Tasks that were given up though their worker lived, by the reason that was noted."""
        granted: dict[tuple[str, str, int], Told] = {}
        found: Counter[str] = Counter()
        for told in self.story:
            if told.type == "StepGranted":
                granted.setdefault(told.task, told)
            elif told.type == "AttemptLost":
                grant = granted.get(told.task)
                began, worker = (grant.at, grant.worker) if grant is not None else (0.0, "")
                if not any(
                    began <= death.at + SLACK_S
                    and death.at <= told.at
                    and (not worker or death.name == worker)
                    for death in self.deaths
                ):
                    found[told.reason] += 1
        return found


def look_back(cluster: Cluster, deaths: list[Death]) -> Hindsight:
    story = []
    for at, shard, entity, type, text in cluster.rows(STORY):
        body: dict[str, Any] = json.loads(text)
        task = (entity, body["step"], body["attempt"])
        story.append(Told(at, shard, task, type, body.get("worker", ""), body.get("reason", "")))
    return Hindsight(story, deaths)
