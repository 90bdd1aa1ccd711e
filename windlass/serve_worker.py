"""A worker, wired: its home, its crewman, what runs its tasks, and the loop for async steps.

    node ◄── WebSocket ── crewman ◄── spool
                            ▲ │
                            │ ▼
                          worker ──► processes, and a thread for async steps

Told to stop, it takes nothing new, finishes what it can, returns the rest, and leaves.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import re
import secrets
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from windlass import __version__
from windlass.config import DATA
from windlass.core.addresses import networks
from windlass.core.log import Bounds
from windlass.core.names import SessionId
from windlass.core.task import Task
from windlass.gateway.tls import ClientTls, watched
from windlass.load import Probe
from windlass.outward import Rule
from windlass.process import (
    KINDS,
    CannotStart,
    either,
    folders_of,
    one_error,
    run_loop,
    stopped_by_signals,
)
from windlass.wire import crew
from windlass.wire.crew import Greet
from windlass.worker.builtin import builtin_worker
from windlass.worker.code_tools import CodeTools, tools_of
from windlass.worker.config import WorkerConfig
from windlass.worker.crewman import Crewman
from windlass.worker.dialing import Caller
from windlass.worker.home import Home, open_home
from windlass.worker.machine import Machine
from windlass.worker.orphans import adopt_orphans
from windlass.worker.session import LocalWorker
from windlass.worker.streams import caught_streams
from windlass.worker.user_loop import UserLoop

log = logging.getLogger("windlass.serve.worker")

STUCK_GRACE_S: Final = 10.0  # for steps in processes, when the loop of the async ones is lost


@dataclass(frozen=True, slots=True)
class Ready:
    """What is known once a node has welcomed the worker."""

    name: str
    node: str
    address: str  # of the node
    folder: Path
    slots: int
    took_s: float


Welcome = Callable[[Ready], None]


class StuckStep(CannotStart):
    """An async step does not stop: only the end of the process ends it."""


def run(config: WorkerConfig, environ: Mapping[str, str], welcome: Welcome) -> None:
    """Work until SIGINT, SIGTERM or SIGHUP, or an operator's order; a second Ctrl-C ends the process at once.

    Raises WindlassError when it cannot start, or is not wanted. While no node is there it waits for one.
    """
    run_loop(_serve(config, environ, welcome))


async def _serve(config: WorkerConfig, environ: Mapping[str, str], welcome: Welcome) -> None:
    adopt_orphans()
    stop, stuck, environ = asyncio.Event(), list[Task](), dict(environ)
    folders = folders_of(config.app)
    tools = tools_of(config, environ)
    tls = ClientTls(_whole(config.tls_ca), _whole(config.tls_cert), _whole(config.tls_key))

    def on_stuck(task: Task) -> None:
        stuck.append(task)
        stop.set()

    with one_error(), stopped_by_signals(stop):
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(watched(tls))
            home = _home(config)
            stack.callback(home.spool.close)
            caller = Caller(token=_token(config), trust=lambda: tls.context)
            stack.push_async_callback(caller.close)
            _settle_in(home)
            if tools is not None:
                await tools.look(data=home.folder)  # what it offers is in its greeting
            crewman = _crewman(config, home, caller, welcome, tools)
            stack.enter_context(caught_streams())
            loop = stack.enter_context(UserLoop([str(folder) for folder in folders], on_stuck))
            working = _working(config, home, crewman, folders, environ, loop, tools)
            worker = await stack.enter_async_context(working)
            async with asyncio.TaskGroup() as group:
                serving = group.create_task(crewman.serve(worker), name="crewman")
                await either(stop, crewman.told_to_leave)
                await _leave(crewman, config, stuck)
                serving.cancel()
    log.info("stopped")
    if stuck:
        raise StuckStep(f"the async step {'/'.join(map(str, stuck[0].name))} did not stop; the worker had to")


def _working(
    config: WorkerConfig,
    home: Home,
    crewman: Crewman,
    folders: Sequence[Path],
    environ: Mapping[str, str],
    loop: UserLoop,
    code: CodeTools | None,
) -> contextlib.AbstractAsyncContextManager[LocalWorker]:
    """What runs the tasks: the same that is built into a node, and async steps beside it."""
    return builtin_worker(
        id=home.name,
        session=SessionId(""),  # of the crewman
        slots=config.slots,
        folders=folders,
        data=home.folder,
        environ=environ,
        report=crewman.report,
        on_printed=crewman.printed,
        on_progress=crewman.progress,
        resolve_for=crewman.resolve_for,
        log_bounds=Bounds(config.log_lines, config.log_bytes),
        http_rule=Rule(config.http_private == "allow", networks(config.allow_network)),
        memory_bytes=config.memory_bytes,
        recycle=config.recycle,
        user_loop=loop,
        code=code,
        files=config.files,
    )


async def _leave(crewman: Crewman, config: WorkerConfig, stuck: list[Task]) -> None:
    log.info("stopping: no new tasks are taken")
    grace_s = min(config.grace_s, STUCK_GRACE_S) if stuck else config.grace_s
    reason = "an async step blocks the worker" if stuck else "the worker was stopped"
    if returned := await crewman.leave(grace_s, reason):
        log.warning("tasks were returned", extra={"tasks": returned})


def _home(config: WorkerConfig) -> Home:
    host = re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname())
    try:
        made_up = f"{host or 'worker'}-{secrets.token_hex(3)}"
        return open_home(config.data, config.name, above=DATA, made_up=made_up)
    except OSError as error:
        advice = "name another folder with --data"
        raise CannotStart(f"the data folder cannot be used: {error}; {advice}") from None


def _settle_in(home: Home) -> None:
    """Async steps run in this process: they find what those in processes of their own find."""
    os.chdir(home.folder)
    for name in [name for name in os.environ if name.startswith("WINDLASS_")]:
        del os.environ[name]


def _whole(path: Path | None) -> Path | None:
    """It is read again and again, and the working folder will change."""
    return None if path is None else path.resolve()


def _token(config: WorkerConfig) -> Callable[[], str]:
    file = _whole(config.token_file)
    return (lambda: config.token) if file is None else (lambda: file.read_text().strip())


def _crewman(
    config: WorkerConfig, home: Home, caller: Caller, welcome: Welcome, code: CodeTools | None
) -> Crewman:
    began = time.monotonic()
    probe = Probe()
    welcomed: list[str] = []
    offered = KINDS | set(config.capabilities) | (code.capabilities if code is not None else set())

    def on_welcome(node: str, address: str) -> None:
        if not welcomed:
            took_s = time.monotonic() - began
            welcome(Ready(home.name, node, address, home.folder, config.slots, took_s))
        welcomed.append(node)
        del welcomed[1:]

    return Crewman(
        Greet(
            crew.LOWEST,
            crew.HIGHEST,
            worker=home.name,
            session=secrets.token_hex(8),
            slots=config.slots,
            capabilities=tuple(sorted(offered)),
            namespaces=config.namespaces,
            labels=config.labels,
            host=socket.gethostname(),
            host_group=config.host_group,
            weight=config.weight,
            program=f"windlass {__version__}",
        ),
        dial=caller,
        addresses=config.connect,
        spool=home.spool,
        chance=random.Random(),
        clock=time.time,
        stopwatch=time.perf_counter,  # the loop's clock may count milliseconds, and trips are shorter
        load=Machine(lambda: probe().memory),
        on_welcome=on_welcome,
    )
