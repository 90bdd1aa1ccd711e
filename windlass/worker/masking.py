"""Hides the values of secrets in whatever leaves the worker: they become `***`.

A value is looked for as it is and as programs write it: escaped in JSON, Python or a shell, quoted in a URL,
in base64 (also in the middle of a longer text, as in Basic auth) and in hex; each of its lines also alone.
What a step does beyond that (reversing it, printing it letter by letter) nobody can find.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Final
from urllib.parse import quote, quote_plus

import msgspec

from windlass.core.task import Failure, Json, Outcome, StageReport, Success

STARS: Final = "***"
PIECE_MIN: Final = 4  # what is shorter is in every other text by chance
LOOSE_MAX: Final = 2000  # characters; of a longer value only the usual ways to write it are known
LONG: Final = 1000  # bytes; after so many of base64 or hex, whatever follows belongs to it
NESTED: Final = 16  # backslashes for one, where a text is quoted in a quoted text
BASE64_WIDTHS: Final = (57, 48)  # bytes in one line of base64: of most programs, and of openssl

_PLAIN: Final = re.compile(r"[A-Za-z0-9_.~-]")
_SIGNS: Final = re.compile(r"\\+|.", re.DOTALL)
_BACKSLASH: Final = re.compile(r"^\\\\")
_BACKSLASHES: Final = rf"\\\\{{1,{NESTED}}}"
_BASE64_END: Final = r"[A-Za-z0-9+/_-]?(?:={1,2}|(?:%3[Dd]){1,2})?"

Form = tuple[list[str], int]  # pieces of a pattern, one after the other, and how many bytes they can match


class Mask:
    """Of the values of one attempt. Without any, nothing changes, and nothing is looked at."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        forms = [form for piece in dict.fromkeys(_pieces(values)) for form in _forms(piece)]
        self.reach = max((size for _, size in forms), default=0)  # bytes of the longest form
        self._pattern = _pattern(form for form, _ in forms) if forms else None

    def __bool__(self) -> bool:
        return self._pattern is not None

    def text(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(STARS, text)

    def between(self, text: str, start: int = 0, end: int | None = None) -> str:
        """`text[start:end]`, masked; a value that lies across a border is masked whole.

        Who cuts a text has to leave `reach` on the far side of the border, and cut here: what is left of half
        a value would not be recognised.
        """
        end = len(text) if end is None else min(end, len(text))
        parts, at = list[str](), start
        for found in self._pattern.finditer(text) if self._pattern is not None else ():
            if found.start() >= end:
                break
            if found.end() > start:
                parts += [text[at : found.start()], STARS]
                at = found.end()
        return "".join([*parts, text[at:end]])

    def json(self, value: Json) -> Json:
        """Every text in it, its keys, and numbers that are written as a value is."""
        if self._pattern is None:
            return value
        match value:
            case str():
                return self._pattern.sub(STARS, value)
            case list():
                return [self.json(item) for item in value]
            case dict():
                return {self._pattern.sub(STARS, key): self.json(item) for key, item in value.items()}
            case bool() | None:
                return value
            case int() | float():
                return STARS if self._pattern.search(json.dumps(value)) else value
            case _:
                return value

    def outcome(self, outcome: Outcome) -> Outcome:
        match outcome:
            case _ if not self:
                return outcome
            case Success():
                return Success(
                    self.json(outcome.value), self.json(outcome.context), self._stages(outcome.stages)
                )
            case Failure():
                return msgspec.structs.replace(
                    outcome,
                    type=self.text(outcome.type),
                    message=self.text(outcome.message),
                    bases=tuple(map(self.text, outcome.bases)),
                    detail=self.text(outcome.detail),
                    value=self.json(outcome.value),
                    stages=self._stages(outcome.stages),
                )

    def _stages(self, stages: tuple[StageReport, ...]) -> tuple[StageReport, ...]:
        return tuple(msgspec.structs.replace(stage, error=self.text(stage.error)) for stage in stages)


@lru_cache(maxsize=64)
def mask_of(values: frozenset[str]) -> Mask:
    """A long value makes a long pattern, and many attempts use the same."""
    return Mask(sorted(values))


def _pieces(values: Iterable[str]) -> Iterator[str]:
    for value in values:
        found = [value, value.strip(), *map(str.strip, value.splitlines())]
        yield from (piece for piece in found if len(piece) >= PIECE_MIN)


def _forms(piece: str) -> Iterator[Form]:
    raw = piece.encode()
    if len(piece) <= LOOSE_MAX:
        yield _loose(piece)
        yield _loose(piece.lower())  # as the name of a host
    else:
        yield from map(_exact, {piece, *_written(piece)})
    hexes = [raw[:LONG].hex(), raw[:LONG].hex().upper()]
    more = "[0-9A-Fa-f]*" if len(raw) > LONG else ""
    yield from (([text[0], text[1:], more], 2 * len(raw)) for text in hexes)
    for before in range(3):
        yield _base64(raw, before)
    for width in BASE64_WIDTHS:
        if len(raw) > width:
            lines = [raw[at : at + width] for at in range(0, len(raw), width)]
            yield from (_base64(line) for line in lines if len(line) >= PIECE_MIN)


def _loose(piece: str) -> Form:
    """Each sign in any of the ways there are to write it."""
    signs = [_ways(sign) for sign in _SIGNS.findall(piece)]
    return [pattern for pattern, _ in signs], sum(size for _, size in signs)


@cache
def _ways(sign: str) -> tuple[str, int]:
    """As a pattern, and the bytes of the longest. Text in a text in a text has many backslashes."""
    if _PLAIN.fullmatch(sign):
        return re.escape(sign), 1
    if sign[0] == "\\":  # all of a row at once: it could be parted in too many ways
        bounds = f"{{{len(sign)},{NESTED * len(sign)}}}"
        return rf"(?:\\{bounds}|(?:%5[Cc]){{{len(sign)}}})", NESTED * len(sign)
    percent = quote(sign, safe="")
    ways = {sign, percent, percent.lower(), "\\" + sign, html.escape(sign), *_written(sign)}
    if ord(sign) < 0x10000:
        ways |= {f"\\u{ord(sign):04x}", f"\\u{ord(sign):04X}"}
    if sign == "'":
        ways |= {"'\\''", "'\"'\"'"}  # between quotes of a shell
    if sign == "\n":
        ways |= {"\r\n", "\\r\\n"}
    longest_first = sorted(ways, key=lambda way: (-len(way), way))
    patterns = dict.fromkeys(_BACKSLASH.sub(_BACKSLASHES, re.escape(way)) for way in longest_first)
    return f"(?:{'|'.join(patterns)})", max(len(way.encode()) for way in ways) + NESTED


def _written(text: str) -> set[str]:
    """In JSON, in Python, in a URL."""
    escaped = {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
    return escaped | {
        repr(text)[1:-1],
        ascii(text)[1:-1],
        quote(text),
        quote(text, safe=""),
        quote_plus(text),
    }


def _exact(text: str) -> Form:
    return [re.escape(text[0]), re.escape(text[1:])], len(text.encode())


def _base64(raw: bytes, before: int = 0) -> Form:
    """What of it is the same whatever stands around it, if `before` bytes of its first three are others'."""
    part = bytes(before) + raw[:LONG]
    first, last = -(-before * 8 // 6), len(part) * 8 // 6
    signs = [_BASE64_WAYS.get(sign, sign) for sign in base64.b64encode(part).decode()[first:last]]
    more = "(?:[A-Za-z0-9+/_-]|%2[BbFf])*" if len(raw) > LONG else ""
    return [*signs, more, _BASE64_END], 4 * len(raw) + 10


_BASE64_WAYS: Final = {"+": r"(?:\+|-|%2[Bb])", "/": r"(?:\\?/|_|%2[Ff])"}


def _pattern(forms: Iterable[list[str]]) -> re.Pattern[str]:
    """By how they begin, so that few of them are tried at each place; of those, longer ones first."""
    by_start: defaultdict[str, set[str]] = defaultdict(set)
    for first, *rest in forms:
        by_start[first].add("".join(rest))
    branches = [
        f"{first}(?:{'|'.join(sorted(rests, key=lambda rest: (-len(rest), rest)))})"
        for first, rests in sorted(by_start.items())
    ]
    return re.compile("|".join(branches))
