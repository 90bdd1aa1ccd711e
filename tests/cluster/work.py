"""What the runs of these tests do, and the marks that their steps leave outside.

A mark is a line `run step attempt begin|end seconds pid place`: a single write to a file opened to append,
on its way before the step does anything else. The place is the folder where the worker's steps run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from windlass.core.task import Json

STEPS = """
import asyncio, os, time

def note(ctx, file, what):
    who = f"{os.getpid()} {os.path.basename(os.getcwd())}"
    line = f"{ctx.run} {ctx.step} {ctx.attempt} {what} {time.time():.6f} {who}\\n".encode()
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(handle, line)
    os.close(handle)

def mark(ctx, file, ms):
    note(ctx, file, "begin")
    time.sleep(ms / 1000)
    note(ctx, file, "end")
    return ctx.attempt

async def stay(ctx, file, ms):
    note(ctx, file, "begin")
    await asyncio.sleep(ms / 1000)
    note(ctx, file, "end")
    return ctx.attempt

def last(ctx, file):
    note(ctx, file, "begin")
    time.sleep(float((ctx.input or {}).get("seconds", 1)))
    note(ctx, file, "end")
    return ctx.attempt

def talk(ctx, lines, ms):
    for n in range(lines):
        print(f"line {n}", flush=True)
        time.sleep(ms / 1000)
"""
TOLD = 'echo "$WINDLASS_RUN $WINDLASS_STEP $WINDLASS_ATTEMPT {what} $(date +%s.%N) $$ ${{PWD##*/}}" >> "$0"'
SHELL = TOLD.format(what="begin")


class Mark(NamedTuple):
    run: str
    step: str
    attempt: int
    what: str  # begin, end
    at: float
    pid: int
    place: str  # of a worker of its own: its name


REST_S = 15  # longer than a node takes to join


def documents(marks: Path) -> list[dict[str, Json]]:
    """One step; a chain of all kinds; a sleeper; one long step; one that prints."""
    file = str(marks)

    def marking(ms: int, *needs: str) -> dict[str, Json]:
        call: dict[str, Json] = {"call": "steps:mark", "args": {"file": file, "ms": ms}}
        return {"kind": "python", "with": call, "needs": list(needs)}

    return [
        {"id": "one", "steps": {"only": {"kind": "noop", "with": {"value": 7}}}},
        {
            "id": "chain",
            "steps": {
                "begin": {"kind": "noop"},
                "quick": marking(10, "begin"),
                "rest": {"kind": "wait", "with": {"for": "300ms"}, "needs": ["quick"]},
                "slow": marking(150, "rest"),
                "end": {"kind": "noop", "needs": ["slow"]},
            },
        },
        {
            "id": "shell",
            "steps": {
                "begin": {"kind": "noop"},
                "program": {"kind": "shell", "with": {"argv": ["sh", "-c", SHELL, file]}, "needs": ["begin"]},
            },
        },
        {
            "id": "nap",
            "steps": {
                "begin": {"kind": "noop"},
                "sleep": {"kind": "wait", "with": {"for": "2s"}, "needs": ["begin"]},
                "end": {"kind": "noop", "needs": ["sleep"]},
            },
        },
        {
            "id": "rest",
            "steps": {
                "begin": {"kind": "noop"},
                "sleep": {"kind": "wait", "with": {"for": f"{REST_S}s"}, "needs": ["begin"]},
                "end": {"kind": "noop", "needs": ["sleep"]},
            },
        },
        {
            "id": "long",
            "steps": {
                "work": {"kind": "python", "with": {"call": "steps:last", "args": {"file": file}}},
                "end": {"kind": "noop", "needs": ["work"]},
            },
        },
        {
            "id": "talk",
            "steps": {
                "talk": {"kind": "python", "with": {"call": "steps:talk", "args": {"lines": 5, "ms": 60}}}
            },
        },
    ]


def read_marks(file: Path) -> Iterator[Mark]:
    for line in file.read_text().splitlines() if file.exists() else ():
        run, step, attempt, what, at, pid, place = line.split()
        yield Mark(run, step, int(attempt), what, float(at), int(pid), place)
