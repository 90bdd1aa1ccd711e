"""`windlass webhook`"""

from __future__ import annotations

import click

from windlass.cli.ending import Ended, Exit
from windlass.cli.screen import clock, print_json, print_table, say
from windlass.cli.shared import client, sharing, wants_json
from windlass.core.notices import WHATS
from windlass.core.task import Json


@click.group
@sharing()
def webhook() -> None:
    """Tell another program when runs fail, are stuck, or are well again.

    It is sent JSON by POST, signed with a secret that is shown once; docs/webhooks.md says how to check it.

    \b
    Examples:
      windlass webhook add https://example.org/hooks/windlass --on failed --on stuck
      windlass webhook add https://example.org/hooks/nightly --on failed --workflow nightly-report
      windlass webhook test wh_5f3a09bc11d2e487
    """


@webhook.command
@click.argument("url")
@click.option(
    "--on", "on", multiple=True, required=True, type=click.Choice(WHATS), help="Of what; may be repeated."
)
@click.option(
    "--workflow", metavar="ID", help="Only of runs of this workflow.  [default: of all in the namespace]"
)
@sharing()
@click.pass_context
def add(ctx: click.Context, url: str, on: tuple[str, ...], workflow: str | None) -> None:
    """Make a webhook, and show its secret this once."""
    made = client(ctx).create_webhook(url, on=on, workflow=workflow)
    if wants_json(ctx):
        print_json(made)
        return
    say((made["id"], "bold"), f": {', '.join(made['on'])} of {_whose(made)}")
    say("its secret, which is not shown again:")
    click.echo(made["secret"])


@webhook.command("list")
@sharing()
@click.pass_context
def list_(ctx: click.Context) -> None:
    """List the webhooks of the namespace."""
    answer = client(ctx).webhooks()
    if wants_json(ctx):
        print_json(answer)
        return
    if not answer["items"]:
        say("no webhooks yet: make one with `windlass webhook add URL --on failed`")
        return
    rows = [
        (item["id"], item["url"], ", ".join(item["on"]), _whose(item), clock(item["createdAt"]))
        for item in answer["items"]
    ]
    print_table(("webhook", "url", "on", "of", "made"), rows)


@webhook.command
@click.argument("ident", metavar="WEBHOOK")
@sharing()
@click.pass_context
def delete(ctx: click.Context, ident: str) -> None:
    """Tell it nothing more, not even what it has not heard yet."""
    answer = client(ctx).delete_webhook(ident)
    if wants_json(ctx):
        print_json(answer)
    else:
        say((ident, "bold"), ": deleted")


@webhook.command("test")
@click.argument("ident", metavar="WEBHOOK")
@sharing()
@click.pass_context
def test_(ctx: click.Context, ident: str) -> None:
    """Send it one event now, and say what came back."""
    answer = client(ctx).test_webhook(ident)
    if wants_json(ctx):
        print_json(answer)
        ctx.exit(Exit.SUCCEEDED if answer["delivered"] else Exit.REFUSED)
    if not answer["delivered"]:
        raise Ended(Exit.REFUSED, "not_delivered", f"{ident}: {answer['error']}")
    say((ident, "bold"), f": delivered, it answered {answer['status']}")


def _whose(item: Json) -> str:
    return item["workflow"] or "all workflows"
