"""`windlass retry-stuck`"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import click

from windlass.cli.bars import Tell, bar
from windlass.cli.ending import Ended, Exit
from windlass.cli.ids import RUN
from windlass.cli.screen import clock, coloured, print_json, print_table, say, short
from windlass.cli.shared import client, sharing, wants_json
from windlass.core.errors import Refused
from windlass.core.task import Json
from windlass.sdk.client import Client

NAMED_MAX: Final = 3


@click.command
@click.argument("runs", metavar="[RUN]...", nargs=-1, type=RUN)
@click.option("--all", "everything", is_flag=True, help="Everything that is stuck.")
@sharing()
@click.pass_context
def retry_stuck(ctx: click.Context, runs: tuple[str, ...], everything: bool) -> None:
    """List what is stuck, or let it try again.

    A run is stuck when Windlass itself could not read or decide it. It waits, and blocks nobody, until the
    cause is mended and it is named here. Without RUN and --all, what is stuck is listed.

    \b
    Examples:
      windlass retry-stuck
      windlass retry-stuck exec_0198…
      windlass retry-stuck --all
    """
    if runs and everything:
        raise click.UsageError("name runs or say --all, not both")
    server = client(ctx)
    if not runs and not everything:
        _list(ctx, server.stuck())
        return
    quiet = wants_json(ctx)
    items = _everything(server) if everything else [{"kind": "run", "id": run} for run in runs]
    with bar("trying again", quiet=quiet or len(runs) == 1, counted=True) as tell:
        done, refused = _retry(server, items, tell, quiet=quiet)
    if quiet:
        print_json({"items": done, "refused": [{"id": ident, "message": words} for ident, words in refused]})
        ctx.exit(Exit.REFUSED if refused else Exit.SUCCEEDED)
    if not done and not refused:
        say("nothing is stuck")
    if refused:
        words = "; ".join(words for _, words in refused[:NAMED_MAX])
        more = f" (and {len(refused) - NAMED_MAX} more)" if len(refused) > NAMED_MAX else ""
        raise Ended(Exit.REFUSED, "refused", f"{words}{more}")


def _list(ctx: click.Context, page: Json) -> None:
    if wants_json(ctx):
        print_json(page)
        return
    items = page["items"]
    if not items:
        say("nothing is stuck")
        return
    rows = [(i["id"], i["kind"], clock(i["since"]), short(i["error"], 200)) for i in items]
    print_table(("id", "is a", "since", "why"), rows)
    say(("mend the cause, then: windlass retry-stuck --all", "dim"))


def _everything(server: Client) -> Iterator[Json]:
    """Each once, also when there are more than one answer holds; what is stuck again meanwhile is left."""
    seen: set[tuple[str, str]] = set()
    while True:
        fresh = [item for item in server.stuck()["items"] if (item["kind"], item["id"]) not in seen]
        if not fresh:
            return
        seen.update((item["kind"], item["id"]) for item in fresh)
        yield from fresh


def _retry(
    server: Client, items: Iterable[Json], tell: Tell, *, quiet: bool
) -> tuple[list[Json], list[tuple[str, str]]]:
    """Each in turn: what the server answered, and what it refused."""
    done: list[Json] = []
    refused: list[tuple[str, str]] = []
    for item in items:
        try:
            answer = server.retry_stuck(item["id"], item["kind"])
        except Refused as error:
            refused.append((item["id"], str(error)))
        else:
            done.append(answer)
            if not quiet:
                say((item["id"], "bold"), ": ", coloured(answer["status"]))
        tell(len(done) + len(refused), None)
    return done, refused
