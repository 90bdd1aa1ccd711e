"""`windlass up`"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, get_args

import click

from windlass import direct, serve
from windlass.cli import app_files, documents, readers
from windlass.cli.code_settings import CODE_SETTINGS
from windlass.cli.documents import Document
from windlass.cli.ending import Exit
from windlass.cli.engine_log import set_up_log
from windlass.cli.file_settings import FILE_SETTINGS
from windlass.cli.fleet_settings import FLEET_SETTINGS, SEED_SETTINGS
from windlass.cli.lock_settings import LOCK_SETTINGS
from windlass.cli.screen import say
from windlass.cli.setting import Setting
from windlass.cli.setting_options import options_of, said, said_elsewhere
from windlass.cli.shared import sharing, wants_json
from windlass.cli.values import seconds
from windlass.cli.welcome import bring, greet, greet_json, own_client, try_examples
from windlass.config import Config, LogFormat, how_locked, lock_faults, setting_of, unlocked
from windlass.core import durations
from windlass.core.errors import WindlassError
from windlass.direct import Where
from windlass.fleet_config import fleet_faults
from windlass.sdk.client import Client

engine_log = logging.getLogger("windlass.serve")

USUAL: Final = Config()


def _there(_ctx: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Each names something to find functions in: a module, a file or a folder."""
    for name in given:
        if not Path(name).exists() and not _is_module(name):
            raise click.BadParameter(f"there is no module, file or folder {name!r} here")
    return given


def _each_word(_ctx: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """A variable may hold several, with commas between them."""
    return tuple(word for text in given for word in text.split(",") if word)


def _usual(setting: Setting) -> str:
    """The default, as the user would write it."""
    value = getattr(USUAL, setting.fields[0])
    if isinstance(value, float) and setting.read is readers.span:
        return durations.show(value)
    return str(value) if value else ""


def _is_module(name: str) -> bool:
    """Whether Python steps could import it: here, or where packages are installed."""
    if not all(part.isidentifier() for part in name.split(".")):
        return False
    here = Path(*name.split("."))
    if here.with_suffix(".py").is_file() or here.is_dir():
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


@click.command
@click.argument("apps", metavar="[APP.py]...", nargs=-1, type=click.Path(dir_okay=False))
@click.option(
    "--host",
    default=USUAL.host,
    show_default=True,
    envvar="WINDLASS_HOST",
    help="Where to listen. Without a login, only requests to a name of this machine are answered.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=USUAL.port,
    show_default=True,
    envvar="WINDLASS_PORT",
    help="0: any free one.",
)
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    default=USUAL.data,
    show_default=True,
    envvar="WINDLASS_DATA",
    help="The folder of the journal.",
)
@click.option(
    "--app",
    metavar="MODULE",
    multiple=True,
    callback=_there,
    envvar="WINDLASS_APP",
    help="Where python steps find their functions; may be repeated.  [default: this folder]",
)
@click.option(
    "--slots",
    type=click.IntRange(1, 10_000),
    default=USUAL.slots,
    show_default=True,
    envvar="WINDLASS_SLOTS",
    help="How many steps run at the same time.",
)
@click.option(
    "--capability",
    "capabilities",
    metavar="NAME",
    multiple=True,
    callback=_each_word,
    envvar=["WINDLASS_CAPABILITY", "SUPPORTED_EXECUTORS"],
    help="What this worker offers to steps that require it, e.g. gpu; may be repeated.",
)
@click.option("--examples", is_flag=True, help="Bring example workflows, and run one.")
@click.option(
    "--retention",
    metavar="DURATION",
    callback=seconds,
    default=durations.show(USUAL.retention_s),
    show_default=True,
    envvar="WINDLASS_RETENTION",
    help="How long the events of ended runs are kept.",
)
@click.option(
    "--delete-on-snapshot",
    is_flag=True,
    envvar="WINDLASS_DELETE_ON_SNAPSHOT",
    help="Delete events that snapshots stand for.",
)
@click.option(
    "--snapshot-every",
    type=click.IntRange(1),
    metavar="EVENTS",
    default=USUAL.snapshot_every,
    show_default=True,
    envvar="WINDLASS_SNAPSHOT_EVERY",
    help="How often a run is written down whole.",
)
@click.option(
    "--idle",
    metavar="DURATION",
    callback=seconds,
    default=durations.show(USUAL.idle_s),
    show_default=True,
    envvar="WINDLASS_IDLE",
    help="When a run that nobody speaks to leaves memory.",
)
@click.option(
    "--live-max",
    type=click.IntRange(1),
    metavar="RUNS",
    default=USUAL.live_max,
    show_default=True,
    envvar="WINDLASS_LIVE_MAX",
    help="How many runs stay in memory.",
)
@click.option(
    "--shards",
    type=click.IntRange(1, 10_000),
    default=USUAL.shards,
    show_default=True,
    envvar="WINDLASS_SHARDS",
    help="Written once, into a new data folder.",
)
@click.option(
    "--log-lines",
    type=click.IntRange(1, 10_000_000),
    metavar="LINES",
    default=USUAL.log_lines,
    show_default=True,
    envvar="WINDLASS_LOG_LINES",
    help="How much is kept of what one attempt at a step prints; of a run ten times as much.",
)
@click.option(
    "--log-bytes",
    type=click.IntRange(1, 1 << 30),
    metavar="BYTES",
    default=USUAL.log_bytes,
    show_default=True,
    envvar="WINDLASS_LOG_BYTES",
    help="The same in bytes: whichever is reached first.",
)
@click.option("--log", type=click.Choice(get_args(LogFormat)), default=USUAL.log, envvar="WINDLASS_LOG")
@click.option("-v", "--verbose", count=True, envvar="WINDLASS_VERBOSE", help="Log more; -vv logs everything.")
@options_of(CODE_SETTINGS)
@options_of(FILE_SETTINGS)
@options_of(FLEET_SETTINGS, _usual)
@options_of(LOCK_SETTINGS)
@sharing()
@click.pass_context
def up(
    ctx: click.Context,
    /,
    apps: tuple[str, ...],
    host: str,
    port: int,
    data: Path,
    app: tuple[str, ...],
    slots: int,
    capabilities: tuple[str, ...],
    examples: bool,
    retention: float,
    delete_on_snapshot: bool,
    snapshot_every: int,
    idle: float,
    live_max: int,
    shards: int,
    log_lines: int,
    log_bytes: int,
    log: LogFormat,
    verbose: int,
    **others: Any,  # Any: each has its own type
) -> None:
    """Start an engine here, with a worker.

    Everything is kept in the data folder. Ctrl-C stops it; what was running goes on at the next start.
    The workflows in APP.py are saved, and its functions are found. Options can also be given as variables:
    --port as WINDLASS_PORT, and so on.

    \b
    Examples:
      windlass up --examples
      windlass up app.py
      windlass up --port 2551 --data /var/lib/windlass --app reports.py
    """
    brought = _brought(apps)
    of_fleet, of_locks = said(others, FLEET_SETTINGS), said(others, LOCK_SETTINGS)
    of_code, of_files = said(others, CODE_SETTINGS), said(others, FILE_SETTINGS)
    of_seed, places = said_elsewhere(SEED_SETTINGS, os.environ, of_fleet)
    config = Config(
        host=host,
        port=port,
        data=data,
        app=(*apps, *app) or USUAL.app,
        slots=slots,
        capabilities=capabilities,
        shards=shards,
        retention_s=retention,
        delete_on_snapshot=delete_on_snapshot,
        idle_s=idle,
        live_max=live_max,
        snapshot_every=snapshot_every,
        log_lines=log_lines,
        log_bytes=log_bytes,
        examples=examples,
        log=log,
        verbose=verbose,
        **of_fleet,
        **of_seed,
        **of_locks,
        **of_code,
        **of_files,
    )
    _refuse_nonsense(config, {setting_of(field): name for field, name in places.items()})
    set_up_log(config.log, config.verbose)
    try:
        serve.run(config, os.environ, partial(_welcome, config, brought, wants_json(ctx)))
    except WindlassError:
        raise
    except Exception:
        engine_log.critical("the engine failed", exc_info=True)
        ctx.exit(Exit.FAILED)
    if config.log == "text" and not wants_json(ctx):
        say("stopped")


