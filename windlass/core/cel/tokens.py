"""The words of an expression, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from windlass.core.cel.syntax import Mistake

TokenKind = Literal["name", "int", "double", "text", "mark", "end"]
_INT_MAX: Final = 2**63 - 1


class Token(NamedTuple):
    kind: TokenKind
    text: str  # as it is written; of a text: what it stands for
    at: int
    until: int


_TOKEN: Final = re.compile(
    r"""
    (?P<space>(?:[ \t\n\f\r]|//[^\n]*)+)
  | (?P<text>[rRbB]{0,2}(?:\"""|'''|"|'))
  | (?P<double>(?:[0-9]+\.[0-9]+|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
  | (?P<int>0[xX][0-9a-fA-F]+|[0-9]+)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<mark>==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,()\[\]{}])
    """,
    re.VERBOSE,
)
_ESCAPE: Final = re.compile(
    r"\\(?:(?P<one>[abfnrtv\\?\"'`])|[xX](?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})"
    r"|(?P<octal>[0-3][0-7]{2}))"
)
_PLAIN: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ADVICE: Final = {
    "=": "to compare, write ==",
    "&": "for both, write &&",
    "|": "for either, write ||",
    "$": "write the name alone, without $",
    "`": "write texts in quotes",
    "^": "there is no such operator",
    "@": "there is no such operator",
    "#": "a comment begins with //",
}


def tokens(text: str, start: int = 0) -> Iterator[Token]:
    """One after the other, the last of kind `end`. Raises Mistake where no word can begin."""
    at = start
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            advice = _ADVICE.get(text[at], "it means nothing here")
            raise Mistake(f"unexpected {text[at]!r}; {advice}", at)
        kind, until = found.lastgroup, found.end()
        match kind:
            case "text":
                token = _quoted(text, at, found.group())
                until = token.until
                yield token
            case "int":
                _check_number(text, until)
                yield Token("int", str(_whole(found.group(), at)), at, until)
            case "double":
                _check_number(text, until)
                yield Token("double", found.group(), at, until)
            case "name" | "mark":
                yield Token(kind, found.group(), at, until)
        at = until
    yield Token("end", "", len(text), len(text))


def _check_number(text: str, until: int) -> None:
    after = text[until : until + 1]
    if after in ("u", "U"):
        raise Mistake("there are no unsigned numbers here; leave the u off", until)
    if after.isalnum() or after == "_":
        raise Mistake(f"unexpected {after!r} after a number; put a space or an operator between", until)


def _whole(written: str, at: int) -> int:
    # The length first: reading a very long number takes a long time.
    value = int(written, 16 if written[:2] in ("0x", "0X") else 10) if len(written) <= 40 else _INT_MAX + 2
    # The smallest one of all is written with a minus before it.
    if value > _INT_MAX + 1:
        raise Mistake("this number needs more than 64 bit; write it with a point, or as text", at)
    return value


def _quoted(text: str, at: int, opening: str) -> Token:
    """A text in one or three quotes of either kind, raw or not."""
    quote = opening.lstrip("rRbB")
    prefix = opening[: len(opening) - len(quote)].lower()
    if "b" in prefix:
        raise Mistake("there are no bytes here; leave the b off", at)
    raw = prefix == "r"
    parts: list[str] = []
    here = at + len(opening)
    while not text.startswith(quote, here):
        if here >= len(text) or (len(quote) == 1 and text[here] in "\r\n"):
            raise Mistake(f"this text is not closed; it begins with {quote} and has to end with it", at)
        if text[here] == "\\" and not raw:
            part, until = _escaped(text, here)
        else:
            part, until = text[here], here + 1
        if part == "\0" or "\ud800" <= part <= "\udfff":
            raise Mistake("this character cannot be kept in a text; leave it out", here)
        parts.append(part)
        here = until
    return Token("text", "".join(parts), at, here + len(quote))


def _escaped(text: str, at: int) -> tuple[str, int]:
    found = _ESCAPE.match(text, at)
    if found is not None and (one := found["one"]) is not None:
        return _PLAIN.get(one, one), found.end()
    hexadecimal = found and (found["x"] or found["u"] or found["U"])
    if found is not None and (hexadecimal or found["octal"]):
        point = int(hexadecimal, 16) if hexadecimal else int(found["octal"], 8)
        if point <= 0x10FFFF:
            return chr(point), found.end()
    raise Mistake(r"unknown escape; write \\ for a backslash, or r'…' for a text without escapes", at)
