"""Runs one job in its sandbox, and sees to it that nothing of it is left. A process of its own, one thread.

    worker ──socket (fd 0)── keeper ──fork──▶ bubblewrap ──▶ the job        in namespaces, or
                               │    └──fork──▶ the job                      under Landlock
                               └── orphans become its children: it is a subreaper

It ends when the job has ended, or when the worker's socket does: then it kills the job first. When the keeper
itself is killed, bubblewrap's namespace dies with it, and the nursery that it was forked from ends the rest.

Frames are a length and a marshalled value; both ends run the same interpreter. Out comes ("born", pid, start
time of that process); in comes an order (a dict, see tier.py), which may take its time, and then nothing but
the end; out come ("taken",), ("output", pieces, more) and at last ("ended", a dict).
Only the standard library is used, to stay small.
"""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress
from typing import Any

from windlass.worker.minder.tree import PR_SET_CHILD_SUBREAPER, look, prctl
from windlass.worker.sandbox import cgroup, files, gvisor, seccomp
from windlass.worker.sandbox.ending import end_all
from windlass.worker.sandbox.launch import Launch
from windlass.worker.sandbox.talk import (
    WORKER_FD,
    NotStarted,
    Order,
    Outbox,
    frame,
    receive,
    wake_by_children,
)
from windlass.worker.sandbox.watch import Watch, folder_use

TICK_S = 0.025
FOLDER_TICKS = 8  # counting a folder takes longer: every so many ticks
FORWARD_S = 0.05
Outcome = dict[str, Any]  # Any: what marshal takes; the fields of Ran


