"""`python -m windlass.sim --seeds 1000`: play many seeds, of one node and of many; `--seed 7` plays one."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from functools import partial
from typing import Final

from windlass.sim.stories import SeedFailed, Tally, play, play_all

STORIES: Final = {"one": False, "many": True}  # whether they are of a cluster


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m windlass.sim", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many seeds to play, from --first on")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, help="play only this one, and show what happened")
    parser.add_argument("--nodes", choices=STORIES, help="one node or many; both if it is not said")
    chosen = parser.parse_args()
    stories = [chosen.nodes] if chosen.nodes else list(STORIES)
    if chosen.seed is not None:
        print(play(chosen.seed, cluster=STORIES[stories[0]]))  # noqa: T201  # a command line tool
        return 0
    seeds = range(chosen.first, chosen.first + chosen.seeds)
    try:
        for story in stories:
            _play(story, seeds)
    except SeedFailed as failure:
        print(failure, file=sys.stderr)  # noqa: T201
        return 1
    return 0


def _play(story: str, seeds: range) -> None:
    began, processes = time.perf_counter(), _processes()
    parts = [seeds[i::processes] for i in range(processes)]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        tallies = pool.map(partial(play_all, cluster=STORIES[story]), parts)
    _show(story, tallies, time.perf_counter() - began)


def _processes() -> int:
    return os.cpu_count() or 1


def _show(story: str, tallies: list[Tally], seconds: float) -> None:
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
        f"{story}: {total.seeds} seeds in {seconds:.1f} s: {total.simulated_s / 3600:.1f} simulated hours, "
        f"{total.acknowledged} runs, {total.tasks} tasks, {total.events} events in {total.commits} commits",
        f"crashes {total.crashes}, " + ", ".join(f"{name} {n}" for name, n in sorted(total.injected.items())),
        "ended: " + ", ".join(f"{name} {n}" for name, n in sorted(total.ends.items())),
        "lost 0, doubled 0, stuck 0",
    ]
    print("\n".join(lines))  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
