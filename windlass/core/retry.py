"""Whether a failed attempt is worth another, and when."""

from __future__ import annotations

from typing import Final

from windlass.core.definition import Retry
from windlass.core.task import Failure

REROUTES_MAX: Final = 3  # attempts that go to another worker because theirs was at fault
REROUTE_S, REROUTE_FACTOR = 0.2, 4.0


def delay_s(retry: Retry, *, tries: int, failure: Failure) -> float | None:
    """How long to wait before the next attempt; None if there is none.

    `tries` counts the attempts that have failed, this one included. Lost attempts are not among
    them: a dead machine must not use up the step's retries.
    """
    if not failure.retryable or tries >= retry.attempts:
        return None
    if not {failure.type, *failure.bases}.isdisjoint(retry.not_on):
        return None
    # A large power would overflow long before it matters: past 64 doublings every backoff is at its maximum.
    return min(retry.max_s, retry.backoff_s * retry.factor ** min(tries - 1, 64))


def elsewhere_delay_s(reroutes: int) -> float | None:
    """The same for an attempt that failed by its worker's fault: another one is soon asked, but not for ever.

    `reroutes` counts those that failed so, or were lost, before this one.
    """
    return REROUTE_S * REROUTE_FACTOR**reroutes if reroutes < REROUTES_MAX else None
