"""A program the minder started, its pipes, and how it is started so that it dies with the minder."""

from __future__ import annotations

import errno
import os
import resource
import select
import signal

from . import ANSWER_FD, PROGRESS, REPLACE, REQUEST_FD
from .output import Output
from .tree import PR_SET_PDEATHSIG, prctl

Command = tuple[list[str], dict[str, str], str, int]  # argv, env, cwd, bytes of memory (0: any)
READ_BYTES = 1 << 16
ANSWER_BYTES_MAX = 1 << 26
DRAIN_BYTES_MAX = 1 << 21  # more than a pipe can hold: what is written later is not this task's


class Stream:
    """The end of what came out of a pipe, and how much came."""

    def __init__(self, fd: int, number: int = 0) -> None:
        self.fd = fd
        self.number = number  # 1 is stdout, 2 is stderr
        self.keep_bytes = 0
        self.total = 0
        self._end = bytearray()
        self._output: Output | None = None

    def restart(self, keep_bytes: int, output: Output | None) -> None:
        self.keep_bytes, self.total, self._output = keep_bytes, 0, output
        self._end.clear()

    def end(self) -> bytes:
        return bytes(self._end[-self.keep_bytes :]) if self.keep_bytes else b""

    def pump(self) -> int:
        """Read once; how much there was."""
        chunk = read(self.fd)
        if chunk is None:
            return 0
        if not chunk:
            self.close()
        elif self._output is not None:
            self._output.add(self.number, chunk)
        self.total += len(chunk)
        self._end += chunk
        if len(self._end) > 2 * self.keep_bytes + READ_BYTES:
            del self._end[: -self.keep_bytes or None]
        return len(chunk)

    def drain(self) -> None:
        left = DRAIN_BYTES_MAX
        while left > 0 and self.fd >= 0 and (got := self.pump()):
            left -= got

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def read(fd: int) -> bytes | None:
    """What is there; None when nothing is, b"" at the end."""
    try:
        return os.read(fd, READ_BYTES) if fd >= 0 else None
    except BlockingIOError:
        return None


class Process:
    """A process the minder started: its pipes, and how it ended."""

    def __init__(self, pid: int, out: int, err: int, request: int, answer: int) -> None:
        self.pid = pid
        self.status: int | None = None
        self.out, self.err = Stream(out, 1), Stream(err, 2)
        self.request, self.answer = request, answer  # -1 for a shell command
        self.outbox = memoryview(b"")
        self.inbox = bytearray()
        self.output: Output | None = None

    def restart(self, keep_bytes: int, output: Output | None) -> None:
        """Forget what it wrote; keep that much of what it will write, and have all of it sent on."""
        self.out.restart(keep_bytes, output)
        self.err.restart(keep_bytes, output)
        self.inbox.clear()
        self.output = output

    def ask(self, request: bytes) -> None:
        self.outbox = memoryview(len(request).to_bytes(4, "little") + request)

    def push(self) -> None:
        try:
            self.outbox = self.outbox[os.write(self.request, self.outbox[: READ_BYTES * 16]) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:  # it is dying: its end will be noticed
            self.outbox = memoryview(b"")

    def pull(self) -> None:
        while chunk := read(self.answer):
            self.inbox += chunk
        if chunk == b"":
            os.close(self.answer)
            self.answer = -1
        self._hear_progress()

    def _hear_progress(self) -> None:
        """What it says of its progress comes before its answer."""
        while self.inbox[4:5] == PROGRESS:
            size = int.from_bytes(self.inbox[:4], "little")
            if len(self.inbox) < 4 + size or size > ANSWER_BYTES_MAX:
                return
            if self.output is not None:
                self.output.tell(bytes(self.inbox[5 : 4 + size]))
            del self.inbox[: 4 + size]

    def answered(self) -> tuple[bytes, bytes] | None:
        """(mark, answer) once it is complete."""
        size = int.from_bytes(self.inbox[:4], "little")
        if size > ANSWER_BYTES_MAX:
            return REPLACE, b""  # nonsense: user code wrote into the wrong pipe
        if len(self.inbox) < 5 or len(self.inbox) < 4 + size:
            return None
        return bytes(self.inbox[4:5]), bytes(self.inbox[5 : 4 + size])

    def fds(self) -> list[tuple[int, int]]:
        watched = [(fd, select.POLLIN) for fd in (self.out.fd, self.err.fd, self.answer) if fd >= 0]
        return [*watched, (self.request, select.POLLOUT)] if self.outbox else watched

    def close(self) -> None:
        self.out.close()
        self.err.close()
        for fd in (self.request, self.answer):
            if fd >= 0:
                os.close(fd)
        self.request = self.answer = -1
        self.outbox = memoryview(b"")


def spawn(command: Command, stdin: int, wired: bool) -> Process:
    """Start a program in its own session; it dies with us. Raises OSError when it cannot be started."""
    parent = os.getpid()
    out, out_w = os.pipe()
    err, err_w = os.pipe()
    request_r, request = os.pipe() if wired else (-1, -1)
    answer, answer_w = os.pipe() if wired else (-1, -1)
    trouble, trouble_w = os.pipe()
    ours = [fd for fd in (out, err, request, answer) if fd >= 0]
    theirs = [fd for fd in (out_w, err_w, request_r, answer_w, trouble_w) if fd >= 0]
    places = [(stdin, 0), (out_w, 1), (err_w, 2)]
    if wired:
        places += [(request_r, REQUEST_FD), (answer_w, ANSWER_FD)]
    try:
        pid = os.fork()
    except OSError:
        for fd in (*ours, *theirs, trouble):
            os.close(fd)
        raise
    if pid == 0:
        become(command, places, parent, trouble_w)
    for fd in theirs:
        os.close(fd)
    why = os.read(trouble, 256)  # ends when the program has taken the child's place
    os.close(trouble)
    if why:
        for fd in ours:
            os.close(fd)
        os.waitpid(pid, 0)
        number, _, what = why.decode().partition(" ")
        raise OSError(int(number), os.strerror(int(number)), what)
    for fd in ours:
        os.set_blocking(fd, False)
    return Process(pid, out, err, request, answer)


def become(command: Command, places: list[tuple[int, int]], parent: int, trouble: int) -> None:
    """In the forked child: turn into the program, or say why not. Never returns."""
    what = "start"
    argv, env, cwd, memory_bytes = command
    try:
        os.setsid()  # `kill 0` in a script must not reach the minder
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        prefer_for_oom()
        for source, target in places:
            os.dup2(source, target)
        if memory_bytes:
            # What is written to, not what is only mapped: libraries reserve much that they never use.
            resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
        what = "cwd"
        os.chdir(cwd)
        what = "exec"
        os.execvpe(argv[0], argv, env)
    except OSError as error:
        os.write(trouble, f"{error.errno or errno.EINVAL} {what}".encode())
    except BaseException:
        os.write(trouble, f"{errno.EINVAL} {what}".encode())
    finally:
        os._exit(127)


def prefer_for_oom() -> None:
    """When memory runs out, the kernel should take a task rather than the engine."""
    try:
        with open("/proc/self/oom_score_adj", "r+b", buffering=0) as file:
            if int(file.read(16)) < 500:
                file.seek(0)
                file.write(b"500")
    except (OSError, ValueError):
        pass
