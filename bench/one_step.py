"""One-step runs, two hundred in flight, through the engine's own router: what the engine itself costs."""

from __future__ import annotations

from pathlib import Path

from bench import ceiling
from bench.effort import Effort
from bench.engine import ONE_STEP, engine, in_flight, on_loop
from bench.figures import Figure


def measure(folder: Path, effort: Effort) -> list[Figure]:
    values, ceilings, notes = [], [], ""
    for n in range(effort.repeats):
        ceilings.append(ceiling.one_step_runs(folder, 2 * effort.runs))
        rate, notes = on_loop(_runs(folder / f"one-step-{n}", effort.runs))
        values.append(rate)
    return [
        Figure(
            "one-step runs, in process",
            "runs/s",
            values,
            ceilings,
            target="at least 5 %",
            note=notes,
        )
    ]


async def _runs(data: Path, count: int) -> tuple[float, str]:
    async with engine(data) as here:
        workflow = await here.define(ONE_STEP)
        await in_flight(count // 4, lambda: here.run(workflow))
        events, commits = sum(here.node.stats.events.values()), here.node.committer.tally.commits
        rate = await in_flight(count, lambda: here.run(workflow))
        events = sum(here.node.stats.events.values()) - events
        commits = here.node.committer.tally.commits - commits
        return rate, f"{events / count:.2f} events a run, {events / commits:.0f} events a commit"
