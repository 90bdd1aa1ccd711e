"""`windlass secret`: keep values that steps may use and nobody may read."""

from __future__ import annotations

import sys

import click
from click.types import StringParamType

from windlass.cli.ending import Ended, Exit
from windlass.cli.screen import print_json, print_table, say
from windlass.cli.shared import client, sharing, wants_json
from windlass.core import secret_refs
from windlass.core.errors import Invalid
from windlass.core.task import Json
from windlass.vault import keys


class Name(StringParamType):
    name = "name"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not secret_refs.is_name(value):
            advice = "use letters, digits, _ and -, at most 64, and no digit or - at its beginning"
            self.fail(f"{value!r} cannot be the name of a secret; {advice}", param, ctx)
        return value


@click.group
def secret() -> None:
    """Keep passwords and keys that steps use and nobody reads.

    A step names one under `with` as {{ secrets.NAME }}; only the worker that runs it sees the value, and
    hides it in whatever the step prints or returns.

    \b
    Examples:
      printf %s "$TOKEN" | windlass secret set GITHUB_TOKEN
      windlass secret set DB_PASSWORD        asks for it
      windlass secret list
    """


@secret.command("set")
@click.argument("name", type=Name())
@sharing()
@click.pass_context
def set_(ctx: click.Context, name: str) -> None:
    """Keep what is read from stdin; asks at a terminal.

    One line break at the end is left off. The value counts from the next attempt at a step.

    \b
    Examples:
      windlass secret set DB_PASSWORD < password.txt
      windlass secret set DB_PASSWORD --namespace billing
    """
    answer = client(ctx).set_secret(name, _value())
    if wants_json(ctx):
        print_json(answer)
    else:
        say((name, "bold"), f": version {answer['version']}")


@secret.command("list")
@sharing()
@click.pass_context
def list_(ctx: click.Context) -> None:
    """List the secrets, but never their values."""
    answer = client(ctx).secrets()
    if wants_json(ctx):
        print_json(answer)
        return
    if not answer["items"]:
        say("no secrets yet: keep one with `windlass secret set NAME`")
        return
    columns = ("secret", "version", "updated", "key", "by")
    print_table(columns, [_row(item) for item in answer["items"]])


@secret.command("delete")
@click.argument("name", type=Name())
@sharing()
@click.pass_context
def delete(ctx: click.Context, name: str) -> None:
    """Forget a secret; steps that name it fail from then on."""
    answer = client(ctx).delete_secret(name)
    if wants_json(ctx):
        print_json(answer)
    else:
        say((name, "bold"), ": deleted")


@secret.command("rotate")
@sharing()
@click.pass_context
def rotate(ctx: click.Context) -> None:
    """Seal all secrets, of all namespaces, with the first key.

    \b
    To change the key: put a new one before the old one on every node (`windlass secret key` makes it),
    restart them, rotate, and take the old one away.
    """
    answer = client(ctx).rotate_secrets()
    if wants_json(ctx):
        print_json(answer)
    else:
        say(f"{answer['resealed']} sealed anew with the key ", (answer["key"], "bold"))
    if answer["locked"]:
        words = f"their key is not on this node: {', '.join(answer['locked'])}"
        if wants_json(ctx):
            ctx.exit(Exit.REFUSED)
        raise Ended(Exit.REFUSED, "locked", words)


@secret.command("key")
def key() -> None:
    """Print a new random key.

    \b
    Example:
      (umask 077; windlass secret key > secrets.key)
    """
    click.echo(keys.new_key())


def _value() -> str:
    if sys.stdin.isatty():
        given: str = click.prompt("Value", hide_input=True, confirmation_prompt=True, err=True)
        return given
    try:
        text = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise Invalid("the value is no UTF-8; encode it as base64") from None
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def _row(item: Json) -> tuple[str, ...]:
    return item["name"], str(item["version"]), item["updatedAt"], item["key"], item["updatedBy"]
