"""A journal with many finished runs, within a minute: `python -m bench.seed_runs N --data DIR`.

What is written is what an engine would have kept, by the store's own row code (see `bench.past`). Only the
way there is shorter: the file has no WAL while it is made, and its indexes are built at the end. It gets its
name when it is whole.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import random
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bench import past
from bench.past import Share
from windlass.config import JOURNAL, Config
from windlass.core.errors import WindlassError
from windlass.journal import sqlite_rows as rows
from windlass.journal.sqlite import SqliteStore

Tell = Callable[[int], None]  # so many runs are written

CACHE_KIB: Final = 256 * 1024
SHARDS: Final = Config().shards
UNFINISHED: Final = "seeding"


class NotEmpty(WindlassError):
    """There is a journal already."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.seed_runs", description=__doc__)
    parser.add_argument("count", metavar="N", type=int, help="how many runs")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="a folder without a journal")
    options = parser.parse_args()
    if options.count < 0:
        parser.error("N is the number of runs, e.g. 1000000")
    console = Console(highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    began = time.perf_counter()
    try:
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task("runs", total=options.count)
            seed(options.data, options.count, tell=lambda done: progress.update(task, completed=done))
    except (WindlassError, OSError, sqlite3.Error) as error:
        console.print(f"[red]error:[/] {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    took_s = time.perf_counter() - began
    size = (options.data / JOURNAL).stat().st_size / 2**20
    console.print(
        f"{options.count:,} runs, {size:,.0f} MiB, {took_s:.1f} s: {options.count / took_s:,.0f} runs/s"
    )
    console.print(
        f"serve them: windlass up --data {options.data} --retention {past.DAYS + 10}d", soft_wrap=True
    )
    return 0


def seed(data: Path, count: int, *, tell: Tell = lambda done: None, chance_seed: int = 1) -> None:
    """Make a journal in that folder with so many finished runs. Raises NotEmpty.

    Whatever happens in the middle, no half of a journal stays behind.
    """
    journal, unfinished, now = data / JOURNAL, data / UNFINISHED, time.time()
    if journal.exists():
        raise NotEmpty(f"there is a journal in {data} already; name another folder")
    shutil.rmtree(unfinished, ignore_errors=True)  # somebody was killed in the middle
    unfinished.mkdir(0o700, parents=True)
    gc.disable()  # rows are many and hold no cycles
    try:
        asyncio.run(_make_tables(unfinished / JOURNAL))
        runs = past.runs(count, now, SHARDS, random.Random(chance_seed))
        _fill(unfinished / JOURNAL, past.workflows(now, SHARDS), runs, tell)
        (unfinished / JOURNAL).rename(journal)
    finally:
        gc.enable()
        shutil.rmtree(unfinished)


async def _make_tables(path: Path) -> None:
    await (await SqliteStore.open(path)).close()


def _fill(path: Path, workflows: list[Share], runs: Iterable[list[Share]], tell: Tell) -> None:
    with closing(sqlite3.connect(path, isolation_level=None, cached_statements=256)) as cx:
        # Nobody else has the file, and half of it is worth nothing.
        cx.execute("PRAGMA journal_mode = OFF")
        cx.execute("PRAGMA synchronous = OFF")
        cx.execute("PRAGMA temp_store = MEMORY")
        cx.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        rows.setting(cx, "shards", str(SHARDS))
        epochs = rows.claim(cx, range(SHARDS))
        indexes = cx.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql <> ''"
        ).fetchall()
        for name, _ in indexes:
            cx.execute(f"DROP INDEX {name}")
        done = 0
        for batch in chain([workflows], runs):
            cx.execute("BEGIN")
            for share in batch:
                share.group.epoch = epochs[share.group.shard]
                assert rows.keep(cx, [share.group]) == [True]
                rows.INSERT_EVENTS.run(cx, share.events)
                done += len(share.group.runs)
            cx.execute("COMMIT")
            tell(done)
        for _, sql in indexes:
            cx.execute(sql)
        cx.execute("PRAGMA synchronous = FULL")
        cx.execute("PRAGMA journal_mode = WAL")


if __name__ == "__main__":
    sys.exit(main())
