"""The strategy that follows others: which one, is decided by how the workers do.

    many failures       → affinity         what works is left where it is
    else CPUs are busy  → load-balanced
    else answers travel → locality
    else                → round-robin

What is followed is left only when its figure has fallen clearly below its bound, and not soon after the last
switch: a figure that trembles around a bound switches nothing to and fro.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import Final, Literal, NamedTuple

from windlass.core.assign.policy import AdaptiveRules
from windlass.core.fleet import Rules, Seen, healthy

Followed = Literal["affinity", "load-balanced", "locality", "round-robin"]
OTHERWISE: Final[Followed] = "round-robin"


class Figures(NamedTuple):
    """Of the workers that could do such tasks, whether or not they have a free slot."""

    failures: float = 0.0  # a share of the results
    cpu: float = 0.0  # mean
    trip_s: float = 0.0  # mean


class Switch(NamedTuple):
    before: Followed
    after: Followed
    why: str


@dataclass(slots=True)
class Adaptive:
    rules: AdaptiveRules
    following: Followed = OTHERWISE
    switched_at: float = -inf

    def look(self, figures: Figures, now: float) -> Switch | None:
        """Follow another one, if that is called for."""
        if now < self.switched_at + self.rules.hold_s:
            return None
        before, (after, why) = self.following, decided(figures, self.rules, self.following)
        if after == before:
            return None
        self.following, self.switched_at = after, now
        return Switch(before, after, why)


def decided(figures: Figures, rules: AdaptiveRules, following: Followed = OTHERWISE) -> tuple[Followed, str]:
    """What to follow, and why."""
    fallen = ""
    signs: tuple[tuple[Followed, str, float, float], ...] = (
        ("affinity", "the share of failures", figures.failures, rules.failures_max),
        ("load-balanced", "the mean CPU", figures.cpu, rules.cpu_max),
        ("locality", "the mean round trip in seconds", figures.trip_s, rules.trip_max_s),
    )
    for strategy, name, value, bound in signs:
        held = strategy == following
        limit = bound * (1 - rules.margin) if held else bound
        if value > limit:
            return strategy, f"{fallen}{name}, {value:.3g}, is above {limit:.3g}"
        if held:
            fallen = f"{name}, {value:.3g}, is not above {limit:.3g} any more; "
    return OTHERWISE, f"{fallen}no figure is above its bound"


def figures_of(workers: Iterable[Seen], now: float, rules: Rules) -> Figures:
    results = bad = cpu = trip_s = 0.0
    count = 0
    for worker in workers:
        if not worker.connected or not worker.registered or worker.halt or not healthy(worker, now, rules):
            continue
        count += 1
        cpu += worker.cpu
        trip_s += worker.trip_s
        weight = worker.record.weight(now)
        results += weight
        bad += weight * (1.0 - worker.record.success(now))
    if not count:
        return Figures()
    # Few results say little: whoever fails once at first is no reason to change anything.
    return Figures(bad / max(results, rules.results_min, 1.0), cpu / count, trip_s / count)
