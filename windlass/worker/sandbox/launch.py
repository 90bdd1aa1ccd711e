"""Starts a job: its folder, its group, its limits, and at last its program. Standard library only.

Whatever cannot be done as ordered is an error, and the job does not start.
"""

from __future__ import annotations

import os
import socket

from windlass.worker.sandbox import bubblewrap, cgroup, files, program, rlimits, scratch, stage
from windlass.worker.sandbox.program import ANY, Ends
from windlass.worker.sandbox.talk import NotStarted, Order, Stream, read_until, sealed

SETUP_S = 20.0


class Launch:
    """First `get_ready`, before there is a job; then `prepare` and `start` it."""

    def __init__(self, *, wrapped: bool, base: str) -> None:
        """`base`: where a folder on the host's disk is made, for those that have no namespaces."""
        self.wrapped = wrapped
        self.user = stage.slot_user() if os.geteuid() == 0 else os.geteuid()
        self.folder = stage.PLACE if wrapped else ""
        self.work = f"{self.folder}/disk/work"
        self.group: cgroup.Group | None = None
        self.keep = -1  # the host's folder that its files come from and go to
        self.main = 0  # the process that we started
        self.first = 0  # the first process of its pid namespace
        self.streams: list[Stream] = []
        self._base = base
        self._places: list[str] = []
        self._fault = self._told = self._gate = -1

    def get_ready(self, *, grouped: bool) -> None:
        """All that needs no order: the group, the namespace, and the process that goes into both."""
        if grouped:
            self.group = cgroup.Group(cgroup.find(), memory_bytes=0, processes=0)
        if self.wrapped:
            stage.withdraw()
        out, out_w = os.pipe()
        err, err_w = os.pipe()
        self._fault, fault_w = os.pipe()
        self._relay, its = socket.socketpair()
        ends = Ends(its, out_w, err_w, fault_w)
        if self.wrapped:
            self._told, status = os.pipe()
            block, self._gate = os.pipe()
            ends = Ends(its, out_w, err_w, fault_w, status, block)
        self.main = os.fork()
        if self.main == 0:
            self._relay.close()
            program.wait_and_run(ends, self.group, self.user)
        its.close()
        for fd in (ends.out, ends.err, ends.fault, ends.status, ends.block):
            if fd >= 0:
                os.close(fd)
        self.streams = [Stream(out, 1), Stream(err, 2)]

    def prepare(self, order: Order) -> None:
        limits, without = order["limits"], order["without"]
        if self.group is not None:
            self.group.limit(
                memory_bytes=0 if "memory_hard" in without else limits["memory_bytes"],
                processes=0 if "processes" in without else limits["processes"] + 2,
                cores=limits["cores"],
            )
        if order["keep"]:
            self.keep = os.open(order["keep"], os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if self.wrapped:
            self._build_stage(order)
        else:
            self._make_folder()
        work = os.open(self.work, files.FOLDER)
        try:
            if self.keep >= 0:
                files.copy(self.keep, work, self.user)
            files.put(work, order["files"], self.user)
        finally:
            os.close(work)
        for stream in self.streams:
            stream.keep_bytes = ANY if "output" in without else limits["output_bytes"]

    def _build_stage(self, order: Order) -> None:
        limits, without = order["limits"], order["without"]
        stage.shut()
        # Opened before: what we mount may hide them.
        handles = [os.open(path, os.O_PATH | os.O_CLOEXEC) for path in order["readable"]]
        self._places = stage.build(
            disk_bytes=ANY if "disk" in without else limits["disk_bytes"],
            inodes=0 if "inodes" in without else limits["inodes"],
            readable=handles,
            owner=self.user,
        )
        for name, text in bubblewrap.WRITTEN.items():
            with open(f"{self.folder}/{name}", "w") as file:
                file.write(text)
        for name in ("work", "tmp", "shm"):
            os.mkdir(f"{self.folder}/disk/{name}", 0o700)
            os.chown(f"{self.folder}/disk/{name}", self.user, -1)

    def _make_folder(self) -> None:
        self.folder, self._lock = scratch.make(self._base)
        self.work = f"{self.folder}/work"
        os.mkdir(self.work, 0o700)
        os.chown(self.work, self.user, -1)

    def start(self, order: Order) -> None:
        stdin = sealed("stdin", order["stdin"])
        try:
            program.relay(
                self._relay,
                order,
                folder=self.folder,
                work=self.work,
                places=self._places,
                stdin=stdin,
            )
            lost = ""
        except ConnectionError:
            lost = "the process of the job was killed before it began"
        finally:
            os.close(stdin)
        said = read_until(self._fault, None, SETUP_S).decode(errors="replace") or lost
        if said:
            raise NotStarted(said)
        if self.wrapped:
            self._release(order)

    def _release(self, order: Order) -> None:
        """Bubblewrap waits with the namespaces made: bound the processes in there, then let the job go."""
        said = read_until(self._told, b"}", SETUP_S)
        first = said.partition(b'"child-pid":')[2].split(b",")[0].strip(b" }\n")
        if not first.isdigit():
            os.waitpid(self.main, 0)
            self.main = 0
            raise NotStarted(self.streams[1].drain().decode(errors="replace") or "bubblewrap did not start")
        self.first = int(first)
        if "processes" not in order["without"]:
            self._bound_processes(order["limits"]["processes"] + 1)
        os.write(self._gate, b"go")
        os.close(self._gate)

    def began(self) -> bool:
        """Whether bubblewrap came as far as the program itself, once it has ended."""
        return b'"exit-code"' in read_until(self._told, None, SETUP_S)

    def _bound_processes(self, count: int) -> None:
        root = os.geteuid() == 0
        if root:  # nobody but its own user may, unless with a capability that root often lacks
            os.setresgid(self.user, self.user, 0)
            os.setresuid(self.user, self.user, 0)
        try:
            rlimits.limit_processes(count, self.first)
        except OSError as error:
            raise NotStarted(f"the number of processes could not be limited: {error.strerror}") from error
        finally:
            if root:
                os.setresuid(0, 0, 0)
                os.setresgid(0, 0, 0)
