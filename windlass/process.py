"""What every program of ours that serves does alike: its loop, its signals, its built-in worker, its end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import uvloop

from windlass.assignment import Functions
from windlass.core import fleet
from windlass.core.assign.policy import STRATEGIES
from windlass.core.errors import WindlassError
from windlass.core.log import Bounds
from windlass.core.names import SessionId, WorkerId
from windlass.engine.node import Node
from windlass.fleet_config import FleetConfig
from windlass.outward import Rule
from windlass.vault import Keyring, keys
from windlass.worker.builtin import builtin_worker
from windlass.worker.code_tools import CodeTools
from windlass.worker.session import LocalWorker

log = logging.getLogger("windlass.serve")

# Of steps, that the built-in worker runs.
KINDS: Final = frozenset({"noop", "python", "shell", "http", "pipeline"})
LOOK_S: Final = 0.01
STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AT_ONCE: Final = 130
EVERYWHERE: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # and how to get there from here


class CannotStart(WindlassError):
    """Something outside has to be changed first; the message says what."""


def run_loop(main: Coroutine[None, None, None]) -> None:
    """Run to the end on a loop that is tuned for many small things."""
    # Events and rows are many and hold no cycles: looking for some after every 700 of them costs a tenth.
    gc.set_threshold(50_000, 20, 50)
    # The journal's threads need the interpreter for a moment only: do not make them wait 5 ms for it.
    sys.setswitchinterval(0.0005)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)


@contextlib.asynccontextmanager
async def employed(
    node: Node,
    *,
    id: WorkerId,
    slots: int,
    capabilities: Sequence[str],
    folders: Sequence[Path],
    data: Path,
    environ: Mapping[str, str],
    log_bounds: Bounds,
    http_rule: Rule,
    code: CodeTools | None = None,
    files: Sequence[Path] = (),
) -> AsyncIterator[LocalWorker]:
    """The built-in worker, at work for this node. It offers code once it has found what it can run."""
    # Another one each time: what the last one held when its process died is known to be lost.
    session = SessionId(secrets.token_hex(8))
    async with builtin_worker(
        id=id,
        session=session,
        slots=slots,
        folders=folders,
        data=data,
        environ=environ,
        report=partial(node.report, id),
        on_free=node.dispatcher.match,
        capabilities=KINDS | frozenset(capabilities),
        on_printed=node.log,
        on_progress=lambda task, details: node.dispatcher.progress(task.name, session, details),
        log_bounds=log_bounds,
        resolve=node.secrets.open,
        clock=node.clock.now,
        http_rule=http_rule,
        code=code,
        files=files,
    ) as worker:
        node.employ(worker)
        looking = asyncio.create_task(_offer_code(node, worker, code, data), name="languages")
        try:
            yield worker
        finally:
            looking.cancel()
            await asyncio.wait([looking])
            # Before the worker closes: it must be offered nothing any more.
            node.dismiss(worker.session, "the engine was stopped")


async def _offer_code(node: Node, worker: LocalWorker, code: CodeTools | None, data: Path) -> None:
    """Looking may take a second or two: nobody who starts an engine has to wait for that."""
    if code is None:
        return
    await node.ready.wait()
    try:
        await code.look(data=data)
    except Exception:
        log.exception("looking for languages failed: no code is run here")
        return
    if code.capabilities:
        worker.capabilities |= code.capabilities
        _offer(node, worker)


def _offer(node: Node, worker: LocalWorker) -> None:
    """It can do more than when it came: here, and for the nodes that hear of it."""
    seen = node.dispatcher.index.get(worker.session)
    if seen is not None:
        offered = tuple(sorted(worker.capabilities))
        seen.facts = msgspec.structs.replace(seen.facts, capabilities=offered)
        fleet.register(seen, offered, seen.heard_at)
        node.dispatcher.index.put(seen)
        node.dispatcher.match()


def keyring_of(file: Path | None, environ: Mapping[str, str], *, own: Path | None = None) -> Keyring:
    """The keys of secrets: in a file, in a variable, or in a file of our own that is made when it is missing.

    Raises Invalid. Without any of them the ring is empty, and who wants to keep or use a secret is told.
    """
    if file is not None:
        return keys.from_file(file)
    if environ.get(keys.VARIABLE):
        return keys.from_text(environ[keys.VARIABLE], keys.VARIABLE)
    return Keyring() if own is None else keys.from_own_file(own)


def folders_of(apps: Sequence[str]) -> list[Path]:
    """Where the functions of python steps are: beside a file, in a folder, or here for a module."""
    found: dict[Path, None] = {}
    for name in apps:
        path = Path(name)
        found[(path if path.is_dir() else path.parent if path.is_file() else Path()).resolve()] = None
    return list(found)


def strategies_of(config: FleetConfig, apps: Sequence[str]) -> Functions:
    """Ways of the user's to choose a worker. The one that is configured has to be there: raises Invalid."""
    functions = Functions(folders_of(apps))
    if config.assignment not in STRATEGIES:
        functions(config.assignment)
    return functions


async def let_end(worker: LocalWorker, grace_s: float) -> None:
    """Take nothing new, and give what runs a moment: a step that ends now need not be done again."""
    worker.slots = 0
    for _ in range(round(grace_s / LOOK_S)):
        if not worker.held():
            return
        await asyncio.sleep(LOOK_S)
    log.info("steps are stopped", extra={"steps": len(worker.held())})


async def either(*events: asyncio.Event) -> None:
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(event.wait()) for event in events]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()


@contextlib.contextmanager
def stopped_by_signals(stop: asyncio.Event) -> Iterator[None]:
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
def one_error() -> Iterator[None]:
    """A group of one error is that error: what the user has to change is not wrapped."""
    try:
        yield
    except BaseExceptionGroup as group:
        only: BaseException = group
        while isinstance(only, BaseExceptionGroup) and len(only.exceptions) == 1:
            only = only.exceptions[0]
        raise only from None


def url_of(host: str, port: int, *, tls: bool = False) -> str:
    host, scheme = EVERYWHERE.get(host, host), "https" if tls else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
