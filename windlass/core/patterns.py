"""Regular expressions that cannot blow up: RE2, whose time grows with the text and the pattern alone."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import re2

PATTERN_MAX: Final = 1_000
# Bytes of the text times instructions of the pattern: what one match may take.
WORK_MAX: Final = 5_000_000

_TOO_LARGE: Final = "pattern too large"

_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.never_capture = True
_OPTIONS.max_mem = 1024 * 1024  # of one pattern; a larger one is refused


class TooLarge(ValueError):
    """It was given up only after much work."""


class Pattern:
    """Raises ValueError, with advice, for a text that is no pattern."""

    def __init__(self, text: str) -> None:
        if len(text) > PATTERN_MAX:
            raise ValueError(f"a pattern may have {PATTERN_MAX:,} characters, this one has {len(text):,}")
        try:
            self._compiled = re2.compile(text, options=_OPTIONS)
        except re2.error as error:
            reason = _reason(error)
            raise (TooLarge if _TOO_LARGE in reason else ValueError)(reason) from None
        except UnicodeEncodeError:
            raise ValueError("it holds a character that is none") from None

        self.instructions: int = self._compiled.programsize

    def work(self, text: str) -> int:
        """What a match may take, in bytes times instructions."""
        return len(text.encode(errors="replace")) * self.instructions

    def is_in(self, text: str) -> bool:
        return self._compiled.search(text.encode(errors="replace")) is not None

    def is_all_of(self, text: str) -> bool:
        return self._compiled.fullmatch(text.encode(errors="replace")) is not None


@lru_cache(maxsize=64)
def pattern(text: str) -> Pattern:
    return Pattern(text)


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else "it is not understood"
    words = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
    return f"{words}; what can be written: https://github.com/google/re2/wiki/Syntax"
