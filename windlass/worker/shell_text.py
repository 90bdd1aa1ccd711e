"""Secrets in the text of a shell command: as variables, so that no command line ever holds a value.

A value put into the text itself would stand in the process list, and be read as code: a quote or a `$` in it
would change the command. So each reference becomes the expansion of a variable, written so that the shell
takes the value as it is, as one word, wherever the reference stands:

    curl -H 'Authorization: {{ secrets.KEY }}'      curl -H 'Authorization: '"${WINDLASS_SECRET_1}"''
    curl -H "Authorization: {{ secrets.KEY }}"      curl -H "Authorization: ${WINDLASS_SECRET_1}"
    echo {{ secrets.KEY }}                          echo "${WINDLASS_SECRET_1}"

Quotes, comments, substitutions and here-documents are followed as far as that takes. Where a script is odder
than this reads, a word may be split or a name stay as it is: never is a value run or shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

from windlass.core.secret_refs import REFERENCE

Around = Literal["plain", "single", "double", "call", "group", "ticks"]

_HERE: Final = re.compile(r"<<(?!<)(-?)[ \t]*(?:'([^'\n]*)'|\"([^\"\n]*)\"|(\\?)([^\s;&|<>()'\"]+))")
_WORD_ENDS: Final = " \t\n;&|()"


class QuotedHere(Exception):
    """A here-document that the shell does not look into holds a reference."""


def with_variables(command: str, variables: Mapping[str, str]) -> str:
    """The command with the variable of each name in place of references to it. Raises QuotedHere."""
    return _Reader(command, variables).read()


class _Reader:
    def __init__(self, command: str, variables: Mapping[str, str]) -> None:
        self._text = command
        self._variables = variables
        self._around: list[Around] = ["plain"]
        self._here: list[tuple[str, bool, bool]] = []  # its end, whether tabs go, whether it is quoted
        self._out: list[str] = []

    def read(self) -> str:
        at = 0
        while at < len(self._text):
            at = self._step(at)
        return "".join(self._out)

    def _step(self, at: int) -> int:
        reference = REFERENCE.match(self._text, at)
        if reference is not None:
            expansion = f"${{{self._variables[reference[1]]}}}"
            quoted = {"double": expansion, "single": f"'\"{expansion}\"'"}
            self._out.append(quoted.get(self._around[-1], f'"{expansion}"'))
            return reference.end()
        match self._around[-1]:
            case "single":
                if self._text[at] == "'":
                    self._around.pop()
                return self._keep(at)
            case "double":
                return self._in_double(at)
            case _:
                return self._in_plain(at)

    def _in_double(self, at: int) -> int:
        match self._text[at]:
            case "\\":
                return self._keep(at, 2)
            case '"':
                self._around.pop()
            case "$" if self._text.startswith("$(", at):
                self._around.append("call")
                return self._keep(at, 2)
            case "`":
                self._tick()
        return self._keep(at)

    def _in_plain(self, at: int) -> int:
        text, sign = self._text, self._text[at]
        match sign:
            case "\\":
                return self._keep(at, 2)
            case "'":
                self._around.append("single")
            case '"':
                self._around.append("double")
            case "(":
                self._around.append("call" if text[at - 1 : at] == "$" else "group")
            case ")" if self._around[-1] in ("call", "group"):
                self._around.pop()
            case "`":
                self._tick()
            case "#" if at == 0 or text[at - 1] in _WORD_ENDS:
                end = text.find("\n", at)
                return self._keep(at, (len(text) if end < 0 else end) - at)
            case "<" if found := _HERE.match(text, at):
                tabs, single, double, escaped, bare = found.groups()
                end_word = next(word for word in (single, double, bare) if word is not None)
                self._here.append((end_word, bool(tabs), bare is None or bool(escaped)))
                return self._keep(at, found.end() - at)
            case "\n" if self._here:
                return self._read_here(self._keep(at))
        return self._keep(at)

    def _read_here(self, at: int) -> int:
        """The here-documents that begin on this line."""
        for end_word, tabs, quoted in self._here:
            line = None
            while at < len(self._text) and line != end_word:
                stop = self._text.find("\n", at) + 1 or len(self._text)
                whole, at = self._text[at:stop], stop
                line = whole.rstrip("\n").lstrip("\t") if tabs else whole.rstrip("\n")
                if quoted and REFERENCE.search(whole):
                    raise QuotedHere
                self._out.append(REFERENCE.sub(lambda found: f"${{{self._variables[found[1]]}}}", whole))
        self._here.clear()
        return at

    def _tick(self) -> None:
        if "ticks" in self._around:
            while self._around.pop() != "ticks":
                pass
        else:
            self._around.append("ticks")

    def _keep(self, at: int, count: int = 1) -> int:
        self._out.append(self._text[at : at + count])
        return at + count
