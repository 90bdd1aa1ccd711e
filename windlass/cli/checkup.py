"""What an engine needs of the place where it runs: each check looks at one thing, and says what to do."""

from __future__ import annotations

import asyncio
import fcntl
import os
import platform
import resource
import shutil
import socket
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Literal

import msgspec

from windlass.cli import journal_file
from windlass.cli.journal_file import NotAJournal, megabytes
from windlass.cli.screen import took
from windlass.cli.shared import token
from windlass.config import JOURNAL
from windlass.core.errors import Unavailable, WindlassError
from windlass.core.names import Attempt, RunId, StepId
from windlass.core.task import Task
from windlass.gateway import port as ports
from windlass.sdk.client import Client
from windlass.sdk.refusals import NotReachable
from windlass.worker.orphans import adopt_orphans
from windlass.worker.processes import Processes
from windlass.worker.sandbox import ON_REQUEST, Tried, probe

State = Literal["ok", "warn", "fail"]

PYTHON_MIN: Final = (3, 11)
SQLITE_MIN: Final = (3, 38, 0)  # the journal's tables and views need it
ROOM_FAIL_BYTES: Final = 100_000_000
ROOM_WARN_BYTES: Final = 1_000_000_000
FILES_MIN: Final = 1024
CHECK_S: Final = 30.0  # for reading the whole journal
CHILD_S: Final = 20.0
ANSWER_S: Final = 3.0  # for a server
AHEAD_S: Final = 5.0  # how far the journal may be ahead of our clock
EARLIEST: Final = 1_767_225_600.0  # 2026: Windlass is not older
REMOTE: Final = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "beegfs"}
FLEETING: Final = {"tmpfs", "ramfs"}


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    state: State
    message: str


@dataclass(frozen=True)
class Place:
    """Where an engine runs, or would."""

    data: Path
    host: str
    port: int
    url: str  # of the server to ask
    named: bool  # the user named that server
    environ: Mapping[str, str]
    ca: Path | None = None  # whose certificates to trust

    @property
    def journal(self) -> Path:
        return self.data / JOURNAL

    @cached_property
    def holder(self) -> str | None:
        """Who has the journal open: the lines of its lock, the pid first. None: nobody."""
        try:
            fd = os.open(f"{self.journal.resolve()}.lock", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return os.pread(fd, 200, 0).decode(errors="replace").strip() or "?"
        finally:
            os.close(fd)
        return None

    @property
    def holder_pid(self) -> str:
        return (self.holder or "").partition("\n")[0]


def examine(place: Place) -> Iterator[Finding]:
    """Every check, in the order in which an engine would meet the trouble."""
    for name, look in CHECKS.items():
        try:
            state, message = look(place)
        except OSError as error:
            state, message = "fail", f"{error.strerror or error} ({error.filename or name})"
        yield Finding(name, state, message)


Said = tuple[State, str]


def _python(_place: Place) -> Said:
    if sys.version_info < PYTHON_MIN:
        return "fail", f"{platform.python_version()}: Windlass needs {_dotted(PYTHON_MIN)} or newer"
    if sqlite3.sqlite_version_info < SQLITE_MIN:
        advice = f"Windlass needs {_dotted(SQLITE_MIN)} or newer: use a newer Python or system"
        return "fail", f"its SQLite is {sqlite3.sqlite_version}: {advice}"
    return "ok", f"{platform.python_version()} with SQLite {sqlite3.sqlite_version}"


def _folder(place: Place) -> Said:
    folder = _nearest(place.data)
    if not folder.is_dir():
        return "fail", f"{folder} is a file; name another folder with --data"
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".windlass-doctor-") as file:
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return "fail", f"{folder} cannot be written: {error.strerror}; mend that, or name another with --data"
    if folder != place.data.resolve():
        return "ok", f"{place.data} is not there yet: `windlass up` makes it"
    return "ok", f"{place.data} can be written"


