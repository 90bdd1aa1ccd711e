"""What an engine would have kept of ninety days of one-step runs. Pure: by count, time and chance."""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final

from windlass.core import document, sharding
from windlass.core.events import (
    AnyEvent,
    AttemptFailed,
    RunEnded,
    RunStarted,
    StepFailed,
    StepQueued,
    StepSucceeded,
    WorkflowDefined,
)
from windlass.core.names import Attempt, Key, StepId, WorkerId, WorkflowId, run_id, run_key, workflow_key
from windlass.core.task import Failure, Json
from windlass.journal import Document, Fact, Group, RunRow
from windlass.wire import codec, versions

DAYS: Final = 90
PAST_S: Final = DAYS * 86_400.0
LAST_S: Final = 60.0  # before now nothing has been started for so long: everything has ended
AT_ONCE: Final = 10_000  # runs in memory

STEP, FIRST, WORKER = StepId("only"), Attempt(1), WorkerId("local")
FAILURE: Final = Failure("ExitCode", "exited with 1: connection refused", detail="connection refused\n")
REASON: Final = f"step {STEP} failed: {FAILURE.type}: {FAILURE.message}"
CANCELLED: Final = "nobody waits for it any more"

TEAMS: Final = ("shop", "billing", "data", "search", "mobile")
TEAM_SHARE: Final = 0.4  # of all runs have a label of their team,
CUSTOMER_SHARE: Final = 0.1  # and of one of so many customers
CUSTOMERS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Kind:
    """A workflow, and how its runs go."""

    id: str
    share: float  # of all runs
    failed: float  # of its own, as the next one
    cancelled: float = 0.0
    skips: bool = False  # whatever fails is skipped: the run ends as partial_success
    typical_s: float = 1.0

    @property
    def document(self) -> dict[str, Json]:
        step: dict[str, Json] = {"kind": "shell", "with": {"argv": ["true"]}}
        return {"id": self.id, "steps": {STEP: {**step, "on_failure": "skip"} if self.skips else step}}


# As it is in life: one huge workflow in which some statuses never occur, some busy ones, some rare ones.
KINDS: Final = (
    Kind("orders", 0.6, failed=0.01, cancelled=0.000_1, typical_s=0.3),
    Kind("invoices", 0.2, failed=0.03, cancelled=0.002),
    Kind("thumbnails", 0.12, failed=0.05, typical_s=2.0),
    Kind("search-index", 0.05, failed=0.1, cancelled=0.01, typical_s=10.0),
    Kind("mail", 0.02, failed=0.02, skips=True),
    Kind("imports", 0.009, failed=0.3, cancelled=0.05, typical_s=20.0),
    Kind("nightly-report", 0.001, failed=0.1, typical_s=30.0),
)
HUGE: Final = KINDS[0].id  # succeeded nearly always, sometimes cancelled, never a partial success


@dataclass(slots=True)
class Share:
    """What one shard has of the past: its group, but for the events of its runs, which are rows already."""

    group: Group
    events: list[Any] = field(default_factory=list)  # the values of the rows, one after the other


def workflows(now: float, shards: int) -> list[Share]:
    """All workflows, defined before the first run."""
    at = now - PAST_S - LAST_S
    return [Share(_defined(kind, at, sharding.of(kind.id, shards))) for kind in KINDS]


def runs(count: int, now: float, shards: int, chance: random.Random) -> Iterator[list[Share]]:
    """So many runs, oldest first, a batch at a time; within it by shard: neighbours are written together."""
    bounds = list(accumulate(kind.share for kind in KINDS))
    digests = [document.digest(kind.document) for kind in KINDS]
    began, every_s = now - PAST_S - LAST_S, PAST_S / max(1, count)
    for first in range(0, count, AT_ONCE):
        batch = [Share(Group(shard=shard, epoch=0)) for shard in range(shards)]
        for n in range(first, min(count, first + AT_ONCE)):
            at = began + (n + 0.9 * chance.random()) * every_s
            which = min(bisect(bounds, chance.random()), len(KINDS) - 1)
            ident = run_id(at, chance.getrandbits(48))
            share = batch[sharding.of(ident, shards)]
            row = _row(KINDS[which], run_key(ident), at, now, chance)
            share.group.runs.append(row)
            share.events += _values(share.group.shard, row.key, _events(KINDS[which], row, digests[which], n))
        yield [share for share in batch if share.group.runs]


