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
    """Those on this node. What happens here also concerns those on other nodes: `on_news` and `on_gap`.

    What is heard from other nodes (`heard`, `look`) goes no further: two nodes that take each other for the
    owner would tell each other for ever.
    """

    def __init__(self) -> None:
        self._by_key: dict[Key, dict[Follower, None]] = {}  # in the order they came
        self.on_first: Callable[[Key], None] = lambda key: None  # somebody begins to follow it
        self.on_last: Callable[[Key], None] = lambda key: None  # nobody follows it any more
        self.on_news: Callable[[Key, int, Sequence[AnyEvent]], None] = lambda key, first_seq, events: None
        self.on_gap: Callable[[Callable[[Key], bool]], None] = lambda concerns: None

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

    # It happened here.

    def tell(self, key: Key, first_seq: int, events: Sequence[AnyEvent]) -> None:
        self.heard(key, first_seq, events)
        self.on_news(key, first_seq, events)

    def hint(self, key: Key) -> None:
        """There is news of this one: read the journal."""
        self.look(key)
        self.on_news(key, 0, ())

    def gap(self, concerns: Callable[[Key], bool]) -> None:
        for key in self._by_key:
            if concerns(key):
                self.look(key)
        self.on_gap(concerns)

    # It happened elsewhere.

    def heard(self, key: Key, first_seq: int, events: Sequence[AnyEvent]) -> None:
        for follower in self._by_key.get(key, ()):
            follower.hear_all(first_seq, events)

    def look(self, key: Key) -> None:
        for follower in self._by_key.get(key, ()):
            follower.hear(GAP)
