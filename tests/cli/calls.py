"""Commands as users type them: in a process of their own, or at a terminal."""

import fcntl
import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Sequence
from pathlib import Path

from tests.cli.engines import environment, windlass

WITHIN_S = 60.0

Done = subprocess.CompletedProcess[str]


def command(*words: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> Done:
    """Run it to its end, away from any terminal."""
    return subprocess.run(
        [*windlass(), *map(str, words)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        cwd=cwd,
        env=environment(env),
        timeout=WITHIN_S,
    )


def at_terminal(*words: str | Path, answers: Sequence[tuple[str, str]] = ()) -> tuple[int, str]:
    """Run it at a terminal: its exit code, and all that is shown. To each question comes its answer."""
    ours, its = pty.openpty()
    try:
        with subprocess.Popen(
            [*windlass(), *map(str, words)],
            stdin=its,
            stdout=its,
            stderr=its,
            env=environment({"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}),
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # so that Ctrl-C means it
        ) as process:
            os.close(its)
            its = -1
            try:
                shown = _talk(ours, list(answers))
                return process.wait(WITHIN_S), shown
            finally:
                process.kill()
    finally:
        os.close(ours)
        if its >= 0:
            os.close(its)


def _talk(terminal: int, answers: list[tuple[str, str]]) -> str:
    """Read until the other end is closed."""
    shown, deadline = "", time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1.0)[0]:
            continue
        try:
            heard = os.read(terminal, 65536)
        except OSError:  # nobody has the other end open any more
            return shown
        shown += heard.decode(errors="replace")
        if answers and answers[0][0] in shown:
            os.write(terminal, f"{answers.pop(0)[1]}\n".encode())
    raise AssertionError(f"not ended within {WITHIN_S:g} s: {shown}")
