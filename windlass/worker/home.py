"""Where a worker lives: a folder with its name and its spool, for one process at a time.

The name has to stay the same from one life to the next, for results on disk are only taken from the worker
that the task was given to; and no two workers may have the same. So one that was given none makes one up, and
writes it down.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from windlass.core.names import WorkerId
from windlass.worker.spool import DiskSpool, FolderTaken

NAME: Final = "name"
HOMES_MAX: Final = 1000  # of workers without a name that are started in one place


@dataclass(frozen=True, slots=True)
class Home:
    folder: Path  # where steps work
    name: WorkerId
    spool: DiskSpool


def open_home(folder: Path | None, name: str, *, above: Path, made_up: str) -> Home:
    """Raises FolderTaken, and OSError.

    Without a folder it is one of those in `above`: that of the name or, without a name, the first that nobody
    uses now. `made_up` is the name of a worker that has none so far.
    """
    if folder is not None:
        return _open(folder, name, made_up)
    if name:
        return _open(above / f"worker-{re.sub(r'[^A-Za-z0-9._-]', '_', name)}", name, made_up)
    for number in itertools.count(1):
        try:
            return _open(above / f"worker-{number}", name, made_up)
        except FolderTaken:
            if number >= HOMES_MAX:
                raise
    raise AssertionError


def _open(folder: Path, name: str, made_up: str) -> Home:
    folder.mkdir(0o700, parents=True, exist_ok=True)
    folder = folder.resolve()
    # Whoever has the lock of the spool may write the name; before that, only read.
    chosen = WorkerId(name or _written(folder) or made_up)
    spool = DiskSpool(folder / "spool", chosen)
    if not name and _written(folder) != chosen:
        (folder / NAME).write_text(f"{chosen}\n")
    return Home(folder, chosen, spool)


def _written(folder: Path) -> str:
    try:
        return (folder / NAME).read_text().strip()
    except OSError:
        return ""
