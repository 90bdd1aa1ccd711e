"""JSON, read strictly: no key twice, no NaN, and a place for every fault."""

from __future__ import annotations

import json
import re

from windlass.core.faults import Faults
from windlass.core.plain import DEPTH_MAX
from windlass.core.task import Json
from windlass.gateway.places import Lines, Places, Spot, Trace, line_column
from windlass.gateway.scalars import DIGITS_MAX

# The string never fails to match once its first quote has: no text makes this backtrack.
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'
_BRACKET = re.compile(_STRING + r"|[\[\]{}]", re.DOTALL)
_TOKEN = re.compile(_STRING + r"|[\[\]{},:]|[^\s\[\]{},:\"]+", re.DOTALL)


def parse(text: str, faults: Faults) -> Json:
    """The value of a JSON text; Invalid for anything else. A key twice in one object, NaN and the like are
    read over and added to the faults."""
    _check_depth(text)
    hooks = _Hooks()
    try:
        document = json.loads(
            text, object_pairs_hook=hooks.pairs, parse_int=hooks.integer, parse_constant=hooks.constant
        )
    except json.JSONDecodeError as error:
        faults.add("", f"this is no JSON: {error.msg}", line=error.lineno, column=error.colno)
        raise faults.invalid("the document") from None
    if hooks.doubtful:
        _scan(text, faults)
    return document


def locate(text: str) -> Places:
    """The places of all values of a text that `parse` has accepted."""
    return _scan(text, Faults())


class _Hooks:
    """What json tells us on its way. It knows no places: if there is doubt, the scan below finds them."""

    def __init__(self) -> None:
        self.doubtful = False

    def pairs(self, pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        members = dict(pairs)
        self.doubtful |= len(members) < len(pairs)
        return members

    def integer(self, digits: str) -> int:
        if len(digits) <= DIGITS_MAX:
            return int(digits)
        self.doubtful = True
        return 0

    def constant(self, _name: str) -> None:
        self.doubtful = True


def _check_depth(text: str) -> None:
    depth = 0
    for match in _BRACKET.finditer(text):
        first = match.group()[0]
        depth += (first in "[{") - (first in "]}")
        if depth > DEPTH_MAX:
            faults = Faults()
            line, column = line_column(Lines(text).spot(match.start()))
            message = f"nested deeper than {DEPTH_MAX} levels; write it flatter"
            faults.add("", message, line=line, column=column)
            raise faults.invalid("the document")


def _scan(text: str, faults: Faults) -> Places:
    """The places of all values; the text is known to be JSON. Adds what `_Hooks` doubted to the faults."""
    lines, trace = Lines(text), Trace(faults)
    for match in _TOKEN.finditer(text):
        token, at = match.group(), lines.spot(match.start())
        match token:
            case "," | ":":
                pass
            case "{":
                trace.open_object(at)
            case "[":
                trace.open_list(at)
            case "}" | "]":
                trace.close()
            case _ if trace.expects_key:
                trace.key(json.loads(token), at)
            case _:
                _check_literal(token, at, trace, faults)
                trace.leaf(at)
    return trace.root


def _check_literal(token: str, at: Spot, trace: Trace, faults: Faults) -> None:
    line, column = line_column(at)
    if token in ("NaN", "Infinity", "-Infinity"):
        message = f"{token} is no JSON; write null, or text in quotes"
        faults.add(trace.pointer, message, line=line, column=column)
    elif len(token) > DIGITS_MAX and token.lstrip("-").isdigit():
        message = "this integer needs more than 64 bit; write it as text, in quotes"
        faults.add(trace.pointer, message, line=line, column=column)
