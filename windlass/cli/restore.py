"""`windlass restore`"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from windlass.cli import journal_file
from windlass.cli.bars import bar
from windlass.cli.journal_file import megabytes
from windlass.cli.screen import print_json, say, took
from windlass.cli.shared import data_option, sharing, wants_json
from windlass.config import JOURNAL
from windlass.core.errors import Refused
from windlass.journal import sqlite
from windlass.journal.sqlite import JournalInUse, JournalUnusable


@click.command
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@data_option
@click.option("--force", is_flag=True, help="Replace the journal that is there; it is kept beside.")
@sharing()
@click.pass_context
def restore(ctx: click.Context, file: Path, data: Path, force: bool) -> None:
    """Make FILE, a backup, the journal of a data folder.

    No engine may be using that folder. FILE is checked from end to end before anything is changed. With
    --force a journal that is there is kept as windlass.db.before-restore.

    \b
    Examples:
      windlass restore monday.db
      windlass restore monday.db --data /var/lib/windlass --force
    """
    began = time.monotonic()
    journal = (data / JOURNAL).resolve()  # if it is a link, the journal is where it leads
    quiet = wants_json(ctx)
    if file.resolve() == journal:
        raise Refused(f"{file} is the journal itself; name a backup")
    with journal_file.opened(file) as cx:
        journal_file.recognise(cx, file)
    try:
        data.mkdir(0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Refused(f"the data folder {data} cannot be made: {error.strerror}") from None
    with _held(journal):
        if _is_there(journal) and not force:
            advice = "name another folder with --data, or replace it with --force (the old one is kept)"
            raise Refused(f"there is a journal {journal} already; {advice}")
        with journal_file.part_of(journal) as part:
            with bar("copying", quiet=quiet) as tell:
                found = journal_file.copy(file, part, tell)
            with bar("checking", quiet=quiet), journal_file.opened(part) as cx:
                journal_file.check(cx, file, thoroughly=True)
            size = part.stat().st_size
            kept = _set_aside(journal) if _is_there(journal) else None
            journal_file.place(part, journal)
    lasted = time.monotonic() - began
    if quiet:
        told = {"journal": str(journal), "bytes": size, "schema": found.schema}
        print_json({**told, "kept": None if kept is None else str(kept), "tookSeconds": round(lasted, 3)})
        return
    say((str(journal), "bold"), f": {megabytes(size)} from {file} in {took(lasted)}")
    if kept is not None:
        say(("the old one is ", "dim"), str(kept))
    say(("go on with ", "dim"), f"windlass up --data {data}")


@contextmanager
def _held(journal: Path) -> Iterator[None]:
    """Nobody else can open the journal while inside."""
    try:
        # An engine's own lock, taken as an engine takes it.
        lock = sqlite.take_lock(journal)
    except (JournalInUse, JournalUnusable) as error:
        raise Refused(str(error)) from None
    try:
        yield
    finally:
        os.truncate(lock, 0)
        os.close(lock)


def _is_there(journal: Path) -> bool:
    return (journal.exists() and journal.stat().st_size > 0) or journal_file.has_waiting_commits(journal)


def _set_aside(journal: Path) -> Path:
    """Rename the journal, and the commits that wait beside it; the answer is its new name.

    The journal goes first: cut off in between, an engine would find commits without a journal, and refuse
    to start. The other way round it would find a journal that lacks its last commits, and go on with it.
    """
    names = (f"{journal}.before-restore{'' if n == 1 else f'.{n}'}" for n in itertools.count(1))
    kept = next(Path(name) for name in names if not Path(name).exists() and not Path(f"{name}-wal").exists())
    for end in ("", "-wal"):
        if Path(f"{journal}{end}").exists():
            os.rename(f"{journal}{end}", f"{kept}{end}")
    Path(f"{journal}-shm").unlink(missing_ok=True)
    return kept
