"""The functions of the example workflows: ordinary Python, called as `windlass.examples.steps:greet`.

A parameter named `ctx` gets the run's input, the shared context and the outputs of the steps in `needs`.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from windlass import Result, StepContext


def greet(ctx: StepContext) -> Result:
    """The value is the step's output; `context` is seen by every later step."""
    name = str(_input(ctx, "name", "world"))
    return Result(f"Hello, {name}!", context={"greeted": name})


def mark(ctx: StepContext, seconds: float = 0.5) -> str:
    """Takes its time, and leaves a line when it starts and one when it ends."""
    usual = Path(tempfile.gettempdir(), f"windlass-{ctx.run}.txt")
    path = Path(str(_input(ctx, "file", usual)))
    _append(path, f"{ctx.step} started")
    time.sleep(float(str(_input(ctx, "seconds", seconds))))
    _append(path, f"{ctx.step} ended")
    return str(path)


def fetch(ctx: StepContext, fails: int = 0) -> dict[str, list[int]]:
    """As unreliable as a network: the first attempts fail."""
    if ctx.attempt <= fails:
        raise ConnectionError(f"nobody answers (attempt {ctx.attempt})")
    return {"sales": [120, 80, 210]}


def crunch(ctx: StepContext, day: str) -> Result:
    sales = ctx.parents["fetch"]["sales"]
    return Result({"day": day, "total": sum(sales), "best": max(sales)}, context={"total": sum(sales)})


def square(number: int) -> int:
    return number * number


def gather(ctx: StepContext) -> int:
    return sum(ctx.parents.values())


def _input(ctx: StepContext, name: str, usual: object) -> object:
    return ctx.input.get(name, usual) if isinstance(ctx.input, dict) else usual


def _append(path: Path, line: str) -> None:
    # One write to a file opened for appending: lines of steps that run at the same time never mix.
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(handle, f"{line}\n".encode())
    finally:
        os.close(handle)
