"""Where in the user's files something was written, for errors that say so."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Final, NamedTuple

from windlass.core.errors import Fault, Invalid

_OURS: Final = os.path.join(os.path.dirname(__file__), "")


class Place(NamedTuple):
    file: str
    line: int

    def __str__(self) -> str:
        near = os.path.relpath(self.file)
        return f"{self.file if near.startswith('..') else near}:{self.line}"


class CannotCompile(Invalid):
    """A workflow in Python that cannot become a definition; each fault has its line in `file`."""

    def __init__(self, message: str, place: Place, faults: tuple[Fault, ...] = ()) -> None:
        super().__init__(f"{place}: {message}", faults or (Fault("", message, line=place.line, column=1),))
        self.file = place.file
        self.place = place


def here() -> Place:
    """The line of the user's that is being carried out."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno)


def blamed(error: BaseException, file: str) -> Place:
    """The last line of this file on the way to the error."""
    if isinstance(error, SyntaxError) and error.filename:
        return Place(error.filename, error.lineno or 1)
    lines = [
        frame.lineno or 1 for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file
    ]
    return Place(file, lines[-1] if lines else 1)
