"""Which node a worker calls next, and when.

After a break it tries the next one at once, for it may hold tasks; then it waits, longer each time and by
chance, so that the workers of a node that died do not all come in the same moment.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

FIRST_S: Final = 0.1
LONGEST_S: Final = 5.0
BUSY_LONGEST_S: Final = 1.0  # of one that holds tasks: they are given up three seconds after their node died
IDLE_S: Final = 0.5  # within which a worker that holds nothing comes: it is in no hurry
STEADY_S: Final = 5.0  # a connection that lasted so long was a good one


class Route:
    def __init__(self, addresses: Sequence[str], chance: random.Random) -> None:
        # By chance, or all workers would be with the node that is named first.
        self._addresses = chance.sample(list(addresses), len(addresses))
        self._chance = chance
        self._at = -1
        self._failures = 0
        self._parted = False
        self._not_before = dict.fromkeys(addresses, 0.0)

    def next(self, now: float, *, busy: bool) -> tuple[str, float]:
        """An address, and how long to wait before it is called."""
        wait_s = self._wait_s(busy=busy)
        order = [
            self._addresses[(self._at + n) % len(self._addresses)] for n in range(1, len(self._addresses) + 1)
        ]
        open_ = [address for address in order if self._not_before[address] <= now + wait_s]
        address = open_[0] if open_ else min(order, key=self._not_before.__getitem__)
        self._at = self._addresses.index(address)
        return address, max(wait_s, self._not_before[address] - now)

    def failed(self) -> None:
        self._failures += 1

    def parted(self, lasted_s: float) -> None:
        """A connection has ended. One that ended at once was as bad as none."""
        self._failures = 0 if lasted_s >= STEADY_S else self._failures + 1
        self._parted = self._failures <= 1

    def later(self, address: str, at: float) -> None:
        """The node there does not want us before."""
        self._not_before[address] = at

    def _wait_s(self, *, busy: bool) -> float:
        if self._parted:
            self._parted = False
            return 0.0 if busy else self._chance.uniform(0, IDLE_S)
        if self._failures == 0:
            return 0.0
        longest_s = BUSY_LONGEST_S if busy else LONGEST_S
        return self._chance.uniform(0, min(longest_s, FIRST_S * 2.0 ** min(self._failures, 10)))
