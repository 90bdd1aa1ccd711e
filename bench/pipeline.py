"""How many rows a second a pipeline moves, beside a bare loop of Python that does the same with them.

The pipeline is a whole step: a worker hands it to its process, and has its answer. Both take their turns in
one run, so that what the machine does meanwhile hits both alike. Then what a process that runs one holds at
most, for a few rows and for ten times as many.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Final

from bench.apart import Failed, apart
from bench.effort import Effort
from bench.engine import on_loop
from bench.figures import Figure
from windlass.core.log import Bounds
from windlass.core.names import Attempt, RunId, StepId
from windlass.core.task import Json, Success, Task
from windlass.worker.executors.pipeline import Pipeline, processes_of
from windlass.worker.lines import Log
from windlass.worker.orphans import adopt_orphans
from windlass.worker.pipeline import Request
from windlass.worker.pipeline.child import run
from windlass.worker.progress import Heartbeats
from windlass.worker.secrets import NONE

ROWS: Final = 1_000_000  # per repeat
MOST: Final = 500_000  # of which half are kept
TARGET: Final = "at least half of a bare loop"

Stage = tuple[str, str, dict[str, Json]]

NUMBERS: Final[Stage] = ("source", "sequence.numbers", {"end": ROWS})
KEPT: Final[Stage] = ("transform", "filter", {"condition": f"<= {MOST}"})
LINES: Final[Stage] = ("source", "file.csv", {"path": "rows.csv"})
COUNT: Final[Stage] = ("sink", "aggregate.count", {})
WRITE: Final[Stage] = ("sink", "file.text", {"path": "copy.csv"})
ONCE: Final[Stage] = ("transform", "distinct", {})


def measure(folder: Path, effort: Effort) -> list[Figure]:
    adopt_orphans()
    _write_rows(folder / "rows.csv")
    figures = on_loop(_measure(folder, effort))
    few, many = (apart(_peak_mib, str(folder), rows) for rows in (ROWS // 10, ROWS))
    note = f"{few:.0f} MiB for a tenth of the rows"
    figures.append(Figure(f"peak memory, {ROWS:,} rows", "MiB", [many], less_is_better=True, note=note))
    return figures


async def _measure(folder: Path, effort: Effort) -> list[Figure]:
    works: dict[str, tuple[list[Stage], Callable[[Path], int]]] = {
        "sequence, filter, count": ([NUMBERS, KEPT, COUNT], _bare_count),
        "CSV file, filter, file": ([LINES, KEPT, WRITE], _bare_copy),
    }
    rates: dict[str, list[float]] = {name: [] for name in works}
    bare: dict[str, list[float]] = {name: [] for name in works}
    async with _pipelines(folder) as pipelines:
        await _rate(pipelines, [NUMBERS, COUNT])  # warm
        for _ in range(effort.repeats):
            for name, (stages, loop) in works.items():
                rates[name].append(await _rate(pipelines, stages))
                began = time.perf_counter()
                assert loop(folder) == MOST
                bare[name].append(ROWS / (time.perf_counter() - began))
        once = [await _rate(pipelines, [NUMBERS, ONCE, COUNT]) for _ in range(effort.repeats)]
    figures = [
        Figure(name, "rows/s", values, ceilings=bare[name], target=TARGET) for name, values in rates.items()
    ]
    return [*figures, Figure("sequence, distinct, count", "rows/s", once, note="most of it on disk")]


@asynccontextmanager
async def _pipelines(folder: Path) -> AsyncIterator[Pipeline]:
    processes = processes_of(slots=1, cwd=folder, env=dict(os.environ), memory_bytes=0)
    try:
        log = Log(lambda task, printed: None, Bounds())
        yield Pipeline(processes, log, Heartbeats(), folders=(folder,))
    finally:
        await processes.close()


async def _rate(pipelines: Pipeline, stages: list[Stage]) -> float:
    began = time.perf_counter()
    outcome = await pipelines.run(_task(stages), NONE)
    took_s = time.perf_counter() - began
    if not isinstance(outcome, Success):
        raise Failed(f"the pipeline failed: {outcome.message}")
    return ROWS / took_s


def _task(stages: list[Stage]) -> Task:
    said = [
        {"id": str(i), "type": role, "nodeType": name, "config": config}
        for i, (role, name, config) in enumerate(stages)
    ]
    edges = [{"from": a["id"], "to": b["id"]} for a, b in pairwise(said)]
    with_ = {"stages": said, "edges": edges}
    return Task(RunId("r"), StepId("s"), Attempt(1), "pipeline", with_)


def _peak_mib(folder: str, rows: int) -> float:
    numbers: Stage = ("source", "sequence.numbers", {"end": rows})
    outcome = run(Request(_task([numbers, KEPT, ONCE, WRITE]), (folder,)), lambda details: None)
    assert isinstance(outcome, Success), outcome
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _write_rows(path: Path) -> None:
    with path.open("w") as file:
        file.writelines(f"{n},name {n},2026-01-01\n" for n in range(1, ROWS + 1))


def _bare_count(_folder: Path) -> int:
    count = 0
    for n in range(1, ROWS + 1):
        row = str(n)
        if float(row.partition(",")[0]) <= MOST:
            count += 1
    return count


def _bare_copy(folder: Path) -> int:
    count = 0
    with (folder / "rows.csv").open() as source, (folder / "bare.csv").open("w") as target:
        for line in source:
            row = line.rstrip("\n")
            if row and float(row.partition(",")[0]) <= MOST:
                target.write(f"{row}\n")
                count += 1
        target.flush()
        os.fsync(target.fileno())
    return count
