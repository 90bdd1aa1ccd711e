"""Every error the engine raises on purpose, grouped by what the caller can do.

WindlassError
    Invalid          the request is malformed: every fault, each with its place       -> 422
    Refused          the request makes no sense here; do not retry                    -> 409
        NotFound     nobody has that id                                               -> 404
        Stuck        the entity waits for `windlass retry-stuck`                      -> 409
    Unavailable      nothing was decided; the same request may succeed                -> 503
        Overloaded   too much is waiting already                                      -> 503
        Moved        another owner has the shard now
        Fenced       a newer owner writes this shard; stop at once
    Unknown          it may have happened; asking again with the same id is safe      -> 504
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

NOTED: Final = 20  # faults that a traceback shows


class Fault(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that is wrong with a document or request, and where."""

    pointer: str  # JSON pointer into what was sent; "" is the whole
    message: str  # what is wrong and what to write instead
    line: int = 0  # for text with lines; 0 where there are none
    column: int = 0


class WindlassError(Exception):
    pass


class Invalid(WindlassError):
    def __init__(self, message: str, faults: Sequence[Fault] = ()) -> None:
        super().__init__(message)
        self.faults = tuple(faults)
        for fault in self.faults[:NOTED]:
            if fault.message not in message:  # for tracebacks, which show nothing else
                self.add_note(f"{f'line {fault.line}' if fault.line else fault.pointer}: {fault.message}")


class Refused(WindlassError):
    pass


class NotFound(Refused):
    pass


class Stuck(Refused):
    pass


class Unavailable(WindlassError):
    def __init__(self, message: str, retry_after_s: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Overloaded(Unavailable):
    pass


class Moved(Unavailable):
    pass


class Fenced(Unavailable):
    pass


class Unknown(WindlassError):
    pass
