"""Seals what nobody may read where it is kept: AES-256-GCM, and a ring of keys.

    ring = Keyring([new, old])             the first seals, all of them open
    kept = ring.seal("secret/default/db", "s3cret")      Sealed(key="5f3a09bc", sealed=b"…")
    ring.open("secret/default/db", kept.key, kept.sealed)

The context is bound to what is sealed: a row that was moved to another name does not open there.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from windlass.core.errors import Refused

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
HOW_TO_GIVE: Final = "start it with --secrets-key-file, or WINDLASS_SECRETS_KEY in its environment"


class Locked(Refused):
    """The key for it is not here; the message says which, and what to do. It never holds what was sealed."""


class Sealed(NamedTuple):
    key: str  # which key: its id
    sealed: bytes


class Keyring:
    """May be empty: then nothing can be sealed or opened, and who tries is told why.

    Only ciphers are held, and only ids are shown: a key does not come out again.
    """

    __slots__ = ("_ciphers", "key")

    def __init__(self, keys: Sequence[bytes] = ()) -> None:
        for key in keys:
            if len(key) != KEY_BYTES:
                raise ValueError(f"a key has {KEY_BYTES} bytes")
        self._ciphers = {key_id(key): AESGCM(key) for key in keys}
        self.key = next(iter(self._ciphers), "")  # the id of the one that seals; "": there is none

    def __bool__(self) -> bool:
        return bool(self._ciphers)

    def __repr__(self) -> str:
        return f"Keyring({', '.join(self._ciphers)})"

    def __reduce__(self) -> str:
        raise TypeError("a keyring is not copied to anywhere")

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self._ciphers)

    def seal(self, context: str, text: str) -> Sealed:
        """With the first key. Raises Locked when there is none."""
        if not self:
            raise Locked(f"this node has no key to seal secrets with; {HOW_TO_GIVE}")
        # 96 random bits: one key may seal four billion texts before two nonces are likely to be the same.
        nonce = os.urandom(NONCE_BYTES)
        sealed = self._ciphers[self.key].encrypt(nonce, text.encode(), context.encode())
        return Sealed(self.key, nonce + sealed)

    def open(self, context: str, key: str, sealed: bytes) -> str:
        """What was sealed under this context. Raises Locked."""
        cipher = self._ciphers.get(key)
        if cipher is None:
            held = f"has {', '.join(self._ciphers)}" if self else "has no key"
            told = f"{context} was sealed with the key {key}, and this node {held}"
            raise Locked(f"{told}; {HOW_TO_GIVE}")
        try:
            raw = cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], context.encode())
        except (InvalidTag, ValueError):
            told = f"{context} is not as it was sealed with the key {key}: it was damaged, or moved here"
            raise Locked(f"{told}; set it again") from None
        return raw.decode()


def key_id(key: bytes) -> str:
    """What a key is called in rows and messages; says nothing about it."""
    return hashlib.sha256(key).hexdigest()[:8]


def context_of(kind: str, namespace: str, name: str) -> str:
    return f"{kind}/{namespace}/{name}"
