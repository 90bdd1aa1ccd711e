"""`windlass events`"""

from __future__ import annotations

from typing import Final

import click

from windlass.cli.ids import RUN
from windlass.cli.screen import moment, print_json, print_table, short
from windlass.cli.shared import client, sharing, wants_json
from windlass.core.task import Json

# In columns of their own, or of no use to people.
APART: Final = {"seq", "at", "type", "step", "attempt", "documentHash", "requestHash", "session", "command"}


@click.command
@click.argument("run", type=RUN)
@click.option(
    "--after", metavar="SEQ", type=click.IntRange(0), default=0, help="Only what came after this one."
)
@sharing()
@click.pass_context
def events(ctx: click.Context, run: str, after: int) -> None:
    """Show what happened in a run, event by event.

    \b
    Examples:
      windlass events exec_0198…
      windlass events exec_0198… --after 12 --json
    """
    items = list(client(ctx).all_events(run, after=after))
    if wants_json(ctx):
        print_json({"items": items})
    else:
        print_table(("seq", "time", "event", "step", "what"), [_row(item) for item in items])


def _row(item: dict[str, Json]) -> tuple[str, ...]:
    at = moment(item["at"])
    step = str(item.get("step", ""))
    attempt = item.get("attempt", 0)
    rest = {
        name: value for name, value in item.items() if name not in APART and value not in ("", None, {}, [])
    }
    return (
        str(item["seq"]),
        f"{at:%H:%M:%S.%f}"[:-3] if at else "",
        str(item["type"]),
        f"{step} ({attempt})" if attempt and attempt > 1 else step,
        short(rest, 200) if rest else "",
    )
