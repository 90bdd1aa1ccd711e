"""The way back from a document of steps to the graph it was made of, for whoever is told of a fault."""

from __future__ import annotations

from typing import Final

from windlass.core.faults import Faults

PARTS: Final = "/nodes"


class Places:
    """For parts of the one document, where they stand in the other; what is inside them stands there too."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {"/steps": PARTS}

    def put(self, pointer: str, written: str) -> None:
        self._known[pointer] = written

    def of(self, pointer: str) -> str:
        around, inside = pointer, ""
        while around:
            if around in self._known:
                return self._known[around] + inside
            around, slash, last = around.rpartition("/")
            inside = f"{slash}{last}{inside}"
        return pointer


class FaultsElsewhere(Faults):
    """Takes over the faults found so far, and those still to come under the places that were written."""

    def __init__(self, before: Faults, places: Places) -> None:
        super().__init__()
        self.listed, self.count = before.listed, before.count
        self._places = places

    def add(self, pointer: str, message: str, *, line: int = 0, column: int = 0) -> None:
        super().add(self._places.of(pointer), message, line=line, column=column)
