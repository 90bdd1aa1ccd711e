"""Hearing of runs that live on other nodes, and telling other nodes of those that live here.

Only hints travel, so nothing depends on them: who follows looks into the journal now and then anyway, and
again whenever the run may have moved.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from windlass.core.cluster import NodeId
from windlass.core.events import AnyEvent, RunEnded
from windlass.core.names import Key
from windlass.engine.calls import Calls
from windlass.engine.followers import Followers
from windlass.engine.membership import Membership
from windlass.wire import codec, messages
from windlass.wire.messages import Follow

LOOK_S: Final = 1.0


@dataclass(slots=True)
class Following:
    """Of one of the two things that can be followed: what happens to runs, or what they print."""

    followers: Followers
    calls: Calls
    membership: Membership
    shard_of: Callable[[str], int]
    logs: bool = False
    _asked: dict[Key, NodeId] = field(default_factory=dict)  # whom we asked to tell us
    _new: set[Key] = field(default_factory=set)  # those we asked about since the last look
    _ears: dict[Key, set[NodeId]] = field(default_factory=dict)  # who asked us to tell them

    def __post_init__(self) -> None:
        self.followers.on_first = self._begin
        self.followers.on_last = self._end
        self.followers.on_news = self._pass_on
        self.followers.on_gap = self._pass_on_gap

    async def serve(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            # What is so new is most likely on its way: most runs end before anybody has to look.
            new, self._new = self._new, set()
            for key in self._asked:
                if key not in new:
                    self.followers.look(key)

    def moved(self) -> None:
        """Owners may have changed: ask the new ones."""
        for key in self.followers.followed():
            owner = self._owner(key)
            if self._asked.get(key) != owner:
                self._begin(key)
                self.followers.look(key)

    def linked(self, node: NodeId) -> None:
        """A new link to that node: what we asked it may not have arrived."""
        for key, owner in self._asked.items():
            if owner == node:
                self.calls.tell(node, Follow(key, self.logs))
                self.followers.look(key)

    def gone(self, node: NodeId) -> None:
        for key in [key for key, nodes in self._ears.items() if node in nodes]:
            self._forget(key, node)

    def heard(self, node: NodeId, follow: Follow) -> None:
        if follow.wanted:
            self._ears.setdefault(follow.key, set()).add(node)
        else:
            self._forget(follow.key, node)

    def news(self, key: Key, first_seq: int, events: Sequence[AnyEvent]) -> None:
        if key not in self._asked:
            return  # we have it ourselves by now
        if events:
            if _end_is_among(events):
                del self._asked[key]  # and the owner has forgotten us
            self.followers.heard(key, first_seq, events)
        else:
            self.followers.look(key)

    def _pass_on(self, key: Key, first_seq: int, events: Sequence[AnyEvent]) -> None:
        nodes = self._ears.get(key)
        if nodes is None:
            return
        bodies = () if self.logs else tuple(map(codec.encode_event, events))
        for node in sorted(nodes):
            self.calls.tell(node, messages.News(key, first_seq, bodies, self.logs))
        if _end_is_among(events):
            del self._ears[key]

    def _pass_on_gap(self, concerns: Callable[[Key], bool]) -> None:
        for key in [key for key in self._ears if concerns(key)]:
            self._pass_on(key, 0, ())

    def _forget(self, key: Key, node: NodeId) -> None:
        nodes = self._ears.get(key, set())
        nodes.discard(node)
        if not nodes:
            self._ears.pop(key, None)

    def _owner(self, key: Key) -> NodeId | None:
        owner = self.membership.holding(self.shard_of(key.id)).owner
        return None if owner == self.membership.me.id else owner

    def _begin(self, key: Key) -> None:
        self._asked.pop(key, None)
        owner = self._owner(key)
        if owner is not None:
            self._asked[key] = owner
            self._new.add(key)
            self.calls.tell(owner, Follow(key, self.logs))

    def _end(self, key: Key) -> None:
        owner = self._asked.pop(key, None)
        if owner is not None:
            self.calls.tell(owner, Follow(key, self.logs, wanted=False))


def _end_is_among(events: Sequence[AnyEvent]) -> bool:
    """After it nothing happens to a run: nobody has to say that he has heard enough."""
    return any(isinstance(event, RunEnded) for event in events)
