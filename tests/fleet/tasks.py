"""What the fleet has to do: runs of four tasks each, of all kinds, which leave marks."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.work import TOLD
from windlass.core.task import Json

NEEDED = "fleet"  # what only workers of their own offer, not those inside nodes
TASKS = 4  # of each run
MIX = (("quick", 5), ("slow", 4), ("long", 1))
TAKES_MS = {"quick": 200, "slow": 3_000, "long": 10_000}
STEPS = ("first", "left", "right", "last")
SHELL = f"{TOLD.format(what='begin')}; sleep $1; {TOLD.format(what='end')}"


def documents(marks: Path) -> list[dict[str, Json]]:
    return [_document(name, str(marks), ms) for name, ms in TAKES_MS.items()]


def _document(name: str, file: str, ms: int) -> dict[str, Json]:
    """first ──► left, right ──► last"""

    def python(function: str, *needs: str) -> dict[str, Json]:
        call: dict[str, Json] = {"call": f"steps:{function}", "args": {"file": file, "ms": ms}}
        return {"kind": "python", "requires": [NEEDED], "with": call, "needs": list(needs)}

    argv: list[Json] = ["sh", "-c", SHELL, file, str(ms / 1000)]
    return {
        "id": name,
        "steps": {
            "first": python("mark"),
            "left": {"kind": "shell", "requires": [NEEDED], "with": {"argv": argv}, "needs": ["first"]},
            "right": python("stay", "first"),
            "last": python("mark", "left", "right"),
        },
    }
