"""Ids of a graph's nodes as ids of steps, and back: a node may be called anything.

What can be the id of a step stays as it is. Of anything else, each character that cannot be in one is written
by its number: `shop 1` is `x:shop:20:1`.
"""

from __future__ import annotations

import re
from typing import Final

from windlass.core.faults import code
from windlass.core.task import Json

_MARK: Final = "x:"
_FINE: Final = re.compile(r"[A-Za-z0-9._:-]+")
_ESCAPED: Final = re.compile(r"[^A-Za-z0-9._-]")
_NUMBER: Final = re.compile(r":([0-9a-f]{1,6}):")


def text_of(value: Json) -> str | None:
    """An id as documents write it: a text, or a number that stands for one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


def step_id(name: str) -> str:
    """The id of the step that a node becomes."""
    if _FINE.fullmatch(name):
        return name
    return _MARK + _ESCAPED.sub(lambda found: f":{ord(found[0]):x}:", name)


def node_id(step: str) -> str:
    """What became this step: `step_id(node_id(x))` is x, for each x that can be the id of a step."""
    if not step.startswith(_MARK):
        return step
    try:
        name = _NUMBER.sub(lambda found: chr(int(found[1], 16)), step.removeprefix(_MARK))
    except ValueError:
        return step
    return name if name and step_id(name) == step else step


def shown(name: str) -> str:
    """As it stands in a message."""
    return code(name).strip("`")
