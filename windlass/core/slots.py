"""Texts with `${{ … }}` in them, cut into plain text and expressions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from windlass.core import expr
from windlass.core.cel.memo import Memo
from windlass.core.cel.tokens import tokens
from windlass.core.expr import Expression, Mistake

OPENING: Final = "${{"
CLOSING: Final = "}}"
EXPRESSIONS_MAX: Final = 1_000  # in one value, such as the `with` of a step


class Slot(NamedTuple):
    expression: Expression
    offset: int  # of its text in the whole


_memo: Final[Memo[tuple[str | Slot, ...]]] = Memo()


def parts(text: str) -> tuple[str | Slot, ...]:
    """Plain text and expressions in turn. Raises Mistake, whose position is one in the whole text."""
    known = _memo.get(text)
    if known is None:
        known = tuple(_split(text))
        if len(text) <= expr.TEXT_MAX:
            _memo.put(text, known)
    return known


def _split(text: str) -> Iterator[str | Slot]:
    here = count = 0
    while (opening := text.find(OPENING, here)) >= 0:
        count += 1
        if count > EXPRESSIONS_MAX:
            raise Mistake(f"more than {EXPRESSIONS_MAX:,} expressions; let a step compute them", opening)
        if opening > here:
            yield text[here:opening]
        start = opening + len(OPENING)
        end = _end(text, start)
        if end is None:
            advice = f"write }}}} after the expression, which may have {expr.TEXT_MAX:,} characters"
            raise Mistake(f"this ${{{{ is not closed; {advice}", opening)
        yield _slot(text[start:end], start)
        here = end + len(CLOSING)
    if here < len(text) or not text:
        yield text[here:]


def _slot(written: str, start: int) -> Slot:
    offset = start + len(written) - len(written.lstrip())
    try:
        return Slot(expr.compile(written.strip()), offset)
    except Mistake as mistake:
        raise Mistake(mistake.message, offset + mistake.position) from None


def _end(text: str, start: int) -> int | None:
    """Where the `}}` is: not one inside of quotes, nor one that closes two objects."""
    window = text[start : start + expr.TEXT_MAX + 100]
    depth = 0
    try:
        for token in tokens(window):
            if token.kind != "mark":
                continue
            if token.text == "{":
                depth += 1
            elif token.text == "}" and depth:
                depth -= 1
            elif token.text == "}" and window.startswith(CLOSING, token.at):
                return start + token.at
    except Mistake:
        # The expression is wrong: whoever reads it says so, and it needs an end for that.
        pass
    end = window.find(CLOSING)
    return start + end if end >= 0 else None


def condition(text: str) -> Slot:
    stripped = text.strip()
    offset = len(text) - len(text.lstrip())
    if OPENING not in text:
        return _slot(text, 0)
    read = parts(stripped)
    if len(read) == 1 and isinstance(alone := read[0], Slot):
        return Slot(alone.expression, alone.offset + offset)
    raise Mistake("a condition is one expression; write all of it inside of one ${{ }}", offset)
