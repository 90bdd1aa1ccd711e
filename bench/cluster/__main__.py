"""`python -m bench.cluster`: measures all, or those that are named, and shows and keeps the figures."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from rich.console import Console

from bench import figures, machine
from bench.apart import apart
from bench.cluster import ceiling, failover, latency, throughput
from bench.cluster.effort import FULL, QUICK, Effort
from bench.cluster.nodes import Base, base
from bench.figures import Figure
from windlass.core.errors import WindlassError
from windlass.own_postgres import find_binaries

LAST: Final = Path(__file__).parents[1] / "cluster_last.json"
WIDTH: Final = 150  # of a file

BENCHMARKS: Final[dict[str, Callable[[Base, Effort], list[Figure]]]] = {
    "throughput": throughput.measure,
    "latency": latency.measure,
    "failover": failover.measure,
    "ceiling": ceiling.measure,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.cluster", description="how fast a cluster is")
    parser.add_argument("--quick", action="store_true", help="less of everything: a first impression")
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"of {', '.join(BENCHMARKS)}; else all")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    try:
        _measure(console, options.names or list(BENCHMARKS), QUICK if options.quick else FULL)
    except WindlassError as error:
        console.print(f"[red]error:[/] {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _measure(console: Console, names: list[str], effort: Effort) -> None:
    command = " ".join(["python -m bench.cluster", *sys.argv[1:]])
    began, found = time.monotonic(), list[Figure]()
    with base() as server:
        facts = {**machine.facts(server.folder), "postgres": _version()}
        for name in names:
            load = os.getloadavg()[0]
            console.print(
                f"[dim]{time.monotonic() - began:4.0f} s  {name} (load of the machine {load:.1f})[/]"
            )
            found += apart(BENCHMARKS[name], server, effort)
    figures.show(console, ", ".join(f"{name} {value}" for name, value in facts.items()), found)
    if any(figure.ceilings for figure in found):
        console.print("[dim]ceiling: the same rows kept by a plain program, measured right before[/]")
    figures.write(command, facts, found, LAST)
    console.print(f"[dim]{time.monotonic() - began:.0f} s; kept in {LAST.name}[/]")


def _version() -> str:
    told = subprocess.run([find_binaries() / "postgres", "--version"], capture_output=True, text=True)
    return told.stdout.split()[-1]


if __name__ == "__main__":
    sys.exit(main())
