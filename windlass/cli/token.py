"""`windlass token`"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from windlass.cli.screen import clock, print_json, print_table, say
from windlass.cli.shared import client, named_namespace, sharing, wants_json
from windlass.core.roles import ROLES, Role


@click.group
@sharing()
def token() -> None:
    """Make, list and revoke tokens: who may come in.

    A server that was started with --login answers only who shows a token. Make the first one at the database
    itself, with --data (of `windlass up`) or --database (of a cluster), and put it into WINDLASS_TOKEN.

    \b
    Examples:
      windlass token create --role admin --name me --data .windlass
      windlass token create --role submit --namespace reports --expires 90d
      windlass token list
      windlass token revoke 7Qm2xkV0aB
    """


def _where(function: Callable[..., None]) -> Callable[..., None]:
    """Not by a server, but at the database itself."""
    data = click.option(
        "--data",
        type=click.Path(file_okay=False, exists=True, path_type=Path),
        help="Do it in the journal of this folder, without asking a server.",
    )
    database = click.option(
        "--database",
        metavar="URL",
        help="Do it in this database of a cluster, without asking a server; WINDLASS_DATABASE will not do.",
    )
    schema = click.option("--schema", default="windlass", show_default=True, help="Of the cluster's tables.")
    return data(database(schema(function)))


@token.command
@click.option("--role", required=True, type=click.Choice(ROLES), help="What it may do: see docs/access.md.")
@click.option("--name", default="", metavar="TEXT", help="Whose it is, for lists and the audit log.")
@click.option("--expires", metavar="DURATION", help="When it ends by itself, e.g. 90d.  [default: never]")
@_where
@sharing()
@click.pass_context
def create(
    ctx: click.Context,
    role: Role,
    name: str,
    expires: str | None,
    data: Path | None,
    database: str | None,
    schema: str,
) -> None:
    """Make a token, and show it this once.

    --namespace says what it may speak of; `*` is all of them, as it always is for an admin.
    """
    namespace = named_namespace(ctx) or None

    where = _where_named(data, database, schema)
    if where is not None:
        answer = _direct().create_token(where, role, namespace=namespace, name=name, expires=expires)
    else:
        server = client(ctx)
        server.namespace = ""  # it is what the token is for, not where we ask
        answer = server.create_token(role, namespace=namespace, name=name, expires=expires)
    if wants_json(ctx):
        print_json(answer)
        return
    click.echo(answer["token"])
    of = "all namespaces" if answer["namespace"] == "*" else f"the namespace {answer['namespace']}"
    click.echo(f"{answer['role']} of {of}; it is shown only now: put it into WINDLASS_TOKEN", err=True)


@token.command("list")
@_where
@sharing()
@click.pass_context
def list_(ctx: click.Context, data: Path | None, database: str | None, schema: str) -> None:
    """List tokens, without their secrets, and when each was used last."""

    where = _where_named(data, database, schema)
    items = client(ctx).tokens()["items"] if where is None else _direct().list_tokens(where)
    if wants_json(ctx):
        print_json(items)
        return
    columns = ["id", "name", "role", "namespace", "state", "created", "last used"]
    print_table(
        columns,
        [
            [
                item["id"], item["name"], item["role"], item["namespace"], item["state"],
                clock(item["createdAt"]), clock(item["usedAt"]) if item["usedAt"] else "never",
            ]
            for item in items
        ],
    )  # fmt: skip


@token.command
@click.argument("number", metavar="ID")
@_where
@sharing()
@click.pass_context
def revoke(ctx: click.Context, number: str, data: Path | None, database: str | None, schema: str) -> None:
    """Refuse a token from now on; every node does within a second."""

    where = _where_named(data, database, schema)
    answer = client(ctx).revoke_token(number) if where is None else _direct().revoke_token(where, number)
    if wants_json(ctx):
        print_json(answer)
    else:
        say((number, "bold"), ": revoked")


def _where_named(data: Path | None, database: str | None, schema: str) -> Any:
    """Where to do it without a server, if that was said: a `direct.Where`, which is known only then."""
    if data is not None and database is not None:
        raise click.UsageError("name --data or --database, not both")
    if data is None and database is None:
        return None
    return _direct().Where(data, database or "", schema)


def _direct() -> ModuleType:
    """Half an engine, which only those need who work at the database itself."""
    return importlib.import_module("windlass.direct")
