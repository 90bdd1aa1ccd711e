"""Workflows for simulated clients."""

from __future__ import annotations

import random
from collections.abc import Sequence

from windlass.core.task import Json
from windlass.sim.control import add_control


def any_document(chance: random.Random, number: int, places: Sequence[str]) -> dict[str, Json]:
    """A workflow of a few steps; some can run in one place only."""
    count = chance.randint(1, 5)
    steps: dict[str, Json] = {}
    for i in range(count):
        step: dict[str, Json] = {
            "kind": "noop",
            "needs": [f"s{j}" for j in range(i) if chance.random() < 0.5],
            "retry": {
                "attempts": chance.randint(1, 4),
                "backoff": f"{chance.choice([0, 1, 4])}s",
                "max": "10s",
            },
            "on_failure": chance.choice(["fail", "skip", "skip"]),
        }
        if chance.random() < 0.2:
            step["requires"] = [chance.choice(places)]
        if chance.random() < 0.2:
            step = {"kind": "wait", "needs": step["needs"], "with": {"for": f"{chance.choice([0, 2, 15])}s"}}
        elif chance.random() < 0.3:
            step["timeout_total"] = "60s"
        elif chance.random() < 0.4:
            step["timeout"] = "10s"
        if step["kind"] != "wait" and chance.random() < 0.2:
            step["on_lost"] = chance.randint(0, 3)
        steps[f"s{i}"] = step
    written: dict[str, Json] = {"id": "w", "description": f"number {number}", "steps": steps}
    if chance.random() < 0.3:
        written["max_parallel"] = chance.randint(1, 2)
    if chance.random() < 0.1:
        written["deadline"] = "30s"
    if chance.random() < 0.1:
        written["queue_timeout"] = "20s"
    if chance.random() < 0.5:
        add_control(chance, written)
    return written
