"""A thousand runs open at once, for two minutes: `python -m bench.load [--seconds 120] [--runs 1000]`.

The engine is a `windlass up` of its own. As many clients as there are runs each start one, wait for its end
and start the next; 20 more follow runs by their streams. Exits with 1 if a run was lost, an answer was an
error (a 503 that says when to come again is none), or the engine's memory is not flat.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rich.console import Console

from bench import clients, machine, watch
from bench.clients import Ledger
from bench.engine import on_loop
from bench.process import Link, Up, process
from bench.watch import Sample
from windlass.core.errors import WindlassError
from windlass.core.task import Json

SECONDS: Final = 120.0
RUNS: Final = 1_000
FOLLOWERS: Final = 20
SAMPLE_S: Final = 5.0
# What is bounded is filled before anything is judged: the caches of the journal and of ids, and what the
# engine remembers of the last 10,000 runs that printed something.
WARM: Final[dict[str, int]] = {"warm": 70_000, "warm-printing": 10_500}
WARM_STEPS: Final[dict[str, Json]] = {
    "warm": {"kind": "noop"},
    "warm-printing": {"kind": "shell", "with": {"argv": ["echo", "hello"]}},
}
WARM_S: Final = 300.0
LOOK_S: Final = 0.5
BATCH: Final = 1_000
FILES_SPARE: Final = 200

Say = Callable[[str], None]


@dataclass(slots=True)
class Report:
    ledger: Ledger = field(default_factory=Ledger)
    samples: list[Sample] = field(default_factory=list)
    took_s: float = 0.0
    lost: list[str] = field(default_factory=list)  # started, and not there as ended

    def faults(self) -> list[str]:
        """Why this was no success; none: it was."""
        found = [f"{count} times: {what}" for what, count in self.ledger.errors.most_common(10)]
        if self.lost:
            found.append(f"{len(self.lost)} runs are lost, for example {self.lost[0]}")
        if not self.ledger.followed:
            found.append("no stream came to its end")
        verdict = watch.judge(self.samples)
        if verdict.judged and not verdict.flat:
            found.append(f"memory is {verdict.words()}")
        return found

    def words(self) -> list[str]:
        ledger, samples = self.ledger, self.samples
        rss = [sample.rss_mib for sample in samples]
        return [
            f"{len(ledger.started):,} runs in {self.took_s:.0f} s: {ledger.ended / self.took_s:.0f} a second",
            f"{sum(ledger.errors.values())} errors, {ledger.retried} answers 503 that were asked again",
            f"{ledger.followed:,} runs followed, {ledger.events:,} events by stream",
            f"memory {rss[0]:.0f} MiB at first, {rss[-1]:.0f} at last; {watch.judge(samples).words()}",
            f"at most {max(sample.files for sample in samples)} open files, "
            f"{max(sample.minders for sample in samples)} minders",
        ]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.load", description="many runs at once, for a while"
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"for so long (else {SECONDS:g})")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"open at once (else {RUNS:,})")
    options = parser.parse_args()
    if not (options.seconds > 0 and options.runs > 0):
        parser.error("both are more than nothing")
    console = Console(highlight=False)
    try:
        with machine.scratch() as folder:
            report = load(folder, options.seconds, options.runs, say=console.print)
    except WindlassError as error:
        console.print(f"[red]error:[/] {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    for line in report.words():
        console.print(line, markup=False)
    for fault in report.faults():
        console.print(f"fault: {fault}", markup=False, style="red")
    return 1 if report.faults() else 0


def load(folder: Path, seconds: float, runs: int, *, say: Say = lambda line: None) -> Report:
    """Load an engine on a new journal in that folder. It and all it started are gone afterwards."""
    _allow_files(runs + FOLLOWERS + FILES_SPARE)
    app = folder / "app"
    app.mkdir()
    (app / "load_steps.py").write_text(clients.STEPS)
    with process(folder / "data", "--app", str(app)) as engine:
        return on_loop(_load(engine, seconds, runs, say))


async def _load(engine: Up, seconds: float, runs: int, say: Say) -> Report:
    report, chance = Report(), random.Random(1)
    await clients.define(engine.url)
    if seconds >= watch.JUDGED_S:
        say(f"filling what is bounded, with {sum(WARM.values()):,} runs")
        await _warm_up(engine.url)

    def tell(sample: Sample) -> None:
        report.samples.append(sample)
        say(
            f"{sample.at_s:4.0f} s  {report.ledger.open:5,} open, {report.ledger.ended:7,} ended, "
            f"{sample.rss_mib:4.0f} MiB, {sample.files} files, {sample.minders} minders"
        )

    began = time.monotonic()
    watching = asyncio.create_task(watch.watch(engine.pid, min(SAMPLE_S, seconds / 10), tell))
    try:
        async with asyncio.TaskGroup() as group:
            until = began + seconds
            for _ in range(runs):
                group.create_task(clients.start_and_wait(engine.url, report.ledger, chance, until))
            for _ in range(FOLLOWERS):
                group.create_task(clients.follow(engine.url, report.ledger, until))
            # What the last runs need to end does not count: memory is looked at while the load is there.
            await asyncio.sleep(seconds)
            watching.cancel()
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    report.took_s = time.monotonic() - began
    report.lost = await _lost(engine.url, report.ledger)
    return report


async def _warm_up(url: str) -> None:
    """Returns when all of them have ended."""
    link = await Link.open(url)
    async with asyncio.timeout(WARM_S):
        for workflow, count in WARM.items():
            document = {"id": workflow, "steps": {"only": WARM_STEPS[workflow]}}
            await link.post("/api/v1/workflows", document)
            for first in range(0, count, BATCH):
                wanted = [{"workflow": workflow}] * min(BATCH, count - first)
                await link.post("/api/v1/runs:batch", {"runs": wanted})
            await _all_ended(link, workflow)
    await link.close()


async def _all_ended(link: Link, workflow: str) -> None:
    for _ in range(round(WARM_S / LOOK_S)):
        path = f"/api/v1/runs?workflow={workflow}&status=running&limit=1"
        if not json.loads(await link.get(path))["items"]:
            return
        await asyncio.sleep(LOOK_S)


async def _lost(url: str, ledger: Ledger) -> list[str]:
    """Runs that were started, and that the engine does not list with the end they had to come to."""
    link, there = await Link.open(url), dict[str, str]()
    for kind in clients.MIX:
        path: str | None = f"/api/v1/runs?workflow={kind.id}&limit=1000"
        first = path
        while path is not None:
            page = json.loads(await link.get(path))
            there |= {item["id"]: item["status"] for item in page["items"]}
            path = page["next"] and f"{first}&after={page['next']}"
    await link.close()
    return [run for run, status in ledger.started.items() if there.get(run) != status]


def _allow_files(count: int) -> None:
    """Every connection is an open file, of ours and of the engine, which inherits what we may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))


if __name__ == "__main__":
    sys.exit(main())
