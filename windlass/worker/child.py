"""The warm Python child: runs one step after another until it dies, is killed, has run enough of them, or the
code changes.

It talks to its minder over two pipes of its own; stdin is /dev/null, and what a step prints goes to pipes
that the minder reads, so that nothing a step prints or reads can disturb the protocol.
Modules stay imported between steps, with whatever state they keep. Only the working folder is put back.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time
from io import TextIOWrapper

from windlass.wire.filling import Kept
from windlass.worker import frames, requests
from windlass.worker.calls import call, ran_out_of_memory
from windlass.worker.freshness import Freshness
from windlass.worker.minder import ANSWER_FD, KEEP, MISSING, PROGRESS, REPLACE, REQUEST_FD, STALE
from windlass.worker.telling import Telling

BOOTSTRAP = (
    "import sys; sys.path.append(sys.argv[1]); from windlass.worker.child import main; main(sys.argv[2:])"
)


def main(arguments: list[str]) -> None:
    recycle, folders = int(arguments[0]), arguments[1:]
    prepare(folders)
    me, home, pipes = os.getpid(), os.getcwd(), _pipes()
    freshness, values, ran = Freshness(folders), Kept(), 0
    while (request := frames.request()) is not None:
        if freshness.stale():
            frames.answer(STALE, b"")
            continue
        asked = requests.decode(request)
        bodies = asked.own_bodies()
        if values.missing(asked.places, bodies):
            frames.answer(MISSING, b"")
            continue
        task = values.fill(asked, asked.places, bodies)
        began_ns = time.time_ns()
        telling = Telling(lambda details: frames.answer(PROGRESS, details))
        answer = call(task, folders, telling)
        if os.getpid() != me:
            os._exit(0)  # the step forked, and this is the copy: only the original answers
        telling.end()
        freshness.note(began_ns)
        ran += 1
        fit = tidy(home) and _pipes() == pipes and ran < recycle and not ran_out_of_memory(answer)
        frames.answer(KEEP if fit else REPLACE, answer)


def prepare(folders: list[str]) -> None:
    for fd in (REQUEST_FD, ANSWER_FD):
        os.set_inheritable(fd, False)
    sys.path[:0] = folders
    sys.argv = ["windlass-step"]
    # Python trusts compiled files by whole seconds and size: an edit within the same second would go unseen.
    sys.dont_write_bytecode = True
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    faulthandler.enable()


def tidy(home: str) -> bool:
    """Make ready for the next step; False when this process is not fit for one."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            return False
    try:
        os.chdir(home)
    except OSError:
        return False
    # Work goes on in a thread that an ordinary program would wait for.
    return all(thread.daemon or thread is threading.main_thread() for thread in threading.enumerate())


def _pipes() -> list[int]:
    """What our pipes are: a step may have closed them, and something else may have their numbers now."""
    try:
        return [os.fstat(fd).st_ino for fd in (REQUEST_FD, ANSWER_FD)]
    except OSError:
        return []
