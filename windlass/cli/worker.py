"""`windlass worker`"""

from __future__ import annotations

import importlib
import json
import logging
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import click

from windlass import __version__
from windlass.cli import worker_settings
from windlass.cli.configuring import configured, not_right
from windlass.cli.ending import Ending, Exit
from windlass.cli.engine_log import set_up_log
from windlass.cli.screen import say
from windlass.cli.settings import read_file
from windlass.cli.shared import sharing, wants_json
from windlass.core.errors import Invalid, WindlassError
from windlass.worker.config import WorkerConfig
from windlass.worker.rejections import Dismissed

log = logging.getLogger("windlass.serve")

# Imported once there is something to do: help, and the mistakes of a configuration, need nothing of it.
SERVER: Final = "windlass.serve_worker"


class Ready(Protocol):
    """What is known once a node has welcomed the worker."""

    @property
    def name(self) -> str: ...
    @property
    def node(self) -> str: ...
    @property
    def address(self) -> str:
        """Of the node."""

    @property
    def folder(self) -> Path: ...
    @property
    def slots(self) -> int: ...
    @property
    def took_s(self) -> float: ...


Welcome = Callable[[Ready], None]


class Run(Protocol):
    def __call__(self, config: WorkerConfig, environ: Mapping[str, str], welcome: Welcome) -> None: ...


@click.command
@configured(worker_settings.SETTINGS, worker_settings.usual)
@sharing()
@click.pass_context
def worker(ctx: click.Context, /, file: Path | None, **options: Any) -> None:  # Any: as click reads them
    """Start a worker: it connects to a node, and runs tasks.

    It stays with one of the nodes that it was told of, and goes to another if that one dies; what it runs
    goes on meanwhile. Ctrl-C and SIGTERM: it takes nothing new, finishes what it can, and returns the rest.

    Settings can also be given as variables, --slots as WINDLASS_SLOTS and so on, or in a file: options go
    before variables, and variables before the file.

    \b
    Examples:
      windlass worker --connect ws://localhost:8080 --app steps.py
      WINDLASS_TOKEN=… windlass worker --connect wss://a:8080,wss://b:8080 --slots 4 --capabilities gpu
    """
    try:
        found = read_file(file) if file is not None else {}
        config = worker_settings.resolve(options, os.environ, found, file_name=str(file or ""))
    except Invalid as invalid:
        raise not_right(invalid, as_json=wants_json(ctx)) from None
    set_up_log(config.log, config.verbose)
    for_people = config.log == "text" and not wants_json(ctx)
    try:
        run: Run = importlib.import_module(SERVER).run
        run(config, os.environ, partial(_welcome, for_people, wants_json(ctx)))
    except Dismissed as dismissed:
        kind = f"dismissed: {dismissed.code}"
        raise Ending(Exit.REFUSED, str(dismissed), kind=kind, as_json=wants_json(ctx)) from None
    except WindlassError:
        raise
    except Exception:
        log.critical("the worker failed", exc_info=True)
        ctx.exit(Exit.FAILED)
    if for_people:
        say("stopped")


def _welcome(for_people: bool, as_json: bool, ready: Ready) -> None:
    try:
        if as_json:
            click.echo(json.dumps(_as_json(ready)))
        elif for_people:
            place = f" is with node {ready.node} at "
            say(f"Windlass {__version__}: worker ", (ready.name, "bold"), place, ready.address)
            say((f"  {ready.slots} slots, in {ready.folder}", "dim"))
    except OSError as error:
        # Nobody reads it any more. That is no reason to stop.
        log.warning("the welcome cannot be shown", extra={"reason": str(error)})


def _as_json(ready: Ready) -> dict[str, object]:
    return {
        "name": ready.name,
        "node": ready.node,
        "address": ready.address,
        "folder": str(ready.folder),
        "slots": ready.slots,
        "pid": os.getpid(),
        "tookSeconds": round(ready.took_s, 3),
    }
