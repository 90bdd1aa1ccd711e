"""What a program prints, passed on as it comes and exactly: nothing twice, and nothing that it did not print.

Lines come without their ends, and very long ones and very many are cut on the way. So the end of a line is
owed until the next one comes, or none does for a while; what was cut is taken from the program's result.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

CUT_LINE: Final = re.compile(r" … \[[0-9,]+ bytes cut\]\Z")
CUT_BEGINNING: Final = re.compile(r"\[([0-9]+) characters cut\]\n")
LEAD: Final = 200  # characters by which the beginning of a text is looked for


class Tape:
    """One stream of a program."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._pieces: list[str] = []  # of this attempt, as far as they came
        self._size = 0
        self._before = ""  # what attempts before this one have shown
        self._owed = False  # the end of the last line
        self._cut = False  # from here on only the result tells what was printed

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    @property
    def open(self) -> bool:
        """Whether what was shown last has no end of line."""
        return bool(self._pieces) and not self._pieces[-1].endswith("\n")

    def line(self, text: str) -> None:
        if self._cut:
            return
        if CUT_LINE.search(text):
            self.cut()
            return
        self._pass(f"\n{text}" if self._owed else text)
        self._owed = True

    def settle(self) -> None:
        """A line without an end is the last thing that is told of a program: after a while it has one."""
        if self._owed and not self._cut:
            self._pass("\n")
            self._owed = False

    def cut(self) -> None:
        """Something is missing: the result has it."""
        self._cut = True

    def again(self) -> None:
        """Another attempt begins. As long as it prints what was shown already, it is not shown again."""
        text = self.text
        self._before = text if len(text) > len(self._before) else self._before
        self._pieces, self._size = [], 0
        self._owed = self._cut = False

    def finish(self, whole: str | None, *, after_others: bool = False) -> bool:
        """Show the rest of what it printed; False if that is not known, as far as one can see.

        `after_others`: others, such as a compiler, may have printed before it.
        """
        rest = None if whole is None else _rest(self.text, whole)
        if rest is None and whole is not None and after_others:
            rest = _rest_after_others(self.text, whole)
        if rest is not None:
            self._pass(rest)
        elif self._owed:
            self._pass("\n")
        self._owed = False
        return rest is not None

    def _pass(self, text: str) -> None:
        known = self._before[self._size : self._size + len(text)]
        if text.startswith(known):
            fresh = text[len(known) :]
        else:
            # This attempt went another way than the one before: it goes on in a line of its own.
            fresh = ("" if self._before.endswith("\n") else "\n") + text.removeprefix("\n")
            self._before = ""
        if text:
            self._pieces.append(text)
            self._size += len(text)
        if fresh:
            self._write(fresh)


def _rest(shown: str, whole: str) -> str | None:
    if whole.startswith(shown):
        return whole[len(shown) :]
    if shown == f"{whole}\n":
        return ""
    if cut := CUT_BEGINNING.match(whole):
        kept, at = whole[cut.end() :], len(shown) - int(cut[1])
        return kept[at:] if 0 <= at <= len(kept) else None
    return None


def _rest_after_others(shown: str, whole: str) -> str | None:
    """As above, where what was shown ends with the beginning of `whole`."""
    lead = whole[:LEAD]
    at = shown.find(lead)
    while at >= 0:
        if (rest := _rest(shown[at:], whole)) is not None:
            return rest
        at = shown.find(lead, at + 1)
    begun = (size for size in range(len(lead) - 1, -1, -1) if shown.endswith(lead[:size]))
    return whole[next(begun) :]
