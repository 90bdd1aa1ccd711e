"""What the workers did, as their marks tell it, beside what the journal and its SQL views say.

marks: what really ran, where and when            kills: when a worker or a node was killed
journal: which attempts were lost, and when       view dag_node_attempt: who had each attempt
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from tests.cluster.machines import Cluster
from tests.cluster.work import Mark, read_marks
from windlass.core.names import Key

SLACK_S = 0.5  # a death is noted a moment before it comes
FOREVER = float("inf")

VIEW = "SELECT workflow_instance_id, node_id, attempt, worker_address, status FROM dag_node_attempt"
LOST = (
    "SELECT a.at, a.entity, e.body FROM audit_events a JOIN events e USING (shard, entity, seq) "
    "WHERE a.type = 'AttemptLost' ORDER BY a.n"
)
# Of a step that has ended well, the last attempt is the one that counts.
LAST = "SELECT workflow_instance_id, node_id, worker_address FROM dag_node_execution WHERE status = 'SUCCEED'"

Attempt = tuple[str, str, int]  # run, step, number


class Death(NamedTuple):
    at: float
    name: str
    node: bool
    told: bool = False  # it was told to stop, and went by itself


class Span(NamedTuple):
    """One execution of an attempt. It ended by itself, or with its worker, or nobody knows: then never."""

    began: float
    ended: float
    worker: str
    whole: bool  # it came to its own end


@dataclass
class Lookback:
    executions: int = 0
    attempts: int = 0  # in the view
    lost: int = 0
    cut_short: int = 0  # executions that a kill ended
    outlived: int = 0  # executions that went on while a node was killed, and came to their end
    repeated: int = 0  # attempts that ran more than once: both their worker and the node were killed
    faults: list[str] = field(default_factory=list)


def look_back(cluster: Cluster, deaths: Iterable[Death]) -> Lookback:
    deaths = sorted(deaths)
    spans = _spans(read_marks(cluster.marks), deaths)
    found = Lookback(executions=sum(map(len, spans.values())))
    node_deaths = [death.at for death in deaths if death.node]
    for name, of_attempt in spans.items():
        found.repeated += len(of_attempt) > 1
        for span in of_attempt:
            found.cut_short += not span.whole
            found.outlived += span.whole and any(span.began < at < span.ended for at in node_deaths)
        for before, after in pairwise(of_attempt):
            if after.began < before.ended:
                found.faults.append(f"{name} ran on {before.worker} and on {after.worker} at the same time")
    found.faults += _wrong_workers(cluster, spans, found)
    found.faults += _lost_alive(cluster, deaths, spans, found)
    return found


def _spans(marks: Iterable[Mark], deaths: list[Death]) -> Mapping[Attempt, list[Span]]:
    ends: dict[tuple[Attempt, int], float] = {}
    begins: dict[Attempt, list[Mark]] = defaultdict(list)
    for mark in marks:
        name = (mark.run, mark.step, mark.attempt)
        if mark.what == "begin":
            begins[name].append(mark)
        else:
            ends[name, mark.pid] = mark.at
    return {
        name: sorted(_span(mark, ends.get((name, mark.pid)), deaths) for mark in of_attempt)
        for name, of_attempt in begins.items()
    }


def _span(begin: Mark, ended: float | None, deaths: list[Death]) -> Span:
    if ended is not None:
        return Span(begin.at, ended, begin.place, True)
    killed = (death.at for death in deaths if death.name == begin.place and death.at + SLACK_S > begin.at)
    return Span(begin.at, next(killed, FOREVER), begin.place, False)


def _wrong_workers(cluster: Cluster, spans: Mapping[Attempt, list[Span]], found: Lookback) -> Iterator[str]:
    """The address of each attempt is that of who really ran it; and who ran is known."""
    ends: dict[tuple[str, str], str] = {}  # who came to the end of each step
    for name, of_attempt in spans.items():
        ends |= {name[:2]: span.worker for span in of_attempt if span.whole}
    seen = set()
    for run, step, number, worker, status in cluster.rows(VIEW):
        name = (run, step, number)
        seen.add(name)
        found.attempts += 1
        ran = {span.worker for span in spans.get(name, ())}
        if (ran and worker not in ran) or (not ran and status == "SUCCEED"):
            yield f"{name} ran on {ran or 'nobody'}, and its address is {worker} ({status})"
    yield from (f"{name} ran, and the view does not know it" for name in sorted(spans.keys() - seen))
    for run, step, worker in cluster.rows(LAST):
        if ends.get((run, step)) != worker:
            yield f"{run}/{step} ended on {ends.get((run, step))}, and dag_node_execution says {worker}"


def _lost_alive(
    cluster: Cluster, deaths: list[Death], spans: Mapping[Attempt, list[Span]], found: Lookback
) -> Iterator[str]:
    """Only who died, or was told to go, may lose a task: the death of a node alone costs no attempt."""
    for at, entity, text in cluster.rows(LOST):
        found.lost += 1
        body = json.loads(text)
        name = (Key.parse(entity).id, body["step"], body["attempt"])
        worker, began = body.get("worker", ""), min([span.began for span in spans.get(name, ())], default=0.0)
        if not any(
            death.name == worker and began - SLACK_S <= death.at <= at + SLACK_S
            for death in deaths
            if not death.node
        ):
            yield f"{name} was given up though {worker or 'its worker'} lived: {body['reason']}"
