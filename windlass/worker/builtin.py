"""The worker that comes with an engine: every kind but `wait`, which the engine does itself."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from windlass.core.log import Bounds
from windlass.core.names import SessionId, WorkerId
from windlass.outward import ANYWHERE, Rule
from windlass.worker.code_tools import CodeTools
from windlass.worker.executors import Executor
from windlass.worker.executors.async_python import AsyncPython
from windlass.worker.executors.code import Code
from windlass.worker.executors.http import Http
from windlass.worker.executors.noop import Noop
from windlass.worker.executors.pipeline import FILES, Pipeline, processes_of
from windlass.worker.executors.python import Python
from windlass.worker.executors.shell import Shell
from windlass.worker.lines import Log, Tell
from windlass.worker.minder import RECYCLE
from windlass.worker.processes import Processes
from windlass.worker.progress import Heartbeats, OnProgress, nobody
from windlass.worker.secrets import Resolve, no_secrets
from windlass.worker.session import LocalWorker, Report, ResolveFor
from windlass.worker.user_loop import UserLoop

SHELL_NAMES = {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"}
SHELL_NAMES |= {"SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"}


@asynccontextmanager
async def builtin_worker(
    *,
    id: WorkerId,
    session: SessionId,
    slots: int,
    folders: Sequence[Path],
    data: Path,
    environ: Mapping[str, str],
    report: Report,
    on_free: Callable[[], None] = lambda: None,
    capabilities: frozenset[str] = frozenset(),
    on_printed: Tell = lambda task, printed: None,
    log_bounds: Bounds = Bounds(),  # noqa: B008  # frozen
    resolve: Resolve = no_secrets,
    resolve_for: ResolveFor | None = None,
    clock: Callable[[], float] = time.time,
    http_rule: Rule = ANYWHERE,
    on_progress: OnProgress = nobody,
    memory_bytes: int = 0,
    recycle: int = RECYCLE,
    user_loop: UserLoop | None = None,
    code: CodeTools | None = None,
    files: Sequence[Path] = (),
) -> AsyncIterator[LocalWorker]:
    """Runs inside; on leaving, every task is stopped and every process has ended.

    `folders` is where Python steps are looked up (--app first, then --data); `environ` is the
    engine's environment. `on_printed` is called with what tasks print, while they run, and before `report`.
    `http_rule` says which addresses http steps may call. `on_progress` hears how far tasks say that they are.
    `memory_bytes` is what each process of a step may use (0: any number); a Python child is replaced after
    `recycle` steps. Async functions of python steps run in `user_loop`; without one, in children, too.
    With `code` it runs code steps; what of that it offers is said by `capabilities`.
    `files` is where stages of pipelines read and write files; none: a folder in `data`.
    """
    log = Log(on_printed, log_bounds, clock)
    heartbeats = Heartbeats(on_progress)
    processes = Processes(
        slots=slots,
        folders=folders,
        cwd=data,
        env=python_environment(environ),
        memory_bytes=memory_bytes,
        recycle=recycle,
    )
    apart = processes_of(slots=slots, cwd=data, env=python_environment(environ), memory_bytes=memory_bytes)
    python = Python(processes, log, heartbeats)
    http = Http(http_rule)
    executors: dict[str, Executor] = {
        "noop": Noop(),
        "python": python if user_loop is None else AsyncPython(user_loop, log, heartbeats, python),
        "shell": Shell(processes, log, cwd=data, env=shell_environment(environ)),
        "http": http,
        "pipeline": Pipeline(apart, log, heartbeats, folders=files or (data / FILES,)),
    }
    if code is not None:
        executors["code"] = Code(code, log, data=data)
    try:
        async with LocalWorker(
            id=id,
            session=session,
            slots=slots,
            capabilities=capabilities,
            executors=executors,
            report=report,
            on_free=on_free,
            resolve=resolve,
            resolve_for=resolve_for,
            heartbeats=heartbeats,
            clock=clock,
        ) as worker:
            yield worker
    finally:
        await http.close()
        await processes.close()
        await apart.close()


def shell_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What programs need to find their way; what else a step needs, it says under `env`."""
    return {
        name: value
        for name, value in environ.items()
        if name.upper() in SHELL_NAMES or name.startswith("LC_")
    }


def python_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """All but the engine's own settings: the users' code reads its settings from there."""
    return {name: value for name, value in environ.items() if not name.startswith("WINDLASS_")}
