"""`python -m bench`: measures all, or those that are named, and shows and keeps the figures."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from rich.console import Console

from bench import (
    access,
    chains,
    choosing,
    control,
    door,
    fan_out,
    figures,
    fleet,
    latency,
    lists,
    machine,
    memory,
    one_step,
    page,
    pipeline,
    recovery,
    sandbox,
    start_latency,
    tasks,
)
from bench.apart import apart
from bench.effort import FULL, QUICK, Effort
from bench.figures import Figure
from windlass.core.errors import WindlassError

WIDTH: Final = 130  # of a file

Benchmark = Callable[[Path, Effort], list[Figure]]

BENCHMARKS: Final[dict[str, Benchmark]] = {
    "one-step": one_step.measure,
    "door": door.measure,
    "access": access.measure,
    "chains": chains.measure,
    "choosing": choosing.measure,
    "control": control.measure,
    "fan-out": fan_out.measure,
    "fleet": fleet.measure,
    "latency": latency.measure,
    "start-latency": start_latency.measure,
    "memory": memory.measure,
    "recovery": recovery.measure,
    "lists": lists.measure,
    "page": page.measure,
    "pipeline": pipeline.measure,
    "sandbox": sandbox.measure,
    "tasks": tasks.measure,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="how fast it is")
    parser.add_argument("--quick", action="store_true", help="less of everything: a first impression")
    usual = (
        f"finished runs of `lists` and `page` (else {FULL.finished_runs:,}; the promise is about 1,000,000)"
    )
    parser.add_argument("--runs", type=int, metavar="N", help=usual)
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"of {', '.join(BENCHMARKS)}; else all")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    effort = QUICK if options.quick else FULL
    if options.runs is not None:
        if options.runs < lists.RUNS_MIN:
            parser.error(f"--runs is at least {lists.RUNS_MIN}")
        effort = replace(effort, finished_runs=options.runs)
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    try:
        _measure(console, options.names or list(BENCHMARKS), effort)
    except WindlassError as error:
        console.print(f"[red]error:[/] {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _measure(console: Console, names: list[str], effort: Effort) -> None:
    command = " ".join(["python -m bench", *sys.argv[1:]])
    began, found = time.monotonic(), list[Figure]()
    with machine.scratch() as folder:
        facts = machine.facts(folder)
        for name in names:
            console.print(f"[dim]{time.monotonic() - began:4.0f} s  {name}[/]")
            (folder / name).mkdir()
            found += apart(BENCHMARKS[name], folder / name, effort)
    title = ", ".join(f"{name} {value}" for name, value in facts.items())
    figures.show(console, title, found)
    if any(figure.ceilings for figure in found):
        console.print("[dim]ceiling: the same rows written by plain SQLite, measured right before[/]")
    figures.write(command, facts, found)
    console.print(f"[dim]{time.monotonic() - began:.0f} s; kept in {figures.LAST.name}[/]")


if __name__ == "__main__":
    sys.exit(main())
