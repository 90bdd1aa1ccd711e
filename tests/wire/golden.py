"""Writes the golden journals of the formats in force: `python -m tests.wire.golden NAME-PREFIX`.

Run it when a format changes, with a new prefix, and keep the old files: they stand for users' journals.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from tests.core.outside import Outside, failed, finish, grant, lose, start
from windlass.core import document
from windlass.core.assign.placed import Placed, Ranked
from windlass.core.commands import CancelRun, LoseStep, PauseRun, ReleaseStep, ResumeRun, RunCommand, Wake
from windlass.core.names import Attempt, StepId
from windlass.core.run_model import Run
from windlass.core.run_state import image
from windlass.core.task import Success
from windlass.wire import codec, versions

GOLDEN = Path(__file__).parents[1] / "golden"
FALLBACK = {
    "id": "w",
    "steps": {
        "a": {"kind": "noop", "on_failure": {"fallback": "plan-b"}},
        "b": {"kind": "noop", "needs": ["a"], "on_failure": "skip"},
        "plan-b": {"kind": "noop"},
    },
}
RETRY = {
    "id": "w",
    "deadline": "1h",
    "steps": {
        "a": {
            "kind": "noop",
            "retry": {"attempts": 3, "backoff": "2s"},
            "timeout": "5s",
            "timeout_total": "1m",
        },
        "nap": {"kind": "wait", "with": {"for": "10s"}, "needs": ["a"]},
    },
}
PLACED = Placed("locality", (0, 0.5), 2, (Ranked("w1", (0, 0.5)), Ranked("w2", (1, 0.0))))
WIDE = {"id": "w", "max_parallel": 2, "steps": {f"s{i}": {"kind": "noop", "priority": i} for i in range(4)}}

STORIES: dict[str, tuple[dict[str, Any], list[RunCommand]]] = {
    "fallback": (
        FALLBACK,
        [
            start(input={"day": 1}, context={"k": 1}, labels={"team": "x"}, priority=2),
            grant("a"),
            finish("a", 1, failed("Bad", "Exception"), 2.0),
            finish("plan-b", 1, Success({"rows": 7}, {"k": 2, "new": [1]}), 3.0),
            finish("b", 1, failed("Bad"), 4.0),
        ],
    ),
    "retry-and-wait": (
        RETRY,
        [
            start(),
            grant("a"),
            finish("a", 1, failed("Bad"), 2.0),
            Wake(at=4.0),
            grant("a", 2, 4.0),
            LoseStep(step=StepId("a"), attempt=Attempt(2), reason="its worker died", at=5.0),
            finish("a", 3, Success("fine"), 6.0),
            Wake(at=16.0),
        ],
    ),
    "paused": (
        WIDE,
        [start(), grant("s3"), PauseRun(id="p", at=2.0), finish("s3", at=3.0), ResumeRun(id="r", at=9.0)],
    ),
    "parked": (
        WIDE,
        [
            start(),
            grant("s3", node="n1", survives=True, placed=PLACED),
            lose("s3", witnessed=True, worker="w1", progress={"rows": 3}, deaths_max=1),
            lose("s2", failover=False),
            finish("s1", 1, Success("fine"), 3.0, placed=PLACED),
            ReleaseStep(id="r", step=StepId("s2"), at=4.0),
        ],
    ),
    "cancelled": (WIDE, [start(), grant("s3"), CancelRun(id="c", reason="enough", at=2.0)]),
}


def journal(written: dict[str, Any], commands: list[RunCommand]) -> dict[str, Any]:
    outside = Outside(Run(document.read(written)))
    taken: dict[str, Any] = {}
    for n, command in enumerate(commands):
        outside.play(command)
        if n == len(commands) // 2:
            version, written_image = codec.write_image(image(outside.run), versions.LEVEL)
            body = msgspec.json.decode(written_image)
            taken = {"seq": len(outside.events), "version": version, "body": body}
    facts = [
        {
            "seq": seq,
            "at": event.at,
            "type": codec.name(event),
            "version": versions.current(codec.name(event)),
            "body": msgspec.json.decode(codec.encode_event(event)),
        }
        for seq, event in enumerate(outside.events, 1)
    ]
    state = msgspec.json.decode(codec.encode_image(image(outside.run)))
    return {"run": "r", "document": written, "facts": facts, "snapshot": taken, "state": state}


def main(prefix: str) -> None:
    (GOLDEN / "journals").mkdir(parents=True, exist_ok=True)
    for name, (written, commands) in STORIES.items():
        text = json.dumps(journal(written, commands), indent=1, ensure_ascii=False)
        (GOLDEN / "journals" / f"{prefix}-{name}.json").write_text(text + "\n")
    names = {
        kind.__name__: {field.encode_name: field.required for field in msgspec.structs.fields(kind)}
        for kind in codec.MESSAGES
    }
    (GOLDEN / "message_names.json").write_text(json.dumps(names, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
