"""The process that becomes the job's program: what it puts on before, limit by limit.

It is forked by the keeper before there is a job, and waits: to go into a control group takes the kernel a
long moment, which is over when the order comes. Standard library only.
"""

from __future__ import annotations

import marshal
import os
import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from windlass.worker.minder.tree import PR_SET_PDEATHSIG, prctl
from windlass.worker.sandbox import bubblewrap, cgroup, gvisor, landlock, rlimits, seccomp, stage
from windlass.worker.sandbox.talk import NotStarted, Order, sealed

ANY = 2**50  # bytes: as good as no limit
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/proc/self")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
EVERY_FAMILY = tuple(range(46))
DEFAULTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ)
SIZE_BYTES = 8


@dataclass(frozen=True, slots=True)
class Ends:
    """What the keeper made for it before: its ends of pipes, and where its orders come from."""

    relay: socket.socket
    out: int
    err: int
    fault: int  # what went wrong; it closes when the program begins
    status: int = -1  # what bubblewrap tells the keeper,
    block: int = -1  # and what it waits for


def relay(
    to: socket.socket, order: Order, *, folder: str, work: str, places: Sequence[str], stdin: int
) -> None:
    """The keeper's word to go. What the job is to read is its own, not charged to its memory."""
    left = {name: value for name, value in order.items() if name not in ("stdin", "files")}
    raw = marshal.dumps((left, folder, work, list(places)))
    socket.send_fds(to, [len(raw).to_bytes(SIZE_BYTES, "little")], [stdin])
    to.sendall(raw)


def wait_and_run(ends: Ends, group: cgroup.Group | None, user: int) -> NoReturn:
    """In a fork of the keeper. Whatever fails is said through `ends.fault`."""
    try:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # The worker's socket must not stay open because of us.
        os.dup2(os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC), 0)
        if group is not None:
            group.join()
        size, fds, _, _ = socket.recv_fds(ends.relay, SIZE_BYTES, 1)
        if not size:
            os._exit(0)  # there is no job
        os.set_inheritable(fds[0], False)  # fds that come this way are
        raw = ends.relay.recv(int.from_bytes(size, "little"), socket.MSG_WAITALL)
        order, folder, work, places = marshal.loads(raw)
        for number in DEFAULTS:
            signal.signal(number, signal.SIG_DFL)
        for ours, its in ((fds[0], 0), (ends.out, 1), (ends.err, 2)):
            os.dup2(ours, its)
        _Program(order, user, folder, work, places, ends).run()
    except BaseException as error:
        os.write(ends.fault, (str(error) or repr(error)).encode()[:1000])
    finally:
        os._exit(127)


@dataclass(frozen=True, slots=True)
class _Program:
    order: dict[str, Any]  # Any: what marshal makes
    user: int
    folder: str
    work: str
    places: list[str]
    ends: Ends

    def run(self) -> NoReturn:
        if self.order["tier"] == "bubblewrap":
            self._bubblewrapped()
        if self.order["tier"] == "gvisor":
            gvisor.run(self.order, user=self.user, folder=self.folder, work=self.work)
        self._plain()

    def _enter(self) -> None:
        """What every tier has in common."""
        limits, without = self.order["limits"], self.order["without"]
        if os.geteuid() == 0:
            stage.become(self.user)
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # anew: a change of user takes it away
        rlimits.apply(
            cpu_s=ANY if "cpu" in without else limits["cpu_s"],
            open_files=limits["open_files"],
            file_bytes=ANY if "disk" in without else limits["disk_bytes"],
            memory_bytes=0 if "memory_watched" in without else limits["memory_bytes"],
        )

    def _bubblewrapped(self) -> NoReturn:
        order, without = self.order, self.order["without"]
        words = bubblewrap.arguments(
            env=order["env"],
            stage=self.folder,
            readable=list(zip(self.places, order["readable"], strict=True)),
            network=order["limits"]["network"] or "network" in without,
            without=without,
            disable_userns=order["disable_userns"],
        )
        passed = [self.ends.status, self.ends.block]
        words += ["--json-status-fd", str(passed[0]), "--block-fd", str(passed[1])]
        if "seccomp" not in without:
            passed.append(sealed("seccomp", self._filter()))
            words += ["--seccomp", str(passed[-1])]
        passed.append(sealed("arguments", b"".join(os.fsencode(word) + b"\0" for word in words)))
        # What stands here, and the environment, the job can read: those of the first process in there.
        argv = [order["bwrap"], "--args", str(passed[-1]), "--", *order["argv"]]
        self._enter()
        for fd in passed:
            os.set_inheritable(fd, True)
        os.execve(argv[0], argv, order["worker_env"])

    def _plain(self) -> NoReturn:
        """Without namespaces: under Landlock, or under limits alone."""
        order, limits, without = self.order, self.order["limits"], self.order["without"]
        own = {**bubblewrap.ENVIRONMENT, "HOME": self.work, "TMPDIR": self.work}
        env = {**order["worker_env"], **own, **order["env"]}
        # The kernel counts all processes of a user; a root worker's job has a user of its own.
        others = 0 if os.geteuid() == 0 else rlimits.processes_of(self.user) - 1
        sandboxed = order["tier"] == "landlock"
        etc = bubblewrap.ETC + (bubblewrap.ETC_NETWORK if limits["network"] else ())
        readable = [*SYSTEM, *(f"/etc/{name}" for name in etc), *order["readable"]]
        self._enter()
        os.setsid()
        os.chdir(self.work)
        if "processes" not in without:
            rlimits.limit_processes(others + limits["processes"])
        prctl(seccomp.PR_SET_NO_NEW_PRIVS, 1)
        if sandboxed and "filesystem" not in without:
            landlock.restrict(readable=readable, writable=[self.work], devices=DEVICES)
        if sandboxed and "seccomp" not in without:
            seccomp.apply(self._filter())
        try:
            os.execvpe(order["argv"][0], order["argv"], env)
        except OSError as error:
            raise NotStarted(f"{order['argv'][0]}: {error.strerror}") from error

    def _filter(self) -> bytes:
        """Where the host's network is, its abstract sockets are within reach: then there are no unix ones."""
        wrapped, without = self.order["tier"] == "bubblewrap", self.order["without"]
        inet = (seccomp.AF_INET, seccomp.AF_INET6)
        families: tuple[int, ...] = (seccomp.AF_UNIX, *inet) if wrapped else ()
        if self.order["limits"]["network"]:
            families = (*inet, seccomp.AF_NETLINK)
        elif not wrapped and "network" in without:
            families = EVERY_FAMILY
        return seccomp.program(os.uname().machine, families=families)
