"""What is printed: tables and colour on a terminal, plain columns elsewhere, or JSON and nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import click
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from windlass.core.task import Json

COLOURS: Final = {
    "succeeded": "green",
    "partial_success": "yellow",
    "failed": "red",
    "stuck": "red",
    "cancelled": "magenta",
    "skipped": "dim",
    "running": "cyan",
    "paused": "yellow",
    "queued": "dim",
    "waiting": "dim",
}

GAP: Final = "  "

Cell = str | Text


def screen() -> Console:
    """Made when it is needed: the output may have been redirected since."""
    return Console(highlight=False, soft_wrap=True)


def print_json(value: Json) -> None:
    click.echo(json.dumps(value, indent=2))


def say(*parts: Cell | tuple[str, str]) -> None:
    """One line; a part may be (text, style)."""
    cleaned = [_clean(*part) if isinstance(part, tuple) else _clean(part) for part in parts]
    screen().print(Text.assemble(*cleaned))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, head: bool = True) -> None:
    console = screen()
    lines = [list(columns), *([str(_clean(cell)) for cell in row] for row in rows)]
    if console.is_terminal:
        # One line each: what does not fit is cut from the last column, never from an id.
        *first, last = [max(cell_len(line[i]) for line in lines) for i in range(len(columns))]
        room = max(10, console.width - sum(first) - len(GAP) * len(first))
        table = Table(
            box=None, pad_edge=False, padding=(0, len(GAP), 0, 0), header_style="bold", show_header=head
        )
        for name, width in zip(columns, [*first, min(last, room)], strict=True):
            table.add_column(name, no_wrap=True, width=width, overflow="ellipsis")
        for row in rows:
            table.add_row(*(_clean(cell) for cell in row))
        console.print(table, soft_wrap=False)
        return
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for line in lines if head else lines[1:]:
        text = GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        click.echo(text.rstrip())


def grid(columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, head: bool = True) -> Table:
    """A table for a screen that is drawn again and again: each row is one line."""
    made = Table(box=None, pad_edge=False, padding=(0, len(GAP), 0, 0), header_style="bold", show_header=head)
    for name in columns:
        made.add_column(name, no_wrap=True, overflow="ellipsis")
    for row in rows:
        made.add_row(*(_clean(cell) for cell in row))
    return made


def clean(text: str) -> str:
    """What steps say may hold anything, and must not steer the terminal."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "�" for sign in text)


def _clean(cell: Cell, style: str = "") -> Text:
    return cell if isinstance(cell, Text) else Text(clean(cell), style)


def coloured(status: str) -> Text:
    return Text(status, style=COLOURS.get(status, ""))


def moment(value: Json) -> datetime | None:
    """A time of the API, in the local time zone."""
    return datetime.fromisoformat(value).astimezone() if isinstance(value, str) and value else None


def clock(value: Json) -> str:
    """Time of day, with the day unless it is today."""
    at = moment(value)
    if at is None:
        return ""
    return f"{at:%H:%M:%S}" if at.date() == datetime.now().date() else f"{at:%Y-%m-%d %H:%M}"


def took(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def between(start: Json, end: Json) -> float | None:
    first, last = moment(start), moment(end)
    return (last - first).total_seconds() if first and last else None


def short(value: Json, width: int = 60) -> str:
    """A JSON value in one line; text stands for itself."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    line = clean(" ".join(text.split()))
    return line if len(line) <= width else f"{line[: width - 1]}…"
