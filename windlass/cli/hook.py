"""`windlass hook`"""

from __future__ import annotations

from typing import IO, get_args

import click

from windlass.cli.ids import WORKFLOW
from windlass.cli.screen import clock, print_json, print_table, say
from windlass.cli.shared import client, sharing, wants_json
from windlass.cli.values import text_pairs
from windlass.core.inbound import Check
from windlass.core.task import Json


@click.group
@sharing()
def hook() -> None:
    """Let programs outside start runs, or send them signals.

    Each hook has an address and a secret of its own; docs/hooks.md says how senders show or sign with it.

    \b
    Examples:
      windlass hook create deploy --workflow deploy --check github --event push
      windlass hook create paid --signal payment --run body.metadata.run --check stripe --secret-file s.txt
      windlass hook list
    """


@hook.command
@click.argument("name")
@click.option("--workflow", metavar="ID", type=WORKFLOW, help="Start runs of this one.")
@click.option("--signal", metavar="NAME", help="Send a run this signal instead.")
@click.option("--run", metavar="PATH", help="Where the id of that run is: body.metadata.run, query.run.")
@click.option("--check", type=click.Choice(get_args(Check)), default="secret", show_default=True)
@click.option("--event", "events", metavar="NAME", multiple=True, help="Only these; may be repeated.")
@click.option(
    "-i",
    "--input",
    "input_",
    metavar="K=PATH",
    multiple=True,
    callback=text_pairs,
    help="Inputs of the run: ref=body.ref.  [default: {body, headers, query}]",
)
@click.option("--label", "labels", metavar="K=V", multiple=True, callback=text_pairs, help="For its runs.")
@click.option(
    "--delivery", metavar="PATH", help="What numbers a delivery.  [default: a header of the sender]"
)
@click.option(
    "--secret-file", type=click.File(), help="The secret that the sender has chosen, in a file, or -."
)
@click.option("--new-secret", is_flag=True, help="Make a new one for a hook that is there.")
@sharing()
@click.pass_context
def create(
    ctx: click.Context,
    name: str,
    workflow: str | None,
    signal: str | None,
    run: str | None,
    check: str,
    events: tuple[str, ...],
    input_: dict[str, str],
    labels: dict[str, str],
    delivery: str | None,
    secret_file: IO[str] | None,
    new_secret: bool,
) -> None:
    """Make a hook, or change it, and show its address, and a new secret this once."""
    if (workflow is None) == (signal is None and run is None):
        raise click.UsageError("say what a delivery does: --workflow ID, or --signal NAME and --run PATH")
    rule: dict[str, Json] = {
        "action": "signal" if workflow is None else "start",
        "workflow": workflow,
        "signal": signal,
        "run": run,
        "check": check,
        "events": list(events) or None,
        "input": input_ or None,
        "labels": labels or None,
        "delivery": delivery,
        "secret": secret_file.read().strip() if secret_file is not None else None,
        "rotateSecret": new_secret or None,
    }
    server = client(ctx)
    made = server.put_inbound_hook(name, {key: value for key, value in rule.items() if value is not None})
    url = f"{server.url.rstrip('/')}{made['path']}"
    if wants_json(ctx):
        print_json({**made, "url": url})
        return
    say((name, "bold"), f": {_does(made)}")
    say("its address:")
    click.echo(url)
    if made["secret"]:
        say("its secret, which is not shown again:")
        click.echo(made["secret"])


@hook.command("list")
@sharing()
@click.pass_context
def list_(ctx: click.Context) -> None:
    """List the hooks of the namespace."""
    answer = client(ctx).inbound_hooks()
    if wants_json(ctx):
        print_json(answer)
        return
    if not answer["items"]:
        say("no hooks yet: make one with `windlass hook create NAME --workflow ID`")
        return
    rows = [
        (item["name"], item["check"], clock(item["updatedAt"]), item["path"], _does(item))
        for item in answer["items"]
    ]
    print_table(("hook", "check", "changed", "path", "does"), rows)


@hook.command
@click.argument("name")
@sharing()
@click.pass_context
def delete(ctx: click.Context, name: str) -> None:
    """Take nothing more from it."""
    answer = client(ctx).delete_inbound_hook(name)
    if wants_json(ctx):
        print_json(answer)
    else:
        say((name, "bold"), ": deleted")


def _does(item: Json) -> str:
    what = f"starts {item['workflow']}"
    if item["action"] == "signal":
        what = f"sends {item['signal']} to the run at {item['run']}"
    events = f" on {', '.join(item['events'])}" if item["events"] else ""
    return f"{what}{events}"
