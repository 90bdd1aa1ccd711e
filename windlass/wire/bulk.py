"""Large values that many tasks have in common, such as the input of their run: each travels once.

    whole task ──lighten──► light task + {place: name} + {name: body} ──fill──► whole task

A task is lightened before it goes over a connection: a name stands for each large value, made from its
content. Whoever has the value of that name already needs no more; others are sent its body. So an item of a
map costs the same whether the list it comes from has ten items or ten thousand. See wire.lightening and
wire.filling.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

LARGE_BYTES: Final = 4 * 1024  # smaller values travel with their task
KEPT_BYTES_MAX: Final = 16 * 1024 * 1024  # in all, by each who keeps some; those of the last task in any case
KEPT_MAX: Final = 64

INPUT: Final = "input"  # a place in a task; the others are parents/STEP
PARENTS: Final = "parents/"

Name = str  # of a value: the same for the same content


class Recent:
    """Names of values, the longest unused first, and never too many."""

    def __init__(self) -> None:
        self._sizes: OrderedDict[Name, int] = OrderedDict()
        self._bytes = 0

    def __contains__(self, name: object) -> bool:
        return name in self._sizes

    def use(self, name: Name, size: int) -> None:
        if name not in self._sizes:
            self._sizes[name] = size
            self._bytes += size
        self._sizes.move_to_end(name)

    def shrink(self, spare: Iterable[Name]) -> list[Name]:
        """Let go what is too much, but none of these; answers what was let go."""
        if not self._too_much:
            return []
        spared, gone = set(spare), list[Name]()
        for name in [name for name in self._sizes if name not in spared]:
            if not self._too_much:
                break
            self._bytes -= self._sizes.pop(name)
            gone.append(name)
        return gone

    @property
    def _too_much(self) -> bool:
        return self._bytes > KEPT_BYTES_MAX or len(self._sizes) > KEPT_MAX
