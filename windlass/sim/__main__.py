"""`python -m windlass.sim --seeds 1000`: play many seeds; `--seed 7` plays one again."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time

from windlass.sim.stories import SeedFailed, Tally, play, play_all


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m windlass.sim", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many seeds to play, from --first on")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, help="play only this one, and show what happened")
    chosen = parser.parse_args()
    if chosen.seed is not None:
        print(play(chosen.seed))  # noqa: T201  # a command line tool
        return 0
    began = time.perf_counter()
    last = chosen.first + chosen.seeds
    parts = [range(chosen.first + i, last, _processes()) for i in range(_processes())]
    try:
        with multiprocessing.get_context("spawn").Pool(_processes()) as pool:
            tallies = pool.map(play_all, parts)
    except SeedFailed as failure:
        print(failure, file=sys.stderr)  # noqa: T201
        return 1
    _show(tallies, time.perf_counter() - began)
    return 0


def _processes() -> int:
    return os.cpu_count() or 1


def _show(tallies: list[Tally], seconds: float) -> None:
    total = Tally()
    for tally in tallies:
        total.seeds += tally.seeds
        total.simulated_s += tally.simulated_s
        total.acknowledged += tally.acknowledged
        total.commits += tally.commits
        total.events += tally.events
        total.tasks += tally.tasks
        total.crashes += tally.crashes
        total.injected += tally.injected
        total.ends += tally.ends
    lines = [
        f"{total.seeds} seeds in {seconds:.1f} s: {total.simulated_s / 3600:.1f} simulated hours, "
        f"{total.acknowledged} runs, {total.tasks} tasks, {total.events} events in {total.commits} commits",
        f"crashes {total.crashes}, " + ", ".join(f"{name} {n}" for name, n in sorted(total.injected.items())),
        "ended: " + ", ".join(f"{name} {n}" for name, n in sorted(total.ends.items())),
        "lost 0, doubled 0, stuck 0",
    ]
    print("\n".join(lines))  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
