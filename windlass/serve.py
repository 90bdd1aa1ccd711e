"""One engine process, wired: the journal, the node, its worker and the HTTP door. It alone sees everything.

    journal ◄── node ◄── door
                 ▲ │
                 │ ▼
                worker

They start in that order and stop in the other: the door closes, what runs may end, the rest is given back.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from windlass import __version__, reach
from windlass.alone import lone_node, task_key
from windlass.config import Config
from windlass.core.log import Bounds
from windlass.core.names import WorkerId
from windlass.engine.fleet import FleetSettings
from windlass.engine.node import Node, NodeSettings
from windlass.engine.surroundings import Settings
from windlass.fleet_config import fleet_settings, loss_settings
from windlass.gateway.http import make_app, serve_http
from windlass.gateway.tls import watched
from windlass.journal import Store, StoreError
from windlass.journal.sqlite import SqliteStore
from windlass.listener import book_of, server_tls
from windlass.load import Probe
from windlass.locks import locks_of
from windlass.outward.webhooks import WebhookPost
from windlass.process import (
    CannotStart,
    either,
    employed,
    folders_of,
    keyring_of,
    let_end,
    one_error,
    run_loop,
    stopped_by_signals,
    strategies_of,
    url_of,
)
from windlass.vault import keys
from windlass.worker.code_tools import tools_of
from windlass.worker.orphans import adopt_orphans
from windlass.worker.session import LocalWorker

log = logging.getLogger(__name__)

GRACE_S: Final = 2.0  # for steps that run when the engine is asked to stop
LAST_LINES_S: Final = 1.0  # for what steps printed at the very end


@dataclass(frozen=True, slots=True)
class Ready:
    """What is known once the engine is ready."""

    url: str
    data: Path
    recovered: int  # runs that were at work when the engine stopped
    took_s: float  # since `run` was called


Welcome = Callable[[Ready], Coroutine[None, None, None]]


def run(config: Config, environ: Mapping[str, str], welcome: Welcome) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP; a second Ctrl-C ends the process at once.

    `welcome` is awaited once the engine is ready, while it serves. Raises WindlassError when it cannot start.
    """
    try:
        run_loop(_serve(config, environ, welcome))
    except StoreError as error:  # full, read-only, or locked by another program, when it was to begin
        raise _unusable(config, str(error)) from None


async def _serve(config: Config, environ: Mapping[str, str], welcome: Welcome) -> None:
    began = time.monotonic()
    adopt_orphans()
    stop = asyncio.Event()
    custom = strategies_of(config, config.app)
    with one_error(), stopped_by_signals(stop):
        async with (
            _journal(config) as store,
            _post(config, environ) as post,
            asyncio.TaskGroup() as group,
        ):
            node = lone_node(
                store,
                _settings(config, environ),
                wall=time.time,
                chance=random.Random(),
                address=f"{config.host}:{config.port}",
                version=__version__,
                probe=Probe(refuse_memory=float("inf")),  # nobody else could take the runs it refused
                keyring=post.keyring,
                post=post,
                custom=custom,
                task_key=await task_key(store),
            )
            holding = group.create_task(node.serve(), name="node")
            async with _worker(config, environ, node) as worker, _door(config, node) as url:
                await either(node.ready, stop)
                if not stop.is_set():
                    ready = Ready(url, config.data, node.stats.recovered, time.monotonic() - began)
                    await _welcome_until(stop, ready, welcome)
                log.info("stopping")
                await let_end(worker, GRACE_S)
            await node.logbook.drain(LAST_LINES_S)
            holding.cancel()
    log.info("stopped")


def _post(config: Config, environ: Mapping[str, str]) -> WebhookPost:
    """The keys may lie in the data folder, which is there by now."""
    keyring = keyring_of(config.secrets_key_file, environ, own=config.data / keys.FILE)
    return WebhookPost(keyring, reach.for_webhooks(config))


@contextlib.asynccontextmanager
async def _journal(config: Config) -> AsyncIterator[Store]:
    try:
        config.data.mkdir(0o700, parents=True, exist_ok=True)
    except OSError as error:
        advice = "name another folder with --data"
        raise CannotStart(
            f"the data folder {config.data} cannot be made: {error.strerror}; {advice}"
        ) from None
    try:
        store = await SqliteStore.open(config.journal)
    except OSError as error:
        raise _unusable(config, error.strerror or str(error)) from None
    try:
        await _check_shards(store, config)
        yield store
    finally:
        await store.close()


def _unusable(config: Config, reason: str) -> CannotStart:
    advice = "mend that, or name another folder with --data"
    return CannotStart(f"the journal {config.journal} cannot be written: {reason}; {advice}")


async def _check_shards(store: Store, config: Config) -> None:
    kept = await store.setting("shards", str(config.shards))
    if kept != str(config.shards):
        raise CannotStart(
            f"{config.journal} was made with {kept} shards, and {config.shards} are asked for: the number "
            f"cannot be changed; start with --shards {kept}, or with another --data"
        )


def _settings(config: Config, environ: Mapping[str, str]) -> NodeSettings:
    return NodeSettings(
        shards=config.shards,
        retention_s=config.retention_s,
        namespace_tasks=config.namespace_tasks,
        token_tasks=config.token_tasks,
        logs=_log_bounds(config),
        shard=Settings(
            idle_s=config.idle_s,
            live_max=max(1, config.live_max // config.shards),
            snapshot_every=config.snapshot_every,
            delete_on_snapshot=config.delete_on_snapshot,
            **loss_settings(config),
        ),
        fleet=FleetSettings(**fleet_settings(config, environ)),
    )


def _log_bounds(config: Config) -> Bounds:
    return Bounds(lines=config.log_lines, bytes=config.log_bytes)


def _worker(
    config: Config, environ: Mapping[str, str], node: Node
) -> contextlib.AbstractAsyncContextManager[LocalWorker]:
    return employed(
        node,
        id=WorkerId("local"),
        slots=config.slots,
        capabilities=config.capabilities,
        folders=[*folders_of(config.app), config.data.resolve()],
        data=config.data.resolve(),
        environ=environ,
        log_bounds=_log_bounds(config),
        http_rule=reach.for_steps(config),
        code=tools_of(config, environ),
        files=config.files,
    )


@contextlib.asynccontextmanager
async def _door(config: Config, node: Node) -> AsyncIterator[str]:
    tls, book = server_tls(config), book_of(config, config.host)
    try:
        app = make_app(node, locks=locks_of(config, tls=tls is not None))
        runner, port = await serve_http(app, config.host, config.port, tls=tls, book=book)
    except OSError as error:
        advice = "choose another --host or --port"
        raise CannotStart(
            f"cannot listen on {config.host}:{config.port}: {error.strerror}; {advice}"
        ) from None
    try:
        async with watched(tls):
            yield url_of(config.host, port, tls=tls is not None)
    finally:
        await runner.cleanup()


async def _welcome_until(stop: asyncio.Event, ready: Ready, welcome: Welcome) -> None:
    if ready.recovered:
        log.info("runs recovered", extra={"runs": ready.recovered})
    extra = {"url": ready.url, "data": str(ready.data), "took_s": round(ready.took_s, 3), "pid": os.getpid()}
    log.info("ready", extra=extra)
    async with asyncio.TaskGroup() as group:
        greeting = group.create_task(welcome(ready), name="welcome")
        await stop.wait()
        greeting.cancel()
