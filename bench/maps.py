"""Maps of a hundred to ten thousand items: what an item costs must not depend on how many there are."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from bench.engine import engine, on_loop
from bench.figures import Figure
from bench.played import play, work_us
from windlass.core import document
from windlass.core.task import Json
from windlass.gateway import runs as runs_door
from windlass.wire import codec

SIZES: Final = (100, 1_000, 10_000)
PYTHON_NAME: Final = 300  # characters of an item: the input of a map of 2,000 is 600 kB


def _map_of(ident: str, step: dict[str, Json]) -> dict[str, Json]:
    over = {"over": "${{ inputs.files }}", "max_parallel": 20}
    return {"id": ident, "steps": {"each": {"kind": "map", "with": {**over, "step": step}}}}


MAP: Final = _map_of("map", {"kind": "noop", "with": {"value": {"file": "${{ item }}", "n": "${{ index }}"}}})
PYTHON: Final = _map_of(
    "map-of-python", {"kind": "python", "with": {"call": "each:take", "args": {"file": "${{ item }}"}}}
)


@dataclass(slots=True)
class Found:
    """Of maps of one size."""

    core_us: list[float]  # processor time of an item
    node_us: list[float]  # the same through a node, with its journal on disk
    read_ms: list[float]  # processor time of the answer to who asks for the run
    read_bytes: int = 0


def measure(folder: Path, repeats: int, sizes: Sequence[int] = SIZES) -> list[Figure]:
    found = {size: Found([], [], []) for size in sizes}
    items = max(sizes)
    for n in range(repeats):
        for size, here in found.items():
            runs = max(1, items // size)
            here.core_us.append(work_us(MAP, runs, files(size), value=size))
            on_loop(_through_node(folder / f"map-{n}-{size}", size, runs, here))
    small, large = found[min(sizes)], found[items]
    fewer = max(2 * min(sizes), items // 5)  # an item takes longer there
    few, many = _in_processes(folder, repeats, min(sizes), fewer)
    played = play(document.read(MAP), files(items), items)
    told = f"{played.snapshots} snapshots, the last of {played.image_bytes / items:,.0f} bytes an item"
    return [
        _ratio("in the core", items, min(sizes), large.core_us, small.core_us),
        _ratio("through a node", items, min(sizes), large.node_us, small.node_us),
        _ratio("each in a Python process", fewer, min(sizes), many, few),
        Figure(f"journal of a map of {items:,}", "bytes/item", [played.journal_bytes / items], note=told),
        Figure(
            f"answer of a map of {items:,}, made",
            "ms of work",
            large.read_ms,
            less_is_better=True,
            note=f"{large.read_bytes / 1e6:.2f} MB; {median(small.read_ms):.1f} ms of {min(sizes)}",
        ),
    ]


def files(size: int) -> Json:
    return {"files": [f"2026-01-01/file-{n:05}.csv" for n in range(size)]}


def _ratio(where: str, large: int, small: int, many: list[float], few: list[float]) -> Figure:
    return Figure(
        f"work an item, map of {large:,} to {small:,}, {where}",
        "times",
        [one / other for one, other in zip(many, few, strict=True)],
        less_is_better=True,
        target="0.8 to 1.2",
        note=f"{median(many):.0f} to {median(few):.0f} µs",
    )


async def _through_node(data: Path, size: int, runs: int, found: Found) -> None:
    async with engine(data) as here:
        workflow = await here.define(MAP)
        await here.run(workflow, files(min(SIZES)))  # everything is warm then
        worked = time.process_time()
        for _ in range(runs):
            last = await here.run(workflow, files(size))
        found.node_us.append((time.process_time() - worked) / (runs * size) * 1e6)
        worked = time.process_time()
        body = codec.encode_json(await runs_door.read(here.node, last))
        found.read_ms.append((time.process_time() - worked) * 1e3)
        found.read_bytes = len(body)


def _in_processes(folder: Path, repeats: int, small: int, large: int) -> tuple[list[float], list[float]]:
    """Time, not work, which is done elsewhere: µs of an item of the small map, and of the large one."""
    found: dict[int, list[float]] = {small: [], large: []}
    on_loop(_python_steps(folder / "map-of-python", repeats, found))
    return found[small], found[large]


async def _python_steps(data: Path, repeats: int, found: dict[int, list[float]]) -> None:
    async with engine(data) as here:
        (data / "each.py").write_text("def take(file):\n    return len(file)\n")
        workflow = await here.define(PYTHON)
        await here.run(workflow, _long_names(min(found)))  # every process is warm then
        for _ in range(repeats):
            for size, took_us in found.items():
                runs = max(found) // size
                began = time.perf_counter()
                for _ in range(runs):
                    await here.run(workflow, _long_names(size))
                took_us.append((time.perf_counter() - began) / (runs * size) * 1e6)


def _long_names(size: int) -> Json:
    return {"files": [f"{n:05}".rjust(PYTHON_NAME, "x") for n in range(size)]}
