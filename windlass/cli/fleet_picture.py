"""The workers of a cluster as a table. Pure: from what the API says to cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.text import Text

from windlass.cli.screen import Cell, clean, moment
from windlass.core.task import Json

COLOURS: Final = {
    "ONLINE": "green",
    "BUSY": "cyan",
    "DEGRADED": "yellow",
    "REGISTERING": "dim",
    "OFFLINE": "red",
}
COLUMNS: Final = (
    "worker", "node", "state", "slots", "cpu", "memory", "success", "latency", "heard", "offers",
)  # fmt: skip

# Left out, one after the other, where there is no room for all; what a worker offers is cut before.
SPARED: Final = ("memory", "cpu", "latency", "success", "node")
OFFERS_MIN: Final = 12


def summary(answer: Json) -> Text:
    counts, items = answer["counts"], answer["items"]
    if not items:
        return Text("no worker is connected: start one with `windlass worker --connect ws://…`")
    taken = sum(item["active"] for item in items)
    slots = sum(item["slots"] for item in items if item["connected"])
    states = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    plural = "" if len(items) == 1 else "s"
    return Text(f"{len(items):,} worker{plural} ({states}), {taken:,} of {slots:,} slots taken")


def table(answer: Json, width: int | None) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Columns and rows. `width` is that of the screen; None: there is no bound."""
    now = moment(answer["asOf"])
    rows = [_row(item, 0.0 if now is None else now.timestamp()) for item in answer["items"]]
    columns = list(COLUMNS)
    for spared in SPARED:
        if width is None or _wide(columns, rows) <= width:
            break
        number = columns.index(spared)
        columns.pop(number)
        rows = [[*row[:number], *row[number + 1 :]] for row in rows]
    return columns, rows


def _wide(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> int:
    """How many signs a line takes, if the last column is cut as far as it can be."""
    widths = [max(len(str(line[n])) for line in (columns, *rows)) for n in range(len(columns) - 1)]
    return sum(widths) + 2 * len(widths) + OFFERS_MIN


def _row(item: Json, now: float) -> list[Cell]:
    heard = moment(item["lastHeartbeat"])
    here = item["connected"]
    return [
        clean(item["id"]),
        clean(item["node"]) if here else "",
        _state(item),
        f"{item['active']}/{item['slots']}",
        _percent(item["cpu"]) if here else "",
        _percent(item["memory"]) if here else "",
        _percent(item["successRate"]) if item["results"] >= 1 else "",
        _span(item["latencySeconds"]) if item["results"] >= 1 else "",
        "" if heard is None else _ago(now - heard.timestamp()),
        _offers(item),
    ]


def _state(item: Json) -> Text:
    """The state, and what an operator has said."""
    state = Text(item["state"].lower(), COLOURS.get(item["state"], ""))
    return state.append(f", {item['halt']}", "yellow") if item["halt"] else state


def _offers(item: Json) -> str:
    own = f" for {', '.join(item['namespaces'])}" if item["namespaces"] else ""
    return clean(", ".join(item["capabilities"]) + own)


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _span(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds / 60:.0f} min"


def _ago(seconds: float) -> str:
    return "now" if seconds < 1 else f"{_span(seconds)} ago" if seconds >= 60 else f"{seconds:.0f} s ago"
