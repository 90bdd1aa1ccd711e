"""What tests ask of a cluster again and again."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any

from tests.cluster.asking import API, Answer, get, post
from tests.cluster.checker import Account, check
from tests.cluster.machines import Cluster
from tests.cluster.work import Mark, read_marks
from tests.waiting import wait_until


def shown(answer: Answer) -> Any:
    assert answer.ok, f"{answer.status}: {answer.body}"
    return answer.body


def a_workflow(ident: str) -> dict[str, Any]:
    return {"id": ident, "name": ident, "steps": {"only": {"kind": "noop", "with": {"value": ident}}}}


def status_of(url: str, run: str) -> str:
    return str(shown(get(url, f"{API}/runs/{run}"))["status"])


def ended(url: str, run: str) -> bool:
    return status_of(url, run) in ("succeeded", "failed", "cancelled")


def start_long(cluster: Cluster, run: str, seconds: float, at: str, workflow: str = "long") -> None:
    body = {"runId": run, "input": {"seconds": seconds}}
    shown(post(cluster[at].url, f"{API}/workflows/{workflow}/execute", body))


def facts(cluster: Cluster, run: str) -> list[tuple[str, dict[str, Any]]]:
    """What the journal has of the run."""
    rows = cluster.rows("SELECT type, body FROM events WHERE entity = $1 ORDER BY seq", f"run/default/{run}")
    return [(type, json.loads(body)) for type, body in rows]


def marks_of(cluster: Cluster, run: str, what: str = "begin") -> list[Mark]:
    return [mark for mark in read_marks(cluster.marks) if mark.run == run and mark.what == what]


def holder_of(cluster: Cluster, run: str) -> str:
    """The node whose worker has its step, as the journal knows it."""

    def grants() -> list[str]:
        return [body["worker"] for type, body in facts(cluster, run) if type == "StepGranted"]

    wait_until(grants)
    return grants()[-1]


def passes(seconds: float) -> None:
    """Nothing is waited for but time: what must not happen has had its chance."""
    until = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() >= until, seconds + 5)


def checked(cluster: Cluster, acknowledged: Iterable[str] = ()) -> Account:
    """Everything has ended, and the journal is as it must be."""
    wait_until(lambda: cluster.value("SELECT count(*) FROM runs WHERE NOT settled") == 0, 30)
    runs = list(acknowledged)
    return cluster.stage.do(
        check(cluster.place, shards=cluster.shards, acknowledged=runs, marks=cluster.marks)
    )
