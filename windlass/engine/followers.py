"""Those who want to hear what happens to an entity. Hints only: the journal is the truth."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Self

from windlass.core.events import AnyEvent
from windlass.core.names import Key

QUEUE_MAX: Final = 1_000


class Gap:
    """Something may have been missed: read the journal again."""


GAP: Final = Gap()
News = tuple[int, AnyEvent] | Gap  # an event with its seq


class Follower:
    def __init__(self, followers: Followers, key: Key) -> None:
        self._followers = followers
        self.key = key
        self.news: asyncio.Queue[News] = asyncio.Queue(QUEUE_MAX)

    def __enter__(self) -> Self:
        self._followers.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._followers.remove(self)

    def hear(self, news: News) -> None:
        if self.news.full():  # too slow: start over from the journal
            while not self.news.empty():
                self.news.get_nowait()
            news = GAP
        self.news.put_nowait(news)

    def hear_all(self, first_seq: int, events: Sequence[AnyEvent]) -> None:
        """What was kept together."""
        for seq, event in enumerate(events, first_seq):
            self.hear((seq, event))


class Followers:
    def __init__(self) -> None:
        self._by_key: dict[Key, dict[Follower, None]] = {}  # in the order they came
        self.on_first: Callable[[Key], None] = lambda key: None  # somebody begins to follow it
        self.on_last: Callable[[Key], None] = lambda key: None  # nobody follows it any more

    def follow(self, key: Key) -> Follower:
        return Follower(self, key)

    def add(self, follower: Follower) -> None:
        those = self._by_key.get(follower.key)
        if those is None:
            self._by_key[follower.key] = {follower: None}
            self.on_first(follower.key)
        else:
            those[follower] = None

    def remove(self, follower: Follower) -> None:
        those = self._by_key.get(follower.key)
        if those is not None:
            those.pop(follower, None)
            if not those:
                del self._by_key[follower.key]
                self.on_last(follower.key)

    def followed(self) -> list[Key]:
        return list(self._by_key)

    def tell(self, key: Key, first_seq: int, events: Sequence[AnyEvent]) -> None:
        for follower in self._by_key.get(key, ()):
            follower.hear_all(first_seq, events)

    def hint(self, key: Key) -> None:
        """There is news of this one: read the journal."""
        for follower in self._by_key.get(key, ()):
            follower.hear(GAP)

    def gap(self, concerns: Callable[[Key], bool]) -> None:
        for key, those in self._by_key.items():
            if concerns(key):
                for follower in those:
                    follower.hear(GAP)