def _disk(place: Place) -> Said:
    folder = _nearest(place.data)
    free, kind = shutil.disk_usage(folder).free, _filesystem(folder)
    room = f"{megabytes(free)} free on {kind}"
    if free < ROOM_FAIL_BYTES:
        return "fail", f"{room}: runs stop when it is full; make room, or name another folder with --data"
    if kind in REMOTE or kind.startswith("fuse."):
        return "warn", f"{room}: a journal is safe on a local disk only; name another folder with --data"
    if kind in FLEETING:
        return "warn", f"{room}: what is kept there is gone when the machine stops"
    if free < ROOM_WARN_BYTES:
        return "warn", f"{room}: make room soon"
    return "ok", room


def _journal(place: Place) -> Said:
    journal = place.journal
    if not journal.exists() or not journal.stat().st_size:
        if journal_file.has_waiting_commits(journal):
            return "fail", f"{journal} is gone, but commits wait beside it; `windlass restore` a backup"
        return "ok", "none yet: `windlass up` makes it"
    mend = "`windlass restore` a backup, or rescue what is left with `sqlite3 … .recover`"
    try:
        with journal_file.opened(journal) as cx:
            found = journal_file.recognise(cx, journal)
            stop_at = time.monotonic() + CHECK_S
            cx.set_progress_handler(lambda: time.monotonic() > stop_at, 10_000)
            journal_file.check(cx, journal)
    except NotAJournal as error:
        if _was_interrupted(error):
            return "warn", f"{journal}: no damage found in {CHECK_S:g} s, and it was not read to its end"
        return "fail", str(error) if "newer Windlass" in str(error) else f"{error}; {mend}"
    if not os.access(journal, os.W_OK):
        return "fail", f"{journal} cannot be written by this user; run as its owner, or change that"
    older = found.schema < journal_file.newest_schema()
    note = f", schema {found.schema}" + (": `windlass up` brings it up to date" if older else "")
    return "ok", f"{megabytes(found.bytes)}, undamaged{note}"


def _lock(place: Place) -> Said:
    if place.holder is None:
        return "ok", "nobody has the journal open"
    pid, _, started = place.holder.partition("\n")
    return "ok", f"held by process {pid}" + (f", started {started}" if started else "")


def _port(place: Place) -> Said:
    address = f"{place.host}:{place.port}"
    if _is_free(place.host, place.port):
        return "ok", f"{address} is free"
    holders = ports.holders(place.host, place.port)
    who = " and ".join(f"process {holder.pid} ({holder.command})" for holder in holders)
    if place.holder_pid in {str(holder.pid) for holder in holders}:
        return "ok", f"{address} is our engine's"
    state: State = "fail" if place.holder is None else "warn"  # our engine may be at another one
    advice = "stop it, or choose another with --port"
    return state, f"{address} is taken by {who or 'a process that we may not look at'}; {advice}"


def _server(place: Place) -> Said:
    with Client(place.url, timeout_s=ANSWER_S, busy_s=1.0, ca=place.ca, token=token()) as client:
        try:
            client.runs(limit=1)
            ready = client.ready()
        except NotReachable as error:
            if place.named:
                return "fail", f"{error}; start one with `windlass up`, or name another with --server"
            if place.holder is None:
                return "ok", "none runs here: start one with `windlass up`"
            silent = f"process {place.holder_pid} has the journal and does not answer at {place.url}"
            return "warn", f"{silent}; name its address with --server"
        except Unavailable:
            ready = False
        except WindlassError as error:
            return "fail" if place.named else "warn", f"{error}; name another address with --server"
    if not ready:
        return "fail", f"{place.url} answers and is not ready: look at its log, and at the disk"
    return "ok", f"{place.url} is ready"


def _clock(place: Place) -> Said:
    now = time.time()
    if now < EARLIEST:
        return "fail", f"it says {time.strftime('%Y-%m-%d %H:%M')}: set it, timers depend on it"
    newest = _newest_start(place.journal)
    if newest is not None and newest > now + AHEAD_S:
        behind = took(newest - now)
        return "fail", f"it is {behind} behind the newest run of the journal: set it, timers depend on it"
    return "ok", time.strftime("%Y-%m-%d %H:%M:%S %Z")


