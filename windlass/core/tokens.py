"""Tokens: what they look like, and how one is known again without being kept.

    wl_7Qm2xkV0aB_r3pD…   prefix, number (public: lists and logs name a token by it), secret

The secret has 256 bits from the system's own chance, so one round of SHA-256 keeps it as well as a slow hash
keeps a password: there is nothing to guess. The prefix lets scanners of leaked secrets find it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Final, NamedTuple

PREFIX: Final = "wl"
NUMBER_LENGTH: Final = 10
SECRET_BYTES: Final = 32
ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
SECRET_LENGTH: Final = 43  # 62 ** 43 > 2 ** 256

_TEXT: Final = re.compile(rf"{PREFIX}_([0-9A-Za-z]{{{NUMBER_LENGTH}}})_([0-9A-Za-z]{{{SECRET_LENGTH}}})")
# What stands in for a token that does not exist, so that looking for one takes as long as checking one.
_NOBODY: Final = hashlib.sha256(b"nobody's token").hexdigest()


class Minted(NamedTuple):
    number: str
    text: str  # to be shown once
    hash: str  # to be kept


def mint(chance: bytes) -> Minted:
    """A new token from 48 bytes of the system's chance."""
    assert len(chance) == 16 + SECRET_BYTES, len(chance)
    number, secret = _digits(chance[:16], NUMBER_LENGTH), _digits(chance[16:], SECRET_LENGTH)
    text = f"{PREFIX}_{number}_{secret}"
    return Minted(number, text, digest(text))


def number_of(text: str) -> str | None:
    """The number of what looks like a token of ours; None: it is something else."""
    found = _TEXT.fullmatch(text)
    return None if found is None else found[1]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def is_same(text: str, kept: str | None) -> bool:
    """Whether this is the token that was kept; takes as long for every wrong one, known or not."""
    return hmac.compare_digest(digest(text), kept or _NOBODY) and kept is not None


def _digits(chance: bytes, length: int) -> str:
    number, digits = int.from_bytes(chance), []
    for _ in range(length):
        number, digit = divmod(number, len(ALPHABET))
        digits.append(ALPHABET[digit])
    return "".join(digits)