def _defined(kind: Kind, at: float, shard: int) -> Group:
    key, written, digest = workflow_key(kind.id), kind.document, document.digest(kind.document)
    event = WorkflowDefined(version=1, document=written, document_hash=digest, command="seed", at=at)
    name = codec.name(event)
    fact = Fact(key, 1, at, name, versions.current(name), codec.encode_event(event))
    kept = Document(key=key, version=1, hash=digest, body=codec.encode_json(written), at=at, created_at=at)
    return Group(shard=shard, epoch=0, facts=[fact], documents=[kept])


def _row(kind: Kind, key: Key, at: float, now: float, chance: random.Random) -> RunRow:
    luck = chance.random()
    if luck < kind.cancelled:
        status, error = "cancelled", CANCELLED
    elif luck < kind.cancelled + kind.failed:
        status, error = ("partial_success", "") if kind.skips else ("failed", REASON)
    else:
        status, error = "succeeded", ""
    return RunRow(
        key=key,
        workflow=kind.id,
        version=1,
        status=status,
        started_at=at,
        ended_at=min(now, at + kind.typical_s * (0.5 + chance.random())),
        labels=_labels(chance),
        request_hash=f"{chance.getrandbits(256):064x}",
        error=error,
        settled=True,
    )


def _labels(chance: random.Random) -> dict[str, str]:
    labels = {"team": chance.choice(TEAMS)} if chance.random() < TEAM_SHARE else {}
    if chance.random() < CUSTOMER_SHARE:
        labels["customer"] = customer(chance.randrange(CUSTOMERS))
    return labels


def customer(number: int) -> str:
    return f"c-{number:05}"


def _events(kind: Kind, row: RunRow, digest: str, n: int) -> list[AnyEvent]:
    at, end = row.started_at, row.ended_at
    assert end is not None
    began = at + 0.001
    events: list[AnyEvent] = [
        RunStarted(
            workflow=WorkflowId(kind.id),
            version=1,
            document_hash=digest,
            request_hash=row.request_hash,
            input={"number": n, "amount": n * 7919 % 100_000},
            labels=row.labels,
            at=at,
        ),
        StepQueued(step=STEP, attempt=FIRST, at=at),
    ]
    match row.status:
        case "cancelled":
            return [*events, RunEnded(status="cancelled", reason=CANCELLED, at=end)]
        case "succeeded":
            value = {"exitCode": 0, "stdout": "", "stderr": ""}
            done = StepSucceeded(
                step=STEP, attempt=FIRST, value=value, worker=WORKER, started_at=began, at=end
            )
            return [*events, done, RunEnded(status="succeeded", at=end)]
    events += [
        AttemptFailed(step=STEP, attempt=FIRST, failure=FAILURE, worker=WORKER, started_at=began, at=end),
        StepFailed(step=STEP, failure=FAILURE, policy="skip" if kind.skips else "fail", at=end),
    ]
    if kind.skips:
        return [*events, RunEnded(status="partial_success", at=end)]
    return [*events, RunEnded(status="failed", reason=REASON, failure=FAILURE, at=end)]


def _values(shard: int, key: Key, events: list[AnyEvent]) -> list[Any]:
    """As the store's own rows have them; here and not there, because a Fact for each takes too long."""
    entity, hashed = key.text(), sharding.hash32(key.id)
    values: list[Any] = []
    for seq, event in enumerate(events, 1):
        name = codec.name(event)
        body = codec.encode_event(event).decode()
        values += (shard, entity, seq, hashed, event.at, name, versions.current(name), body)
    return values
