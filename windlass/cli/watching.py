"""What is shown at a terminal until Ctrl-C, and goes on being shown while nobody answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from windlass.cli.members import Members
from windlass.core.errors import Unavailable, Unknown

EVERY_S: Final = 1.0

T = TypeVar("T")


def watch(
    members: Members,
    console: Console,
    look: Callable[[Members], T],
    board: Callable[[T, Text], RenderableType],
) -> None:
    """Show what `look` finds, each second anew. The last line of the board says whose view it is."""
    found, silent_since = look(members), None
    members.hurry()
    with Live(console=console, auto_refresh=False) as live:
        while True:
            end = Text(f"as {members.client.url} sees it; Ctrl-C ends this", "dim")
            if silent_since is not None:
                end = _silence(time.monotonic() - silent_since)
            live.update(board(found, end), refresh=True)
            time.sleep(EVERY_S)
            try:
                found, silent_since = look(members), None
            except (Unavailable, Unknown):
                silent_since = time.monotonic() if silent_since is None else silent_since


def _silence(lasted_s: float) -> Text:
    return Text(f"no node answers since {lasted_s:.0f} s; this is how it was. Ctrl-C ends this", "red")
