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
from windlass.core.events import AnyEvent
from windlass.core.names import Key
from windlass.engine.calls import Calls
from windlass.engine.followers import Follower, Followers, News
from windlass.engine.membership import Membership
from windlass.wire import codec, messages
from windlass.wire.messages import Follow

LOOK_S: Final = 1.0


class _Ear(Follower):
    """Another node that follows a run of ours."""

    def __init__(self, followers: Followers, key: Key, node: NodeId, calls: Calls, *, logs: bool) -> None:
        self._followers, self.key = followers, key  # and no queue: what is heard here is passed on at once
        self._node = node
        self._calls = calls
        self._logs = logs

    def hear(self, news: News) -> None:
        if isinstance(news, tuple):
            self.hear_all(news[0], [news[1]])
        else:
            self._calls.tell(self._node, messages.News(self.key, logs=self._logs))

    def hear_all(self, first_seq: int, events: Sequence[AnyEvent]) -> None:
        """In one message."""
        bodies = () if self._logs else tuple(map(codec.encode_event, events))
        self._calls.tell(self._node, messages.News(self.key, first_seq, bodies, self._logs))


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
    _ears: dict[tuple[Key, NodeId], _Ear] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.followers.on_first = self._begin
        self.followers.on_last = self._end

    async def serve(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            # What is so new is most likely on its way: most runs end before anybody has to look.
            new, self._new = self._new, set()
            for key in self._asked:
                if key not in new:
                    self.followers.hint(key)

    def moved(self) -> None:
        """Owners may have changed: ask the new ones."""
        for key in self.followers.followed():
            owner = self._owner(key)
            if self._asked.get(key) != owner:
                self._begin(key)
                self.followers.hint(key)

    def linked(self, node: NodeId) -> None:
        """A new link to that node: what we asked it may not have arrived."""
        for key, owner in self._asked.items():
            if owner == node:
                self.calls.tell(node, Follow(key, self.logs))
                self.followers.hint(key)

    def gone(self, node: NodeId) -> None:
        for name in [name for name in self._ears if name[1] == node]:
            self.followers.remove(self._ears.pop(name))

    def heard(self, node: NodeId, follow: Follow) -> None:
        name = (follow.key, node)
        if follow.wanted and name not in self._ears:
            ear = self._ears[name] = _Ear(self.followers, follow.key, node, self.calls, logs=self.logs)
            self.followers.add(ear)
        elif not follow.wanted and name in self._ears:
            self.followers.remove(self._ears.pop(name))

    def news(self, key: Key, first_seq: int, events: Sequence[AnyEvent]) -> None:
        if key not in self._asked:
            return  # we have it ourselves by now
        if events:
            self.followers.tell(key, first_seq, events)
        else:
            self.followers.hint(key)

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
