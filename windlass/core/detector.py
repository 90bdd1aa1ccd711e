"""When another node may be called dead: its beat stood still for long enough while we were looking.

           read   read   read      (gap: nothing was read)      read   read  …
    beat    7      7      7                                      7      7
            |---- stands ---|                                    |-- stands anew

Only our own monotonic clock counts, and only while we could read: after a gap nothing that was seen before it
proves anything, since the database may have been away for everybody.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from windlass.core.cluster import NodeId


class Detector:
    def __init__(self, *, dead_s: float = 3.5, refused_s: float = 0.75, gap_s: float = 1.5) -> None:
        self._dead_s = dead_s
        self._refused_s = refused_s  # for those whose address refused connections
        self._gap_s = gap_s
        self._heard_at: float | None = None  # when the last answer came
        self._asked_at = 0.0  # when it was asked for
        self._stands: dict[NodeId, tuple[int, float]] = {}  # the beat, and since when it is known to stand

    def observe(self, now: float, beats: Mapping[NodeId, int], *, asked_at: float | None = None) -> None:
        """One successful read of the database: the beats of those who might die.

        `now` is when the answer came, `asked_at` when the question was sent: the database was read at some
        time in between. A beat stands from the first answer that shows it to the last question.
        """
        known = {} if self._gap(now) else self._stands
        self._stands = {
            node: known[node] if node in known and known[node][0] == beat else (beat, now)
            for node, beat in beats.items()
        }
        self._heard_at = now
        self._asked_at = now if asked_at is None else asked_at

    def dead(self, now: float, *, refused: Collection[NodeId] = ()) -> list[tuple[NodeId, int]]:
        """Who may be declared dead, each with the beat it stands at; by id.

        `refused` names those whose address refused connections twice: for them, a short standstill will do.
        """
        if self._gap(now):
            return []
        return sorted(
            (node, beat)
            for node, (beat, since) in self._stands.items()
            if self._asked_at - since >= (self._refused_s if node in refused else self._dead_s)
        )

    def _gap(self, now: float) -> bool:
        return self._heard_at is None or now - self._heard_at > self._gap_s
