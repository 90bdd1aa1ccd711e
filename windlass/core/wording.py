"""How times, lengths and numbers are said to people."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

ERROR_MAX: Final = 120
_PLAIN_WORD: Final = re.compile(r"[A-Za-z0-9_./:=@%+,-]+")


def clock(at: float, now: float) -> str:
    """10:02 UTC, with the date if that is another day."""
    moment, today = (datetime.fromtimestamp(time, UTC) for time in (at, now))
    shown = "%H:%M UTC" if moment.date() == today.date() else "%Y-%m-%d %H:%M UTC"
    return moment.strftime(shown)


def span(seconds: float) -> str:
    """A length of time as people say it: 12 s, 5 min, 2 h 5 min, 3 d."""
    if seconds < 1:
        return "less than 1 s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{round(hours / 24)} d"


def short(text: str, chars_max: int = ERROR_MAX) -> str:
    line = " ".join(text.split())
    return line if len(line) <= chars_max else f"{line[: chars_max - 1]}…"


def shell_word(text: str) -> str:
    """As it is typed at a prompt."""
    return text if _PLAIN_WORD.fullmatch(text) else "'" + text.replace("'", "'\\''") + "'"


def soon(seconds: float) -> str:
    return "now" if seconds <= 0 else f"in {span(seconds)}"


def many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def are(count: int) -> str:
    return "is" if count == 1 else "are"


def listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