class Keeper:
    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self._limits: dict[str, Any] = {}
        self._without: tuple[str, ...] = ()
        self._wanted: list[str] = []
        self._forwards = False
        self._watch = Watch()
        self._outbox = Outbox()
        self._how = ""  # why we end it, before it does itself
        self._status: int | None = None
        self._wall_s = self._spent_s = 0.0
        self._before_s = 0.0  # that its group had used when it began: setting it up is not the job's doing
        self._largest_bytes = 0

    def take(self, order: Order) -> None:
        self._limits, self._wanted = order["limits"], order["wanted"]
        self._without, self._forwards = tuple(order["without"]), order["forward"]
        self._outbox.put(("taken",))
        self._push()

    def mind(self) -> None:
        """Until it has ended, or has to be."""
        began = time.monotonic()
        deadline, ticks = began + self._limits["wall_s"], 0
        tick_at, forward_at = began + TICK_S, began + FORWARD_S
        self._watch.look_into(self.launch.first)
        if self.launch.group is not None:
            self._before_s = self.launch.group.cpu_s()
        wake, _ = wake_by_children()
        while self._status is None and not self._how:
            now = time.monotonic()
            if now >= deadline and "wall" not in self._without:
                self._how = "timeout"
            elif now >= tick_at:
                self._tick(ticks)
                ticks, tick_at = ticks + 1, time.monotonic() + TICK_S
            else:
                if now >= forward_at:
                    self._forward()
                    forward_at = now + FORWARD_S
                self._poll(wake, min(deadline, tick_at))
            self._reap(block=False)
        self._wall_s = time.monotonic() - began

    def _poll(self, wake: int, until: float) -> None:
        poll = select.poll()
        poll.register(WORKER_FD, select.POLLIN | (select.POLLOUT if self._outbox.busy else 0))
        poll.register(wake, select.POLLIN)
        streams = {stream.fd: stream for stream in self.launch.streams if stream.fd >= 0}
        for fd in streams:
            poll.register(fd, select.POLLIN)
        for fd, events in poll.poll(max(0.0, until - time.monotonic()) * 1000 + 0.5):
            if fd in streams:
                streams[fd].pump()
                if streams[fd].over:
                    self._how = "output"
            elif fd == wake:
                os.read(fd, 512)
            elif events & ~select.POLLOUT:
                self._how = "killed"  # the worker hung up
            else:
                self._push()

    def _tick(self, number: int) -> None:
        limits, without, watch, group = self._limits, self._without, self._watch, self.launch.group
        watch.tick()
        if group is not None:
            watch.cpu_s = max(watch.cpu_s, group.cpu_s() - self._before_s)
            if group.ran_out():
                self._how = "memory"
        over = watch.memory_bytes > limits["memory_bytes"] and "memory_watched" not in without
        if over and watch.exact_bytes() > limits["memory_bytes"]:
            self._how = "memory"
        elif watch.cpu_s > limits["cpu_s"] and "cpu" not in without:
            self._how = "cpu"
        elif not self.launch.wrapped and number % FOLDER_TICKS == 0:
            size, count = folder_use(self.launch.work)
            full = size > limits["disk_bytes"] and "disk" not in without
            if full or (count > limits["inodes"] and "inodes" not in without):
                self._how = "disk"

    def _forward(self) -> None:
        """Send on what was printed, if the worker has taken what was sent before."""
        if self._forwards and not self._outbox.busy:
            streams = self.launch.streams
            pieces = [(stream.number, piece) for stream in streams if (piece := stream.fresh())]
            if pieces:
                self._outbox.put(("output", pieces, any(stream.over for stream in streams)))
                self._push()

    def _push(self) -> None:
        try:
            self._outbox.push()
        except OSError:
            self._how = "killed"

    def end(self) -> None:
        """Kill all that is left, and wait until it is gone."""
        launch = self.launch
        if launch.wrapped and launch.main and self._status is None:
            os.kill(launch.main, signal.SIGKILL)
            self._kill_first()
        if launch.first and "processes" not in self._without:
            self._reap(block=True)  # the first of a namespace is only reaped when all others are gone
        end_all(lambda: self._reap(block=False), launch.user)

    def _kill_first(self) -> None:
        """It dies with bubblewrap, but only from the moment on at which it has asked for that."""
        first = self.launch.first
        seen = look(first) if first else None
        if seen is not None and seen[1] in (self.launch.main, os.getpid()):
            with suppress(ProcessLookupError):
                os.kill(first, signal.SIGKILL)

    def _reap(self, *, block: bool) -> bool:
        """Whether no child is left."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, 0 if block else os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                return False
            self._spent_s += usage.ru_utime + usage.ru_stime
            self._largest_bytes = max(self._largest_bytes, usage.ru_maxrss * 1024)
            if pid == self.launch.main:
                self._status = status

    def outcome(self) -> Outcome:
        """How it went, once nothing of it runs any more."""
        group, watch = self.launch.group, self._watch
        out, err = self.launch.streams
        texts = {"stdout": out.drain(), "stderr": err.drain()}
        if (out.over or err.over) and not self._how:
            self._how = "output"
        how, code = self._verdict()
        fetched, faults = self._fetch()
        cpu_s, peak_bytes = max(watch.cpu_s, self._spent_s), max(watch.peak_bytes, self._largest_bytes)
        if group is not None:
            cpu_s = max(0.0, group.cpu_s() - self._before_s) or cpu_s
            peak_bytes = group.peak_bytes() or peak_bytes
        ran: Outcome = {"how": how, "code": code, "files": fetched, "detail": "; ".join(faults)}
        used: Outcome = {"wall_s": self._wall_s, "cpu_s": cpu_s, "peak_bytes": peak_bytes}
        return {**ran, **texts, **used, "stdout_bytes": out.total, "stderr_bytes": err.total}

    def _verdict(self) -> tuple[str, int]:
        group = self.launch.group
        if group is not None and group.ran_out():
            return "memory", 0  # also when the job went on, and said that all was well
        if self._how or self._status is None:
            return self._how or "killed", 0
        code = os.waitstatus_to_exitcode(self._status)
        if self.launch.wrapped:
            self._check_start(code)
            code = 128 - code if code > 128 else code  # that is how it passes a signal on
        elif code and (fault := gvisor.fault(self.launch.folder)):
            raise NotStarted(fault)
        if code in (-signal.SIGXCPU, -signal.SIGKILL) and self._used_up():
            return "cpu", 0
        if code == -signal.SIGXFSZ or (code != 0 and self._full()):
            return "disk", abs(code)
        return ("signalled" if code < 0 else "exited"), abs(code)

    def _check_start(self, code: int) -> None:
        """Bubblewrap's own failure has the exit code of many programs: tell it apart."""
        if code != 1:
            return
        out, err = self.launch.streams
        said = bytes(err.kept)
        absent = not out.total and said.startswith(b"bwrap: execvp ") and said.count(b"\n") == 1
        if absent or not self.launch.began():
            raise NotStarted(said.decode(errors="replace").strip() or "bubblewrap failed")

    def _used_up(self) -> bool:
        # The kernel's limit counts in its own ticks; ours adds up what was seen.
        return bool(max(self._watch.cpu_s, self._spent_s) >= self._limits["cpu_s"] * 0.9)

    def _full(self) -> bool:
        if not self.launch.wrapped:
            return False
        seen = os.statvfs(f"{self.launch.folder}/disk")
        return seen.f_bavail == 0 or (seen.f_files > 0 and seen.f_ffree == 0)

    def _fetch(self) -> tuple[dict[str, bytes], list[str]]:
        try:
            work = os.open(self.launch.work, files.FOLDER)
        except OSError as error:  # the job may have shut it
            return {}, [f"files were not brought back: {error.strerror}"]
        try:
            if self.launch.keep >= 0:
                files.copy(work, self.launch.keep, os.geteuid())
            return files.fetch(work, self._wanted, bytes_max=self._limits["disk_bytes"])
        except OSError as error:
            return {}, [f"files were not brought back: {error}"]
        finally:
            os.close(work)

    def clean_up(self) -> None:
        if self.launch.group is not None:
            self.launch.group.remove()
        if not self.launch.wrapped and self.launch.folder:
            files.remove(self.launch.folder)

    def tell(self, result: Outcome) -> None:
        if self.launch.streams:
            self._outbox.flush()
            self._forward()
        self._outbox.put(("ended", result))
        self._outbox.flush()


def main(folder: str, *, wrapped: bool, grouped: bool) -> None:
    """With the worker's socket in its place. A folder on the host's disk is made in `folder`, if need be."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    seen = look(os.getpid())
    assert seen is not None
    with suppress(OSError):  # who is gone already is found out below
        os.write(WORKER_FD, frame(("born", os.getpid(), seen[3])))
    keeper = Keeper(Launch(wrapped=wrapped, base=folder))
    result: Outcome | None = None
    try:
        try:
            keeper.launch.get_ready(grouped=grouped)
            order = receive()
            if order is not None:
                keeper.take(order)
                keeper.launch.prepare(order)
                keeper.launch.start(order)
                keeper.mind()
        finally:
            keeper.end()
        if order is not None:
            result = keeper.outcome()
    except (NotStarted, OSError, ValueError, cgroup.NoGroup, files.BadName, seccomp.Unfit) as error:
        result = {"how": "not_started", "detail": str(error)}
    finally:
        keeper.clean_up()
    if result is not None:
        with suppress(OSError):  # the worker may be gone, as the job is
            keeper.tell(result)
