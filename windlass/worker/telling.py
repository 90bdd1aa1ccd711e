"""`ctx.heartbeat` inside the Python child: says over the answer's pipe how far a step is."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final

from windlass.core.task import Json
from windlass.worker.values import to_json

DETAILS_BYTES_MAX: Final = 64 * 1024


def details_json(details: Json) -> bytes:
    """Raises NotJson or TooLarge: the step hears at once what is wrong."""
    return to_json(details, name="details", bytes_max=DETAILS_BYTES_MAX)


class Telling:
    """Of one step. When it has ended nothing is said any more: a thread it left would speak for the next."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._over = False

    def __call__(self, details: Json) -> None:
        body = details_json(details)
        if os.getpid() != self._process:
            return  # a copy that the step forked: two must not write into one pipe
        with self._lock:
            if not self._over:
                self._write(body)

    def __reduce__(self) -> tuple[Callable[[], Callable[[Json], None]], tuple[()]]:
        # A context may be sent to another process, where nobody hears it.
        return _silent, ()

    def end(self) -> None:
        with self._lock:
            self._over = True


def unheard(details: Json) -> None:
    details_json(details)


def _silent() -> Callable[[Json], None]:
    return unheard
