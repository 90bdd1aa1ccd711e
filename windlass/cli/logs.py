"""`windlass logs`"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

import click

from windlass.cli.ending import Exit
from windlass.cli.ids import RUN
from windlass.cli.screen import clean, moment, print_json
from windlass.cli.shared import client, sharing, wants_json
from windlass.core.task import Json
from windlass.sdk.client import Client

# An engine that is started again comes back within this time, and the run with it.
FOLLOW_PATIENCE_S: Final = 30.0
TAIL_MAX: Final = 10_000
COLOURS: Final = {"stderr": "yellow", "system": "magenta"}

Lines = Iterable[dict[str, Json]]


@click.command
@click.argument("run", type=RUN)
@click.option("-f", "--follow", is_flag=True, help="Go on with what is printed from now on, until it ends.")
@click.option("--step", metavar="STEP", help="Only what this step printed.")
@click.option(
    "--tail", metavar="LINES", type=click.IntRange(1, TAIL_MAX), help="Only the last so many lines."
)
@click.option("-t", "--times", is_flag=True, help="When each line was printed.")
@sharing()
@click.pass_context
def logs(ctx: click.Context, run: str, follow: bool, step: str | None, tail: int | None, times: bool) -> None:
    """Show what the steps of a run print.

    What they print to stderr has another colour. Of a run with several steps, each line says whose it is.
    With --follow, --json prints one object per line.

    \b
    Examples:
      windlass logs -f exec_0198…
      windlass logs exec_0198… --step fetch --tail 20
      windlass logs exec_0198… --json | jq -r '.items[] | select(.stream == "stderr").text'
    """
    server = client(ctx)
    lines = _lines(server, run, follow, step, tail)
    if wants_json(ctx) and not follow:
        print_json({"items": list(lines)})
        return
    width = 0 if wants_json(ctx) or step else _name_width(server, run)
    try:
        for line in lines:
            if wants_json(ctx):
                click.echo(json.dumps(line, ensure_ascii=False))
            else:
                _show(line, width, times)
    except KeyboardInterrupt:
        ctx.exit(Exit.INTERRUPTED)  # how one stops following


def _lines(server: Client, run: str, follow: bool, step: str | None, tail: int | None) -> Lines:
    if follow:
        server.patience_s = FOLLOW_PATIENCE_S
        return server.follow_logs(run, step=step, tail=tail)
    if tail is not None:
        items: Lines = server.logs(run, step=step, tail=tail)["items"]
        return items
    return server.all_logs(run, step=step)


def _name_width(server: Client, run: str) -> int:
    """Of the steps' names; 0 where there is no need to say whose a line is."""
    names = [str(step["id"]) for step in server.run(run)["steps"]]
    return max(map(len, names)) if len(names) > 1 else 0


def _show(line: dict[str, Json], width: int, times: bool) -> None:
    words = []
    at = moment(line["at"]) if times else None
    if at is not None:
        words.append(click.style(f"{at:%H:%M:%S.%f}"[:-3], dim=True))
    if width:
        words.append(click.style(f"{clean(str(line['step'])):<{width}} │", dim=True))
    text = str(line["text"]).removesuffix("\r")
    words.append(click.style(clean(text), fg=COLOURS.get(str(line["stream"]))))
    click.echo(" ".join(words))
