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
import gc
import logging
import os
import random
import secrets
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import uvloop

from windlass.alone import lone_node
from windlass.config import Config
from windlass.core.errors import WindlassError
from windlass.core.log import Bounds
from windlass.core.names import SessionId, WorkerId
from windlass.engine.node import Node, NodeSettings
from windlass.engine.surroundings import Settings
from windlass.gateway.http import make_app, serve_http
from windlass.journal import Store, StoreError
from windlass.journal.sqlite import SqliteStore
from windlass.worker.builtin import builtin_worker
from windlass.worker.orphans import adopt_orphans
from windlass.worker.session import LocalWorker

log = logging.getLogger(__name__)

KINDS: Final = frozenset({"noop", "python", "shell", "http"})  # of steps, that the built-in worker runs
GRACE_S: Final = 2.0  # for steps that run when the engine is asked to stop
LOOK_S: Final = 0.01
LAST_LINES_S: Final = 1.0  # for what steps printed at the very end
STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AT_ONCE: Final = 130
EVERYWHERE: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # and how to get there from here


class CannotStart(WindlassError):
    """Something outside has to be changed first; the message says what."""


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
    # Events and rows are many and hold no cycles: looking for some after every 700 of them costs a tenth.
    gc.set_threshold(50_000, 20, 50)
    # The journal's threads need the interpreter for a moment only: do not make them wait 5 ms for it.
    sys.setswitchinterval(0.0005)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            runner.run(_serve(config, environ, welcome))
        except StoreError as error:  # full, read-only, or locked by another program, when it was to begin
            raise _unusable(config, str(error)) from None


async def _serve(config: Config, environ: Mapping[str, str], welcome: Welcome) -> None:
    began = time.monotonic()
    adopt_orphans()
    stop = asyncio.Event()
    with _one_error(), _signals(stop):
        async with _journal(config) as store, asyncio.TaskGroup() as group:
            node = lone_node(
                store,
                _settings(config),
                wall=time.time,
                chance=random.Random(),
                address=f"{config.host}:{config.port}",
            )
            holding = group.create_task(node.serve(), name="node")
            async with _worker(config, environ, node) as worker, _door(config, node) as url:
                await _either(node.ready, stop)
                if not stop.is_set():
                    ready = Ready(url, config.data, node.stats.recovered, time.monotonic() - began)
                    await _welcome_until(stop, ready, welcome)
                log.info("stopping")
                await _let_end(worker)
            await node.logbook.drain(LAST_LINES_S)
            holding.cancel()
    log.info("stopped")


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


def _settings(config: Config) -> NodeSettings:
    return NodeSettings(
        shards=config.shards,
        retention_s=config.retention_s,
        logs=_log_bounds(config),
        shard=Settings(
            idle_s=config.idle_s,
            live_max=max(1, config.live_max // config.shards),
            snapshot_every=config.snapshot_every,
            delete_on_snapshot=config.delete_on_snapshot,
        ),
    )


def _log_bounds(config: Config) -> Bounds:
    return Bounds(lines=config.log_lines, bytes=config.log_bytes)


@contextlib.asynccontextmanager
async def _worker(config: Config, environ: Mapping[str, str], node: Node) -> AsyncIterator[LocalWorker]:
    ident = WorkerId("local")
    async with builtin_worker(
        id=ident,
        # Another one each time: what the last one held when its process died is known to be lost.
        session=SessionId(secrets.token_hex(8)),
        slots=config.slots,
        folders=[*_folders(config), config.data.resolve()],
        data=config.data.resolve(),
        environ=environ,
        report=partial(node.report, ident),
        on_free=node.dispatcher.match,
        capabilities=KINDS | frozenset(config.capabilities),
        on_printed=node.log,
        log_bounds=_log_bounds(config),
    ) as worker:
        node.employ(worker)
        try:
            yield worker
        finally:
            # Before the worker closes: it must be offered nothing any more.
            node.dismiss(worker.session, "the engine was stopped")


@contextlib.asynccontextmanager
async def _door(config: Config, node: Node) -> AsyncIterator[str]:
    try:
        runner, port = await serve_http(make_app(node), config.host, config.port)
    except OSError as error:
        advice = "choose another --host or --port"
        raise CannotStart(
            f"cannot listen on {config.host}:{config.port}: {error.strerror}; {advice}"
        ) from None
    try:
        host = EVERYWHERE.get(config.host, config.host)
        yield f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    finally:
        await runner.cleanup()


def _folders(config: Config) -> list[Path]:
    """Where the functions of python steps are: beside a file, in a folder, or here for a module."""
    found: dict[Path, None] = {}
    for name in config.app:
        path = Path(name)
        found[(path if path.is_dir() else path.parent if path.is_file() else Path()).resolve()] = None
    return list(found)


async def _let_end(worker: LocalWorker) -> None:
    """Take nothing new, and give what runs a moment: a step that ends now need not be done again."""
    worker.slots = 0
    for _ in range(round(GRACE_S / LOOK_S)):
        if not worker.held():
            return
        await asyncio.sleep(LOOK_S)
    log.info("steps are stopped", extra={"steps": len(worker.held())})


async def _welcome_until(stop: asyncio.Event, ready: Ready, welcome: Welcome) -> None:
    if ready.recovered:
        log.info("runs recovered", extra={"runs": ready.recovered})
    extra = {"url": ready.url, "data": str(ready.data), "took_s": round(ready.took_s, 3), "pid": os.getpid()}
    log.info("ready", extra=extra)
    async with asyncio.TaskGroup() as group:
        greeting = group.create_task(welcome(ready), name="welcome")
        await stop.wait()
        greeting.cancel()


async def _either(*events: asyncio.Event) -> None:
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(event.wait()) for event in events]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()


@contextlib.contextmanager
def _signals(stop: asyncio.Event) -> Iterator[None]:
    loop = asyncio.get_running_loop()

    def asked(number: int) -> None:
        # Only Ctrl-C twice is impatience: who ends a process group, or `make`, may send SIGTERM twice.
        if stop.is_set() and number == signal.SIGINT:
            os._exit(AT_ONCE)  # what this process started dies with it; the journal is whole at every moment
        stop.set()

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, asked, number)
    try:
        yield
    finally:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)


@contextlib.contextmanager
def _one_error() -> Iterator[None]:
    """A group of one error is that error: what the user has to change is not wrapped."""
    try:
        yield
    except BaseExceptionGroup as group:
        only: BaseException = group
        while isinstance(only, BaseExceptionGroup) and len(only.exceptions) == 1:
            only = only.exceptions[0]
        raise only from None
