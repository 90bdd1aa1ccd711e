"""How far long work is, for whoever watches. On a terminal only, and never among JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn
from rich.progress import TimeRemainingColumn as RemainingColumn

from windlass.cli.screen import screen

Tell = Callable[[int, int | None], None]  # how much is done, of how much; None: nobody knows


@contextmanager
def bar(what: str, *, quiet: bool = False, counted: bool = False) -> Iterator[Tell]:
    """A bar while inside. `counted` shows numbers of things, else there are only per cents."""
    console = _console()
    if quiet or console is None:
        yield lambda done, total: None
        return
    amount = MofNCompleteColumn() if counted else TaskProgressColumn()
    # What is printed meanwhile has to go above the bar, if both are on one terminal.
    progress = Progress(
        TextColumn(what, markup=False),
        BarColumn(),
        amount,
        RemainingColumn(compact=True),
        console=console,
        transient=True,
        redirect_stdout=not console.stderr,
        redirect_stderr=not console.stderr,
    )
    with progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _console() -> Console | None:
    """Where somebody watches: the output or, if that goes elsewhere, what is beside it."""
    for console in (screen(), Console(stderr=True, highlight=False)):
        if console.is_terminal:
            return console
    return None