def _refuse_nonsense(config: Config, elsewhere: Mapping[str, str]) -> None:
    """`elsewhere`: variables of other systems by the settings they gave."""
    faults = [*unlocked(config, config.host, config.port), *lock_faults(config), *fleet_faults(config)]
    if faults:
        places = {"listen": "--host", **elsewhere}
        named = [f"{places.get(fault.pointer, f'--{fault.pointer}')}: {fault.message}" for fault in faults]
        raise click.UsageError("\n".join(named))


def _brought(apps: tuple[str, ...]) -> list[Document]:
    """All of their workflows, each once. Raises a usage error for files that are in each other's way."""
    app_files.check_names(apps)
    found: dict[str, Document] = {}
    for document in (document for file in apps for document in _workflows_of(file)):
        other = found.setdefault(document.workflow, document)
        if other.body != document.body:
            where = f"both {other.file} and {document.file} have"
            raise click.UsageError(f"{where} a workflow {document.workflow}; give one another id")
    return list(found.values())


def _workflows_of(file: str) -> list[Document]:
    """Before anything is started: who wrote them has to mend them first."""
    if not file.endswith(app_files.SUFFIX):
        raise click.UsageError(f"{file} is no file of Python; save other documents with `windlass apply`")
    return documents.read_all(file)


def _client(config: Config, ready: serve.Ready) -> Client:
    """Of our own engine, whatever its lock is."""
    token = ""
    if config.login:
        made = direct.create_token(
            Where(config.data), "operator", namespace=None, name="examples", expires="10m"
        )
        token = made["token"]
    return own_client(ready.url, certificate=config.tls_cert, token=token)


async def _welcome(config: Config, brought: list[Document], as_json: bool, ready: serve.Ready) -> None:
    quiet = as_json or config.log == "json"
    try:
        if as_json and not brought:
            greet_json(ready)
        elif config.log == "text" and not as_json:
            locked = how_locked(config, config.host)
            first = "nightly-report" if config.examples else "FILE.yaml"
            greet(ready, first=brought[0].workflow if brought else first, locked=locked, login=config.login)
        if brought:
            await asyncio.to_thread(_bring, config, ready, brought, quiet=quiet)
        if as_json and brought:
            greet_json(ready)  # whoever waits for this line finds the workflows there
        if config.examples:
            await asyncio.to_thread(_try_examples, config, ready, quiet=quiet)
    except OSError as error:
        # Nobody reads it any more. That is no reason to stop.
        engine_log.warning("the welcome cannot be shown", extra={"reason": str(error)})


def _bring(config: Config, ready: serve.Ready, brought: list[Document], *, quiet: bool) -> None:
    with _client(config, ready) as server:
        bring(server, brought, quiet=quiet)


def _try_examples(config: Config, ready: serve.Ready, *, quiet: bool) -> None:
    with _client(config, ready) as server:
        try_examples(server, quiet=quiet)
