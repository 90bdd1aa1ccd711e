"""Runs begun by runs: what a child costs beside a plain run, and how soon its end is heard of."""

from __future__ import annotations

from pathlib import Path
from statistics import median, quantiles
from typing import Final

from bench.engine import ONE_STEP, End, Engine, engine, in_flight, on_loop
from bench.figures import Figure
from bench.spent import work_us
from windlass.core.events import ChildStarted, StepQueued
from windlass.core.names import run_key
from windlass.core.task import Json
from windlass.engine.followers import News

PARENT: Final[dict[str, Json]] = {
    "id": "parent",
    "steps": {"child": {"kind": "workflow", "with": {"workflow": "one-step"}}},
}
WITH_NEXT: Final[dict[str, Json]] = {
    "id": "parent-with-next",
    "steps": {
        "child": {"kind": "workflow", "with": {"workflow": "one-step"}},
        "next": {"kind": "noop", "needs": ["child"]},
    },
}


class Parent(End):
    """Hears which run was begun, and when the step behind it was queued."""

    child = ""
    next_at = 0.0

    def hear(self, news: News) -> None:
        if isinstance(news, tuple):
            if isinstance(news[1], ChildStarted):
                self.child = news[1].run
            elif isinstance(news[1], StepQueued):
                self.next_at = news[1].at
        super().hear(news)


def measure(folder: Path, repeats: int, runs: int) -> list[Figure]:
    plain: list[float] = []
    with_child: list[float] = []
    heard = [on_loop(_children(folder / f"children-{n}", runs, plain, with_child)) for n in range(repeats)]
    return [
        Figure(
            "work of a run that is one child run, to a plain run",
            "times",
            [one / other for one, other in zip(with_child, plain, strict=True)],
            less_is_better=True,
            note=f"{median(with_child):.0f} to {median(plain):.0f} µs; two runs, of which one waits",
        ),
        Figure(
            "end of a child → next step of its parent, idle, p50",
            "ms",
            [median(times) for times in heard],
            less_is_better=True,
            note=f"p99 {median(quantiles(times, n=100)[98] for times in heard):.1f} ms",
        ),
    ]


async def _children(data: Path, runs: int, plain: list[float], with_child: list[float]) -> list[float]:
    async with engine(data) as here:
        for written in (ONE_STEP, PARENT, WITH_NEXT):
            await here.define(written)
        for workflow in ("one-step", "parent"):
            await in_flight(max(1, runs // 4), lambda name=workflow: here.run(name))  # type: ignore[misc]
        plain.append(await work_us(here, "one-step", runs))
        with_child.append(await work_us(here, "parent", runs))
        return [await _heard_ms(here) for _ in range(max(10, runs // 10))]


async def _heard_ms(here: Engine) -> float:
    parent = await here.followed("parent-with-next", Parent)
    row = (await here.node.router.read(run_key(parent.child))).row
    assert row.ended_at is not None
    return (parent.next_at - row.ended_at) * 1e3
