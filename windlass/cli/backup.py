"""`windlass backup`"""

from __future__ import annotations

import time
from pathlib import Path

import click

from windlass.cli import journal_file
from windlass.cli.bars import bar
from windlass.cli.journal_file import megabytes
from windlass.cli.screen import print_json, say, took
from windlass.cli.shared import data_option, sharing, wants_json
from windlass.config import JOURNAL
from windlass.core.errors import NotFound, Refused


@click.command
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@data_option
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@sharing()
@click.pass_context
def backup(ctx: click.Context, file: Path, data: Path, force: bool) -> None:
    """Copy the journal into FILE, also while an engine runs.

    What the copy holds is the journal as it was at one moment: every run that was acknowledged before. It is
    checked, and on disk, before it gets its name. The engine is not stopped and need not be running.

    \b
    Examples:
      windlass backup /backups/monday.db
      windlass backup monday.db --data /var/lib/windlass --force
    """
    began = time.monotonic()
    journal = data / JOURNAL
    if not journal.exists():
        raise NotFound(f"there is no journal {journal}; name its folder with --data")
    if not file.parent.is_dir():
        raise click.UsageError(f"there is no folder {file.parent}")
    if file.resolve() in _own(journal):
        raise Refused(f"{file} belongs to the journal itself; choose another place")
    _check_free(file, force)
    quiet = wants_json(ctx)
    with journal_file.part_of(file) as part:
        with bar("copying", quiet=quiet) as tell:
            found = journal_file.copy(journal, part, tell)
        with bar("checking", quiet=quiet), journal_file.opened(part) as cx:
            journal_file.check(cx, journal)
        _check_free(file, force)
        size = part.stat().st_size
        journal_file.place(part, file)
    lasted = time.monotonic() - began
    if quiet:
        told = {"file": str(file), "bytes": size, "schema": found.schema, "tookSeconds": round(lasted, 3)}
        print_json(told)
    else:
        say((str(file), "bold"), f": {megabytes(size)} in {took(lasted)}")


def _own(journal: Path) -> set[Path]:
    """The files that the journal consists of."""
    file = journal.resolve()
    return {Path(f"{file}{end}") for end in ("", "-wal", "-shm", ".lock")}


def _check_free(file: Path, force: bool) -> None:
    if file.exists() and not force:
        raise Refused(f"{file} is there already; choose another name, or replace it with --force")
