"""What simulated workflows say of control: other runs, items, turns, permits, undoing, schedules."""

from __future__ import annotations

import random
from typing import Final

from windlass.core.task import Json
from windlass.core.timetable import Timetable

KID: Final = "kid"  # what other workflows begin runs of
TICK: Final = "tick"  # what begins by itself
TICK_S: Final = 6.0
# Keys, and how many may hold them at once. Whoever holds one of a line asks only for those of the next: a run
# that waits for itself waits for ever.
OF_RUNS: Final = {"one": 1, "two": 2}
OF_STEPS: Final = {"three": 1, "four": 2}
OF_KIDS: Final = {"kids": 2}
RATES: Final = {"slow": 2}  # keys, and how many may begin in RATE_S
RATE_S: Final = 10.0
WAYS: Final = ("child", "detach", "map", "kids", "loop", "signal", "approval", "undo", "permit", "rate")


def kid_document() -> dict[str, Json]:
    retry = {"attempts": 3, "backoff": "1s"}
    return {
        "id": KID,
        "concurrency": {"key": "kids", "limit": OF_KIDS["kids"]},
        "steps": {
            "k0": {"kind": "noop", "retry": retry, "on_failure": "skip"},
            "k1": {"kind": "wait", "needs": ["k0"], "with": {"for": "2s"}},
        },
    }


def tick_document() -> dict[str, Json]:
    return {"id": TICK, "steps": {"t": {"kind": "noop", "on_failure": "skip"}}}


def tick_timetable(chance: random.Random, *, start: float, end: float) -> Timetable:
    overlap = chance.choice(("skip", "queue", "allow"))
    match overlap:
        case "skip":
            return Timetable(every_s=TICK_S, start=start, end=end, overlap="skip", catch_up_s=20.0)
        case "queue":
            return Timetable(every_s=TICK_S, start=start, end=end, overlap="queue", catch_up_s=3600.0)
        case _:
            return Timetable(every_s=TICK_S, start=start, end=end, overlap="allow", catch_up_s=3600.0)


def add_control(chance: random.Random, written: dict[str, Json]) -> None:
    """Make some of the steps of a document say more. None of it waits for a person for ever."""
    for step in written["steps"].values():
        if step["kind"] == "noop" and chance.random() < 0.5:
            _change(chance, step)
        if step["kind"] != "switch" and chance.random() < 0.1:
            step["when"] = chance.choice(("true", "false"))
    if chance.random() < 0.3:
        key = chance.choice(list(OF_RUNS))
        conflict = chance.choice(("queue", "queue", "skip", "replace"))
        written["concurrency"] = {"key": key, "limit": OF_RUNS[key], "on_conflict": conflict}


def _change(chance: random.Random, step: dict[str, Json]) -> None:
    body = {"kind": "noop", "retry": {"attempts": 2, "backoff": "1s"}, "on_failure": "skip"}
    kid = {"kind": "workflow", "with": {"workflow": KID}, "retry": {"attempts": 2, "backoff": "1s"}}
    match chance.choice(WAYS):
        case "child":
            _become(step, "workflow", {"workflow": KID})
            if chance.random() < 0.3:
                step["timeout"] = "3s"
        case "detach":
            _become(step, "workflow", {"workflow": KID, "wait": False})
        case "map":
            inner = body | ({"undo": {"kind": "noop"}} if chance.random() < 0.3 else {})
            _become(step, "map", {"over": [1, 2, 3], "max_parallel": 2, "step": inner})
        case "kids":
            _become(step, "map", {"over": [1, 2], "max_parallel": 2, "step": kid})
        case "loop":
            _become(step, "loop", {"until": "index >= 1", "max": 3, "delay": "1s", "step": body})
        case "signal":
            _become(step, "signal", {"name": "go", "timeout": "10s", "default": 0})
        case "approval":
            how = chance.choice(("approve", "reject"))
            _become(step, "approval", {"timeout": "10s", "on_timeout": how})
        case "undo":
            step["undo"] = {"kind": "noop", "retry": {"attempts": 3, "backoff": "1s"}}
        case "permit":
            key = chance.choice(list(OF_STEPS))
            step["concurrency"] = {"key": key, "limit": OF_STEPS[key]}
        case _:
            key = chance.choice(list(RATES))
            step["rate"] = {"key": key, "limit": RATES[key], "per": f"{RATE_S:g}s"}


def _become(step: dict[str, Json], kind: str, given: dict[str, Json]) -> None:
    for key in ("requires", "timeout", "on_lost"):
        step.pop(key, None)
    step["kind"], step["with"] = kind, given
