"""The options that every command has: which server, and JSON instead of tables."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

import click

from windlass.config import Config
from windlass.sdk.client import DEFAULT_URL, Client

SERVER: Final = "windlass.server"
CA: Final = "windlass.ca"
JSON: Final = "windlass.json"
NAMESPACE: Final = "windlass.namespace"
TOKEN: Final = "WINDLASS_TOKEN"  # only as a variable: options can be seen by every user of the machine

P = ParamSpec("P")
R = TypeVar("R")


def sharing(*, environment: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """--server, --ca, --namespace and --json, before or after the command's name; kept in the context."""

    def add(function: Callable[P, R]) -> Callable[P, R]:
        server = click.option(
            "--server",
            metavar="URL",
            envvar="WINDLASS_URL" if environment else None,
            show_envvar=environment,
            help=f"The engine to talk to.  [default: {DEFAULT_URL}]",
            expose_value=False,
            callback=_keep(SERVER),
        )
        ca = click.option(
            "--ca",
            metavar="FILE",
            type=click.Path(dir_okay=False, exists=True, path_type=Path),
            envvar="WINDLASS_CA" if environment else None,
            show_envvar=environment,
            help="Whose certificates to trust, for https.  [default: whom this machine trusts]",
            expose_value=False,
            callback=_keep(CA),
        )
        namespace = click.option(
            "--namespace",
            metavar="NAME",
            envvar="WINDLASS_NAMESPACE" if environment else None,
            show_envvar=environment,
            help="Whose workflows and runs are meant.  [default: the token's, or `default`]",
            expose_value=False,
            callback=_keep(NAMESPACE),
        )
        as_json = click.option(
            "--json",
            "as_json",
            is_flag=True,
            help="Print JSON, and nothing else.",
            expose_value=False,
            callback=_keep(JSON),
        )
        return as_json(namespace(ca(server(function))))

    return add


def data_option(function: Callable[P, R]) -> Callable[P, R]:
    """--data, as `up` has it, for commands that look into the folder themselves."""
    return click.option(
        "--data",
        type=click.Path(file_okay=False, path_type=Path),
        default=Config().data,
        show_default=True,
        envvar="WINDLASS_DATA",
        help="The folder of the journal.",
    )(function)


def client(ctx: click.Context, *, patience_s: float | None = None) -> Client:
    server = Client(
        ctx.meta.get(SERVER) or DEFAULT_URL, ca=named_ca(ctx), token=token(), namespace=named_namespace(ctx)
    )
    if patience_s is not None:
        server.patience_s = patience_s
    ctx.call_on_close(server.close)
    return server


def named_server(ctx: click.Context) -> str | None:
    """The server that the user named, by option or variable."""
    return ctx.meta.get(SERVER)


def named_ca(ctx: click.Context) -> Path | None:
    """Whom to trust, as the user named it."""
    return ctx.meta.get(CA)


def named_namespace(ctx: click.Context) -> str:
    return ctx.meta.get(NAMESPACE) or ""


def token() -> str:
    """What we show where there is a login."""
    return os.environ.get(TOKEN, "").strip()


def wants_json(ctx: click.Context) -> bool:
    return bool(ctx.meta.get(JSON))


def _keep(name: str) -> Callable[[click.Context, click.Parameter, object], None]:
    def keep(ctx: click.Context, _parameter: click.Parameter, value: object) -> None:
        if value:
            ctx.meta[name] = value

    return keep
