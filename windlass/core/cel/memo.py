"""What was read from texts, kept for the next time; bounded by the characters of the texts."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

CHARS_MAX: Final = 256 * 1024
_T = TypeVar("_T")


class Memo(Generic[_T]):
    """By characters, as a long text takes as much memory as a hundred short ones. When full, all goes."""

    def __init__(self, chars_max: int = CHARS_MAX) -> None:
        self._chars_max = chars_max
        self._known: dict[str, _T] = {}
        self._chars = 0

    def get(self, text: str) -> _T | None:
        return self._known.get(text)

    def put(self, text: str, value: _T) -> None:
        if self._chars + len(text) > self._chars_max:
            self._known.clear()
            self._chars = 0
        if len(text) <= self._chars_max and text not in self._known:
            self._known[text] = value
            self._chars += len(text)

    def __len__(self) -> int:
        return len(self._known)
