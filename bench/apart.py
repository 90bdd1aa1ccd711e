"""Each benchmark in a process of its own: none inherits the garbage of another."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, Final, ParamSpec, TypeVar

from windlass.core.errors import WindlassError

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE_S: Final = 600.0
END_S: Final = 10.0


class Failed(WindlassError):
    """It did not come to its end, or not in time."""


def apart(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call `work` in a new process, and answer what it answers. Raises Failed."""
    context = multiprocessing.get_context("spawn")
    ours, its = context.Pipe(duplex=False)
    process = context.Process(target=_call, args=(its, work, args, kwargs))
    process.start()
    its.close()
    try:
        if not ours.poll(PATIENCE_S):
            raise Failed(f"{work.__module__}.{work.__name__} did not end within {PATIENCE_S:g} s")
        try:
            answer: T = ours.recv()
        except EOFError:
            process.join(END_S)
            raise Failed(f"{work.__module__}.{work.__name__} did not come to its end; see above") from None
        return answer
    finally:
        ours.close()
        process.join(END_S)
        if process.is_alive():
            process.terminate()  # it ends what it started, see _call
            process.join(END_S)
        if process.is_alive():
            process.kill()
            process.join()


# Any: whatever `apart` was given.
def _call(
    answer: Connection, work: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        answer.send(work(*args, **kwargs))
    except KeyboardInterrupt:  # it was meant for all of us
        sys.exit(130)
