"""`windlass node`"""

from __future__ import annotations

import importlib
import json
import logging
import os
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import click

from windlass import __version__
from windlass.cli import settings
from windlass.cli.configuring import configured, not_right
from windlass.cli.ending import Exit
from windlass.cli.engine_log import set_up_log
from windlass.cli.screen import say, took
from windlass.cli.shared import sharing, wants_json
from windlass.config import NodeConfig, how_locked
from windlass.core.errors import Invalid, WindlassError

engine_log = logging.getLogger("windlass.serve")

# Imported once there is something to serve: help, and the mistakes of a configuration, need nothing of it.
SERVER: Final = "windlass.serve_node"


class Ready(Protocol):
    """What is known once the node is in the cluster, and ready."""

    @property
    def name(self) -> str: ...
    @property
    def address(self) -> str:
        """host:port, where others reach it."""

    @property
    def url(self) -> str:
        """How to reach it from here."""

    @property
    def cluster(self) -> str: ...
    @property
    def nodes(self) -> int:
        """How many are alive, this one included."""

    @property
    def took_s(self) -> float: ...


Welcome = Callable[[Ready], Coroutine[None, None, None]]


class Run(Protocol):
    def __call__(self, config: NodeConfig, environ: Mapping[str, str], welcome: Welcome) -> None: ...


@click.command
@configured(settings.SETTINGS, settings.usual)
@sharing()
@click.pass_context
def node(ctx: click.Context, /, file: Path | None, **options: Any) -> None:  # Any: as click reads them
    """Start a node of a cluster, with a worker.

    Nodes that name the same database are one cluster: each joins by itself, shares the work, and takes over
    from those that die. Ctrl-C and SIGTERM hand everything over first.

    Settings can also be given as variables, --slots as WINDLASS_SLOTS and so on, or in a file: options go
    before variables, and variables before the file. A password in a command line is seen by all users of a
    machine: better use WINDLASS_DATABASE, PGPASSWORD or ~/.pgpass.

    \b
    Examples:
      windlass node --database postgresql://localhost/windlass
      windlass node --config node.toml --listen 127.0.0.1:2552 --roles engine
    """
    try:
        found = settings.read_file(file) if file is not None else {}
        config = settings.resolve(options, os.environ, found, file_name=str(file or ""))
    except Invalid as invalid:
        raise not_right(invalid, as_json=wants_json(ctx)) from None
    set_up_log(config.log, config.verbose)
    for_people = config.log == "text" and not wants_json(ctx)
    for name in settings.seed_nodes(os.environ):
        _note(name, for_people)
    try:
        run: Run = importlib.import_module(SERVER).run
        run(config, os.environ, partial(_welcome, config, for_people, wants_json(ctx)))
    except WindlassError:
        raise
    except Exception:
        engine_log.critical("the node failed", exc_info=True)
        ctx.exit(Exit.FAILED)
    if for_people:
        say("stopped")


def _note(name: str, for_people: bool) -> None:
    if for_people:
        say((f"noted: {name} is not needed, the nodes meet in the database", "dim"))
    else:
        engine_log.info("not needed, the nodes meet in the database", extra={"variable": name})


async def _welcome(config: NodeConfig, for_people: bool, as_json: bool, ready: Ready) -> None:
    try:
        if as_json:
            _greet_json(ready)
        elif for_people:
            _greet(ready)
            say((f"  {how_locked(config, config.host)}", "dim"))
    except OSError as error:
        # Nobody reads it any more. That is no reason to stop.
        engine_log.warning("the welcome cannot be shown", extra={"reason": str(error)})


def _greet(ready: Ready) -> None:
    name = "" if ready.name == ready.address else f"{ready.name} at "
    others = "alone" if ready.nodes == 1 else f"one of {ready.nodes} nodes"
    lasted = f" after {took(ready.took_s)}" if ready.took_s >= 1 else ""
    place = f" is in cluster {ready.cluster}, {others}"
    say(f"Windlass {__version__}: node {name}", (ready.url, "bold"), place, (lasted, "dim"))


def _greet_json(ready: Ready) -> None:
    body = {
        "name": ready.name,
        "address": ready.address,
        "url": ready.url,
        "cluster": ready.cluster,
        "nodes": ready.nodes,
        "pid": os.getpid(),
        "tookSeconds": round(ready.took_s, 3),
    }
    click.echo(json.dumps(body))