def _processes(_place: Place) -> Said:
    try:
        adopt_orphans()
        os.close(os.pidfd_open(os.getpid()))
    except OSError as error:
        advice = "Windlass needs Linux 5.3 or newer, and a sandbox that allows it"
        return "fail", f"this system does not let us end what steps leave behind: {error.strerror}; {advice}"
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != resource.RLIM_INFINITY and files < FILES_MIN:
        return "warn", f"only {files} files may be open at once; raise that with `ulimit -n {FILES_MIN}`"
    return "ok", "what steps leave behind can be ended"


def _step(place: Place) -> Said:
    """A Python step, started as the worker starts them."""
    with tempfile.TemporaryDirectory(prefix="windlass-doctor-") as folder:
        began = time.monotonic()
        how, answer = asyncio.run(_call(Path(folder), place.environ))
    if how != "answered" or b'"outcome":"ok"' not in answer:
        said = answer.decode(errors="replace")[:200]
        return (
            "fail",
            f"a Python step did not start ({how} {said}); try `{sys.executable} -c 'import windlass'`",
        )
    return "ok", f"a Python step ran in {took(time.monotonic() - began)}"


async def _call(folder: Path, environ: Mapping[str, str]) -> tuple[str, bytes]:
    env = {name: value for name, value in environ.items() if not name.startswith("WINDLASS_")}
    processes = Processes(slots=1, folders=[], cwd=folder, env=env)
    task = Task(
        run=RunId("doctor"),
        step=StepId("step"),
        attempt=Attempt(1),
        kind="python",
        with_={"call": "platform:python_version", "args": {}},
    )
    try:
        ended = await processes.run_python(msgspec.json.encode(task), timeout_s=CHILD_S)
        return ended.how, ended.answer
    finally:
        await processes.close()


def _sandbox(_place: Place) -> Said:
    """Where programs of steps of kind code would run: every tier, whether it works, and if not, why."""
    return sandboxes_said(asyncio.run(_tiers()))


async def _tiers() -> list[Tried]:
    return [*await probe(), *await probe(ON_REQUEST)]


def sandboxes_said(tried: Sequence[Tried]) -> Said:
    """The best first; that which has to be asked for, last."""
    works = [one for one in tried if one.works and one.name != ON_REQUEST]
    each = "; ".join(
        f"{_asked(one.name)} {'works' if one.works else f'does not: {one.reason}'}" for one in tried
    )
    if not works:
        return "warn", f"none works here of itself, so steps of kind code do not run. {each}"
    held = [name for name, holds in msgspec.structs.asdict(works[0].protections).items() if not holds]
    return "ok", works[0].name + (f", which does not bound {', '.join(held)}. " if held else ". ") + each


def _asked(name: str) -> str:
    return f"{name} (with --sandbox {name})" if name == ON_REQUEST else name


CHECKS: Final[dict[str, Callable[[Place], Said]]] = {
    "python": _python,
    "data folder": _folder,
    "disk": _disk,
    "journal": _journal,
    "lock": _lock,
    "port": _port,
    "server": _server,
    "clock": _clock,
    "processes": _processes,
    "steps": _step,
    "sandbox": _sandbox,
}


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _nearest(folder: Path) -> Path:
    """The folder, or the one in which it would be made."""
    place = folder.resolve()
    while not place.exists():
        place = place.parent
    return place


def _filesystem(folder: Path) -> str:
    """Its type, as the kernel names it: of the mount that lies nearest above."""
    device = os.stat(folder).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if before.split()[2] == wanted:
            return after.split()[0]
    return "an unknown disk"


def _was_interrupted(error: NotAJournal) -> bool:
    code = getattr(error.__cause__, "sqlite_errorcode", None)
    return code == sqlite3.SQLITE_INTERRUPT


def _is_free(host: str, port: int) -> bool:
    if port == 0:
        return True
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, proto) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError:
        return False
    return True


def _newest_start(journal: Path) -> float | None:
    """When the newest run was started; None if nobody can say."""
    if not journal.exists():
        return None
    try:
        with journal_file.opened(journal) as cx:
            (at,) = cx.execute("SELECT max(started_at) FROM runs WHERE namespace = 'default'").fetchone()
    except sqlite3.Error:
        return None
    return None if at is None else float(at)
