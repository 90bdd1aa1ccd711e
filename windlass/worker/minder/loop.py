"""The minder's loop: one job at a time, and nothing left of it afterwards."""

from __future__ import annotations

import errno
import marshal
import os
import select
import signal
import time
from collections.abc import Iterable
from contextlib import suppress

from . import ANSWER_FD, KEEP, MISSING, STALE, WORKER_FD
from .output import Output
from .process import READ_BYTES, Command, Process, Stream, spawn
from .tree import PR_SET_CHILD_SUBREAPER, Hunt, all_pids, below, newest_pid, prctl

SPAN_MAX = 2000  # looking at more pids than this one by one is slower than listing /proc


class Job:
    def __init__(
        self,
        number: int,
        main: Process,
        timeout_s: float | None,
        request: bytes,
        scratch: str,
        output: Output,
    ) -> None:
        self.number = number
        self.main = main
        self.output = output
        self.deadline = time.monotonic() + timeout_s if timeout_s is not None else None
        self.request = request
        self.scratch = scratch
        self.killed = False


class Minder:
    def __init__(self) -> None:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        self._null = 0
        while self._null <= ANSWER_FD:  # the lower ones stay taken: a child's pipes will need their numbers
            self._null = os.open(os.devnull, os.O_RDWR)
        self._wake, wake_w = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(wake_w, False)
        signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # it ends when the worker does, not before
        os.set_blocking(WORKER_FD, False)  # a worker that is slow to listen must not hold up the task
        self._inbox = bytearray()
        self._outbox: list[memoryview] = []
        self._job: Job | None = None
        self._warm: Process | None = None
        self._command: Command | None = None  # of the warm child
        self._mark = 0  # every pid given out up to here is known not to be a stray; 0 = not known
        self._marks_count = False  # some containers do not tell the truth about the newest pid

    def serve(self) -> None:
        while True:
            for fd, events in self._ready():
                if fd == WORKER_FD:
                    if events & ~select.POLLOUT:
                        self._hear()
                elif fd == self._wake:
                    os.read(fd, 512)
                else:
                    self._pump(fd)
            self._settle()
            self._forward()
            self._push()

    def _processes(self) -> list[Process]:
        mine = [self._warm, self._job.main if self._job else None]
        return [process for process in dict.fromkeys(mine) if process is not None]

    def _ready(self) -> list[tuple[int, int]]:
        poll = select.poll()
        poll.register(WORKER_FD, select.POLLIN | (select.POLLOUT if self._outbox else 0))
        poll.register(self._wake, select.POLLIN)
        for process in self._processes():
            for fd, event in process.fds():
                poll.register(fd, event)
        wait_ms = None
        if self._job is not None:
            forward_at = None if self._outbox else self._job.output.due_at()
            due = min((at for at in (self._job.deadline, forward_at) if at is not None), default=None)
            wait_ms = None if due is None else max(0.0, due - time.monotonic()) * 1000 + 1
        return poll.poll(wait_ms)

    def _hear(self) -> None:
        try:
            chunk = os.read(WORKER_FD, READ_BYTES * 16)
        except BlockingIOError:
            return
        except ConnectionError:  # the worker is gone, and had not read all we sent
            chunk = b""
        if not chunk:
            self._leave()
        self._inbox += chunk
        while len(self._inbox) >= 4:
            size = int.from_bytes(self._inbox[:4], "little")
            if len(self._inbox) < 4 + size:
                return
            message = marshal.loads(self._inbox[4 : 4 + size])
            del self._inbox[: 4 + size]
            if message[1] != "kill":
                self._begin(*message)
            elif self._job is not None and self._job.number == message[0]:
                self._job.killed = True

    def _pump(self, fd: int) -> None:
        for process in self._processes():
            if fd == process.out.fd:
                process.out.pump()
            elif fd == process.err.fd:
                process.err.pump()
            elif fd == process.request:
                process.push()
            elif fd == process.answer:
                process.pull()

    def _begin(
        self,
        number: int,
        kind: str,
        command: Command,
        text: bytes,
        timeout_s: float | None,
        keep_bytes: int,
        scratch: str,
        forward_bytes: int,
    ) -> None:
        assert self._job is None, "a minder minds one task at a time"
        try:
            main = self._child(command) if kind == "python" else self._shell(command, text)
        except OSError as error:
            what = str(error.filename or "").encode()
            self._tell(number, "not_started", error.errno or errno.EINVAL, what, Stream(-1), Stream(-1))
            return
        output = Output(forward_bytes)
        main.restart(keep_bytes, output)
        if kind == "python":
            main.ask(text)
        self._job = Job(number, main, timeout_s, text, scratch, output)

    def _child(self, command: Command) -> Process:
        if self._warm is not None and (self._command != command or self._warm.status is not None):
            self._sweep(None)
            self._drop(self._warm)
        if self._warm is None:
            self._warm, self._command = self._spawn(command, self._null, wired=True), command
        return self._warm

    def _shell(self, command: Command, text: bytes) -> Process:
        if not text:
            return self._spawn(command, self._null, wired=False)
        stdin = os.memfd_create("stdin")
        try:
            with open(stdin, "wb", closefd=False) as file:
                file.write(text)
            os.lseek(stdin, 0, os.SEEK_SET)
            return self._spawn(command, stdin, wired=False)
        finally:
            os.close(stdin)

    def _spawn(self, command: Command, stdin: int, *, wired: bool) -> Process:
        before = newest_pid()
        process = spawn(command, stdin, wired)
        self._marks_count = before < process.pid <= newest_pid()
        return process

    def _settle(self) -> None:
        """Look at how things stand, and end the job if it is over."""
        self._reap()
        job = self._job
        if job is None:
            return
        job.main.pull()
        answer = job.main.answered()
        if answer is not None and answer[0] == STALE:
            self._restart(job)
        elif answer is not None and answer[0] == MISSING:
            self._finish(job, "missing", keep=True)
        elif answer is not None:
            self._finish(job, "answered", 0, answer[1], keep=answer[0] == KEEP)
        elif job.main.status is not None:
            code = os.waitstatus_to_exitcode(job.main.status)
            self._finish(job, "signalled" if code < 0 else "exited", abs(code))
        elif job.killed:
            self._finish(job, "killed")
        elif job.deadline is not None and time.monotonic() >= job.deadline:
            self._finish(job, "timeout")

    def _restart(self, job: Job) -> None:
        """The child holds code that has been edited since: ask a new one."""
        command, keep_bytes = self._command, job.main.out.keep_bytes
        assert command is not None
        self._sweep(None)
        self._drop(job.main)
        try:
            job.main = self._child(command)
        except OSError as error:
            self._finish(job, "not_started", error.errno or errno.EINVAL)
        else:
            job.main.restart(keep_bytes, job.output)
            job.main.ask(job.request)

    def _finish(self, job: Job, how: str, code: int = 0, answer: bytes = b"", keep: bool = False) -> None:
        main = job.main
        idle = self._warm if self._warm is not main else None
        # A child that left processes behind may rely on them (a pool, a tracker): it goes with them.
        keep = not self._sweep(main if keep else idle, all_or_nothing=keep) and keep
        main.out.drain()
        main.err.drain()
        self._job = None
        self._send_output(job)
        self._tell(job.number, how, code, answer, main.out, main.err)
        if keep and main.status is None:
            main.restart(0, None)
        else:
            self._drop(main)

    def _drop(self, process: Process) -> None:
        process.close()
        if self._warm is process:
            self._warm = self._command = None

    def _forward(self) -> None:
        """Send on what the job printed, if it is time, and if the worker has taken what was sent before."""
        if self._job is not None and not self._outbox:
            due = self._job.output.due_at()
            if due is not None and time.monotonic() >= due:
                self._send_output(self._job)

    def _send_output(self, job: Job) -> None:
        pieces, overflow = job.output.take(time.monotonic())
        if pieces or overflow:
            self._send((job.number, "output", pieces, overflow))
        progress = job.output.take_progress()
        if progress is not None:
            self._send((job.number, "progress", progress))

    def _tell(self, number: int, how: str, code: int, answer: bytes, out: Stream, err: Stream) -> None:
        self._send((number, how, code, answer, out.total, out.end(), err.total, err.end()))

    def _send(self, message: tuple[object, ...]) -> None:
        raw = marshal.dumps(message)  # type: ignore[arg-type]  # plain values, all of them
        self._outbox.append(memoryview(len(raw).to_bytes(4, "little") + raw))

    def _push(self) -> None:
        """Send what the worker takes now; the rest waits."""
        try:
            while self._outbox:
                frame = self._outbox[0]
                frame = frame[os.write(WORKER_FD, frame) :]
                if frame:
                    self._outbox[0] = frame
                else:
                    del self._outbox[0]
        except BlockingIOError:
            pass
        except OSError:
            self._leave()

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for process in self._processes():
                if process.pid == pid:
                    process.status = status

    def _sweep(self, spare: Process | None, *, all_or_nothing: bool = False) -> int:
        """Kill everything below us but `spare`; how many there were.

        With `all_or_nothing`, `spare` goes too if there was anything else.
        """
        hunt, met, pause_s = Hunt(), 0, 0.0005
        while True:
            newest = newest_pid()
            found = dict(below(os.getpid(), self._suspects(newest)).items() - hunt.beyond_reach)
            if spare is not None and not (all_or_nothing and (met or len(found) > 1)):
                found.pop(spare.pid, None)
            if not found:
                self._mark = newest
                if not self._marks_count or newest == newest_pid():
                    return met
                continue  # somebody was born meanwhile: perhaps one of ours
            met = max(met, len(found))
            if hunt.strike(found):
                time.sleep(pause_s)
                pause_s = min(0.05, pause_s * 2)
            self._reap()

    def _suspects(self, newest: int) -> Iterable[int]:
        """Pids that may be below us: those given out since the last sweep, and the children we know."""
        if self._marks_count and 0 < self._mark <= newest <= self._mark + SPAN_MAX:
            known = [process.pid for process in self._processes() if process.pid <= self._mark]
            return [*known, *range(self._mark + 1, newest + 1)]
        return all_pids()

    def _leave(self) -> None:
        job, self._mark, self._job = self._job, 0, None
        self._sweep(None)
        if job is not None and job.scratch:
            remove(job.scratch)
        os._exit(0)


def remove(folder: str) -> None:
    """The folder and all in it, as far as possible; what links point to stays."""
    for place, folders, files in os.walk(folder, topdown=False):
        for name in (*files, *folders):
            path = os.path.join(place, name)
            with suppress(OSError):
                os.rmdir(path) if name in folders and not os.path.islink(path) else os.unlink(path)
    with suppress(OSError):
        os.rmdir(folder)


def main() -> None:
    Minder().serve()


if __name__ == "__main__":
    main()
